"""The finder on the meta path that answers for ``jax`` and ``jaxlib``.

``jax.numpy`` is a module of its own that hands on to ``tanx.numpy``: libraries set attributes on
JAX's modules, and a few names differ (``__version__``). Private paths (``jax._src.core``) are
answered by the files of ``tanx/as_jax/src``, ``jaxlib`` by those of ``tanx/as_jax/jaxlib``.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import DistributionFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from .._core import reads
from .._core.operators import offer_hash
from ..errors import explain
from ._distributions import VERSION, VERSION_INFO, distributions

__all__ = ["AliasFinder", "install", "is_installed", "target_of", "uninstall"]

HOMES = {"jax._src": "tanx.as_jax.src", "jaxlib": "tanx.as_jax.jaxlib", "jax": "tanx"}
"""The tanx modules for the modules below a name, the longest name first."""

DIFFERENT: dict[str, dict[str, Any]] = {
    "jax": {"__version__": VERSION, "__version_info__": VERSION_INFO},
    "jax.lib": {"__version__": VERSION},
    "jax.version": {"__version__": VERSION, "__version_info__": VERSION_INFO},
}
"""Attributes of a module that are not its target's."""


def target_of(name: str) -> str | None:
    """The tanx module for a module of JAX; None if JAX has no module of that name.

    >>> target_of("jax.numpy.linalg"), target_of("jax._src.core"), target_of("jaxtyping")
    ('tanx.numpy.linalg', 'tanx.as_jax.src.core', None)
    """
    for prefix, home in HOMES.items():
        if name == prefix or name.startswith(prefix + "."):
            rest = name.removeprefix(prefix)
            return None if "._" in rest or rest == ".as_jax" else home + rest
    return None


class Alias(ModuleType):
    """A module under a name of JAX, whose attributes are those of a module of tanx."""

    def __init__(self, name: str, target: ModuleType):
        super().__init__(name, target.__doc__)
        # An empty path: what our finder does not find is not searched in tanx's folders.
        self.__dict__.update(DIFFERENT.get(name, {}), _target=target, __path__=[])

    def __getattr__(self, name: str):
        target, inner = self.__dict__["_target"], f"{self.__name__}.{name}"
        try:
            value = getattr(target, name)
        except AttributeError:
            behind = target_of(inner)
            if behind is not None and _exists(behind):
                return import_module(inner)  # JAX's modules show all that are below them
            raise AttributeError(
                f"module {self.__name__!r} has no attribute {name!r} (tanx runs as jax)") from None
        if isinstance(value, ModuleType) and target_of(inner) == value.__name__:
            return import_module(inner)
        return value

    def __dir__(self):
        ours = {"_target", "__dir__", "__getattr__"}
        return sorted({*super().__dir__(), *dir(self.__dict__["_target"])} - ours)

    def __reduce__(self):
        return import_module, (self.__name__,)


class AliasFinder(DistributionFinder):
    """Finds modules of JAX, and what is known about the distributions that they come in."""

    def find_spec(self, name, path=None, target=None):
        """The spec of a module of JAX, if tanx has an equivalent."""
        behind = target_of(name)
        if behind is None or not _exists(behind):
            return None
        # Each may have modules below it: JAX has packages where tanx has files.
        loader: Any = self  # it has create_module and exec_module
        return ModuleSpec(name, loader, origin=f"tanx as {name}", is_package=True)

    def create_module(self, spec):
        """The module itself; the tanx module for it is imported now."""
        behind = target_of(spec.name)
        assert behind is not None
        return Alias(spec.name, import_module(behind))

    def exec_module(self, module):
        """Nothing is left to do."""

    def find_distributions(self, context=DistributionFinder.Context()):  # noqa: B008
        """The distributions jax and jaxlib, as ``importlib.metadata`` asks for them."""
        return distributions(context.name)


def _exists(module: str) -> bool:
    """Whether there is a module; what is below a module that is no package does not exist."""
    parent = module.rpartition(".")[0]
    try:
        return (not parent or hasattr(import_module(parent), "__path__")) and (
            find_spec(module) is not None)
    except ModuleNotFoundError:  # the parent, or a module of JAX that is still to come
        return False


_finder = AliasFinder()


def is_installed() -> bool:
    """Whether ``import jax`` means tanx in this process."""
    return _finder in sys.meta_path


def install(*, shadow: bool = False) -> None:
    """Let ``import jax`` mean tanx from now on.

    Args:
      shadow: put tanx before a real jax that is installed in this environment; without it that is
        an error. One that has been imported already is an error in any case: a process has one.
    """
    if is_installed():
        return
    rule = None
    if "jax" in sys.modules or "jaxlib" in sys.modules:
        rule = "a real jax has been imported in this process already."
    elif not shadow and PathFinder.find_spec("jax") is not None:
        rule = "a real jax is installed in this environment, and would be hidden."
    if rule is not None:
        raise ImportError(explain(
            "tanx.as_jax.install", rule,
            hint="Use an environment without jax, or install(shadow=True) before jax is imported "
                 "(python -m tanx.as_jax --shadow)."))
    sys.meta_path.insert(0, _finder)
    reads.names_count = False
    offer_hash(False)  # funsor keys arrays by id if they are not Hashable


def uninstall() -> None:
    """Let ``import jax`` mean what it meant before; imported modules stay with the code that
    have them."""
    if is_installed():
        sys.meta_path.remove(_finder)
        reads.names_count = True
        offer_hash(True)
        for name in [name for name in sys.modules if target_of(name) is not None]:
            if isinstance(sys.modules[name], Alias):
                del sys.modules[name]
