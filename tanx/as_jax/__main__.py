"""``python -m tanx.as_jax``: runs a program written for JAX on tanx."""

import runpy
import sys

from . import _environment, install

USAGE = """\
usage: python -m tanx.as_jax [--shadow] SCRIPT [ARGUMENTS]      run a script
       python -m tanx.as_jax [--shadow] -m MODULE [ARGUMENTS]   run a module
       python -m tanx.as_jax --enable | --disable    let TANX_AS_JAX=1 do it in this environment
       python -m tanx.as_jax --gaps LIBRARY ...      names of JAX that a library uses and tanx lacks
--shadow puts tanx before a real jax that is installed in this environment."""


def main(arguments: list[str]) -> None:
    """Do what the command line says."""
    shadow = arguments[:1] == ["--shadow"]
    first, *rest = arguments[shadow:] or ["--help"]
    if first == "--enable":
        print(f"{_environment.enable()} is prepared: TANX_AS_JAX=1 python ... runs tanx as jax.")
    elif first == "--disable":
        print("The environment is as it was." if _environment.disable() else
              "Nothing to do: the environment was not prepared.")
    elif first == "--gaps" and rest:
        from ._gaps import report
        print(report(rest))
    elif first == "-m" and rest:
        install(shadow=shadow)
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first.startswith("-"):
        sys.exit(USAGE if first in ("-h", "--help") else f"unknown option {first}\n{USAGE}")
    else:
        install(shadow=shadow)
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
