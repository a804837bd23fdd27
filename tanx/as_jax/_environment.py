"""Prepares a virtual environment, so that ``TANX_AS_JAX=1`` is enough to let tanx run as jax.

Python executes the lines of ``.pth`` files when it starts. Ours must cost nothing until jax is
imported, so the file beside it holds a finder of a few lines that imports tanx only then.
"""

import os
import sysconfig
from pathlib import Path

__all__ = ["disable", "enable"]

PTH, HOOK = "tanx_as_jax.pth", "_tanx_as_jax.py"

PTH_TEXT = "import os; os.environ.get('TANX_AS_JAX') == '1' and __import__('_tanx_as_jax')\n"

HOOK_TEXT = '''"""Written by `python -m tanx.as_jax --enable`, removed by `--disable`."""

import sys


class Hook:
    """Lets tanx answer for jax when jax is first asked for."""

    @staticmethod
    def installed():
        sys.meta_path.remove(Hook)
        import tanx.as_jax
        tanx.as_jax.install()
        return sys.meta_path[0]

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("jax", "jaxlib"):
            return Hook.installed().find_spec(name, path, target)

    @staticmethod
    def find_distributions(context):
        if context.name in ("jax", "jaxlib"):
            return Hook.installed().find_distributions(context)
        return ()


sys.meta_path.insert(0, Hook)
'''


def _places() -> tuple[str, str]:
    folder = sysconfig.get_path("purelib")
    return os.path.join(folder, PTH), os.path.join(folder, HOOK)


def enable() -> str:
    """Write both files; gives the folder."""
    pth, hook = _places()
    for place, text in ((hook, HOOK_TEXT), (pth, PTH_TEXT)):
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)
    return os.path.dirname(pth)


def disable() -> bool:
    """Remove the files, with the bytecode that Python keeps of one; whether there were any."""
    places = [Path(place) for place in _places()]
    found = [place for place in places if place.exists()]
    bytecode = places[1].parent / "__pycache__"
    for place in (*found, *bytecode.glob(f"{places[1].stem}.*.pyc")):
        place.unlink()
    if bytecode.is_dir() and not any(bytecode.iterdir()):
        bytecode.rmdir()
    return bool(found)
