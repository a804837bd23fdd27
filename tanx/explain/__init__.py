"""tanx.explain: how a function was compiled, on one screen or on a page.

``tanx.explain(f)`` is a function that takes the arguments of ``f``, compiles ``f`` for them, runs
it a few times, and returns an :class:`Explanation`: the equations of each line, the kernels and
what was fused into them, their times compared with the limits of the machine, the arrays in memory
over time, and why ``f`` was traced again. Print it for one screen of text; ``save`` writes a page,
a single HTML file.

    >>> def softmax(x):
    ...     e = jnp.exp(x - x.max())
    ...     return e / e.sum()
    >>> explanation = tanx.explain(softmax)(jnp.arange(8.0))
    >>> print(explanation.text.splitlines()[1])
    arguments  1 array, 32 B

``f`` is any function that ``tanx.jit`` takes. A jitted function keeps its static and donated
arguments; donated arguments are copied, and can be used afterwards.

``python -m tanx.explain script.py:function`` explains a function as a script calls it.
"""

import sys as _sys
from collections.abc import Callable as _Callable
from types import ModuleType as _ModuleType

from .._base.traceback import shown
from .._base.window import publish
from .._explain.explanation import Explanation
from .._explain.explanation import explain as _explain


# ``tanx.explain`` is called, and ``python -m tanx.explain`` runs, so it is a function and a package
# at once. A callable package is the same object in any order of imports; a function of
# that name in ``tanx`` would be replaced by the package as soon as it is imported. Python
# lets the class of a module be set: see "Customizing module attribute access" in its reference.
class _Explain(_ModuleType):
    """The package, which explains functions when it is called."""

    def __call__(self, fun: _Callable, /) -> _Callable[..., Explanation]:
        return _explain(fun)


publish(__name__, shown)

_sys.modules[__name__].__class__ = _Explain
