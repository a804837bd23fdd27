"""Tools for tests of tanx.scipy: compare a function with a reference, in each execution mode."""

import numpy as np

import tanx
from tests.numpy.agreement import agree, fact

__all__ = ["check"]


def check(function, args, want, rtol=1e-5, atol=1e-6):
    """Check that a function returns ``want`` eagerly and in four compiled calls, also in type."""
    eager = tanx.tree.leaves(function(*args))
    want = [np.asarray(w) for w in (want if isinstance(want, tuple) else [want])]
    agree(eager, want, rtol, atol)
    compiled = tanx.jit(function)
    for _ in range(4):  # the third call takes the native path
        leaves = tanx.tree.leaves(compiled(*args))
        agree(leaves, want, rtol, atol)
        assert [fact(x) for x in leaves] == [fact(x) for x in eager]
