"""``vectorize``: broadcasting of any function."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, fact, message

MATRIX = np.arange(6.0).reshape(2, 3)
CUBE = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("shapes", [
    [(3,), (3,)], [(2, 1), (3,)], [(), (3,)], [(1, 3), (2, 1)], [(1,), (1,)], [(), ()],
    [(4, 1, 3), (2, 1)], [(0,), (1,)]])
def test_scalars_broadcast(shapes):
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape) for shape in shapes]
    function = jnp.vectorize(lambda a, b: a * b - a)
    agree(function(*args), np.vectorize(lambda a, b: a * b - a, otypes="d")(*args))
    agree(tanx.jit(function)(*args), args[0] * args[1] - args[0])
    adjoint(function, *args)


@pytest.mark.parametrize("signature, function, shapes", [
    ("(n)->()", lambda x: x.sum(), [(2, 3)]), ("(n)->()", lambda x: x.sum(), [(4, 2, 3)]),
    ("(n),(n)->()", lambda x, y: (x * y).sum(), [(2, 3), (3,)]),
    ("(n),(n)->()", lambda x, y: (x * y).sum(), [(2, 1, 3), (4, 3)]),
    ("(m,n),(n)->(m)", lambda a, x: (a * x).sum(-1), [(2, 3, 4), (4,)]),
    ("(m,n),(n)->(m)", lambda a, x: (a * x).sum(-1), [(3, 4), (5, 4)]),
    ("(n)->(k)", lambda x: x[:2], [(2, 3)]), ("()->(k)", lambda x: x * np.arange(3.0), [(2,)]),
    ("(n),()->(n)", lambda x, y: x + y, [(2, 3), ()]), ("(3)->()", lambda x: x.sum(), [(2, 3)]),
    (" (n), (m) -> (n,m) ", lambda x, y: x[:, None] * y, [(2, 3), (2, 4)]),
    ("(n)->(),(n)", lambda x: (x.sum(), x), [(2, 3)])])
def test_signatures(signature, function, shapes):
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape) for shape in shapes]
    want = np.vectorize(function, signature=signature.strip())(*args)
    agree(jnp.vectorize(function, signature=signature)(*args), want)


def test_arguments_with_dimensions_of_size_1():
    agree(jnp.vectorize(lambda a, b: a + b)(np.ones((1, 3)), np.ones((1, 1))), 2 * np.ones((1, 3)))


def test_excluded():
    by_position = jnp.vectorize(lambda x, k: x * len(k), excluded={1})
    agree(by_position(MATRIX, "abc"), 3 * MATRIX)
    by_name = jnp.vectorize(lambda x, k: x * k, excluded=["k"])
    agree(by_name(MATRIX, k=3), 3 * MATRIX)
    whole = jnp.vectorize(lambda x, y: x * y.sum(), excluded={1}, signature="()->()")
    agree(whole(MATRIX, jnp.ones(4)), 4 * MATRIX)
    optional = jnp.vectorize(lambda x, y: x if y is None else x * y, signature="(),()->()")
    agree(optional(MATRIX, None), MATRIX)


def test_results():
    double = jnp.vectorize(lambda x: {"twice": 2 * x, "three": 3})
    agree(double(MATRIX)["twice"], 2 * MATRIX)
    agree(double(MATRIX)["three"], np.full((2, 3), 3))
    assert fact(jnp.vectorize(lambda x: 2 * x)(3.0)) == "~float32[]"
    agree(jnp.vectorize(lambda x: 2 * x)([1, 2]), [2, 4])
    assert jnp.vectorize(jnp.dot).__name__ == "dot"
    assert jnp.vectorize(lambda: 1.5)() == 1.5


def test_jaxpr():
    assert str(tanx.make_jaxpr(jnp.vectorize(lambda a, b: a + b))(
        jnp.ones((2, 3)), jnp.ones(3))) == """\
{ lambda ; a:f32[2,3] b:f32[3]. let
    c:f32[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] b
    d:f32[2,3] = add a c
  in (d,) }"""


def test_mistakes():
    dot = jnp.vectorize(lambda x, y: (x * y).sum(), signature="(n),(n)->()")
    message(ValueError, lambda: dot(jnp.ones(3), jnp.ones(2)), """\
tanx.numpy.vectorize: dimension n has two sizes, 3 and 2.
  signature: (n),(n)->()""")
    message(ValueError, lambda: dot(jnp.ones(3), 1.0), """\
tanx.numpy.vectorize: an argument has no dimensions for (n).
  argument:  ~float32[]
  signature: (n),(n)->()""")
    message(TypeError, lambda: dot(jnp.ones(3)), """\
tanx.numpy.vectorize: the signature has 2 arguments.
  signature: (n),(n)->()
  given:     1""")
    message(ValueError, lambda: jnp.vectorize(lambda x: x, signature="(n)->()")(MATRIX), """\
tanx.numpy.vectorize: a result must have the dimensions ().
  result:    float32[3]
  signature: (n)->()""")
    message(ValueError, lambda: jnp.vectorize(lambda x: x[1:], signature="(n)->(n)")(MATRIX), """\
tanx.numpy.vectorize: dimension n has two sizes, 3 and 2.
  signature: (n)->(n)""")
    message(TypeError, lambda: jnp.vectorize(lambda x, k: x, excluded={1})(MATRIX, k=1), """\
tanx.numpy.vectorize: only positional arguments are mapped.
  given by name: k
  Hint: pass them by position, or list them in excluded.""")
    message(ValueError, lambda: jnp.vectorize(abs, signature="n->n"), """\
tanx.numpy.vectorize: the signature cannot be read.
  signature: n->n
  Hint: an example is '(m,n),(n)->(m)'.""")
    message(ValueError, lambda: jnp.vectorize(abs, excluded={-1}), """\
tanx.numpy.vectorize: positions count from the front.
  excluded: {-1}""")
    message(TypeError, lambda: jnp.vectorize(abs, excluded={1.5}), """\
tanx.numpy.vectorize: excluded holds positions and names.
  excluded: {1.5}""")
    message(TypeError, lambda: jnp.vectorize(3), """\
tanx.numpy.vectorize: needs a function to transform.
  given: 3""")
    with pytest.raises(TypeError, match="must return a tuple of 2"):
        jnp.vectorize(lambda x: x.sum(), signature="(n)->(),()")(MATRIX)
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        jnp.vectorize(lambda x, y: x + y)(np.ones(2), np.ones(3))
