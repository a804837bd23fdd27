"""Sums of products in Einstein's notation."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import adjoint, agree, batched, fact, message


def values(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


# Subscripts, and the shapes of the operands.
CASES = """
ij,jk->ik 23 34
ij,jk 23 34
ij,jk->ki 23 34
ij->ji 23
ba 23
ij-> 23
ij->i 23
ij->ij 23
-> .
,ij->ij . 23
ii->i 33
ii 33
iii->i 333
iijj->ji 3322
ijij->j 3232
iji->j 232
iij,j->i 334 4
ii,jj->ij 33 22
i,i->i 3 3
i,i-> 3 3
i,j->ij 3 4
i,j->ji 3 4
bij,bjk->bik 523 534
bqhd,bkhd->bhqk 2435 2635
bij,bij->ib 234 234
bij,bkj->ibk 234 254
ij,ji-> 23 32
abij,cjib->ca 2345 6543
ij,jk-> 23 34
ij,k->i 23 4
i,i,i-> 3 3 3
ij,jk,kl->il 23 34 45
ijk,jl,kl->il 234 35 45
ab,ab,c-> 23 23 4
a,b,c->abc 2 3 4
i,ij,jk->k 2 23 34
ij,jk,kl,lm->mi 23 34 45 56
...ij,...jk->...ik 523 34
...ij,...jk->...ik 4123 534
ab...,b...->a... 2314 351
i...->... 234
i...->i... 234
...i->... 234
...,... 23 3
...ij->...ji 234
i...,...j->j...i 23 34
i,i->i 3 1
"""
CASES = [(row.split()[0], [tuple(map(int, s.strip("."))) for s in row.split()[1:]])
         for row in CASES.strip().splitlines()]


@pytest.mark.parametrize("subscripts, shapes", CASES, ids=str)
def test_sums(subscripts, shapes):
    operands = [values(*shape) for shape in shapes]
    function = lambda *xs: jnp.einsum(subscripts, *xs)
    want = np.einsum(subscripts, *operands)
    agree(function(*operands), want, 1e-4, 1e-4)
    for optimize in (False, True, "greedy"):
        agree(jnp.einsum(subscripts, *operands, optimize=optimize), want, 1e-4, 1e-4)
    ints = [np.round(3 * x).astype(np.int8) for x in operands]
    agree(function(*ints), np.einsum(subscripts, *ints))
    batched(function, *operands, atol=1e-5)  # sums in another order, with cancellation
    adjoint(function, *operands)


def test_sizes_of_1_broadcast_against_any():
    x, y = values(2, 3), values(1, 4)
    agree(jnp.einsum("ij,jk->ik", x, y), x.sum(1)[:, None] * y, 1e-5)


def test_labels_instead_of_letters():
    x, y = values(2, 3), values(3, 4)
    agree(jnp.einsum(x, [0, 1], y, [1, 2], [0, 2]), x @ y, 1e-5)
    agree(jnp.einsum(x, [30, 1], y, [1, 2]), (x @ y).T, 1e-5)
    agree(jnp.einsum(x, ["a", "b"], ["b", "a"]), x.T)
    agree(jnp.einsum(x, [0, ...], y, [..., 2], [0, 2, ...]), np.einsum("ij,jk->ikj", x, y), 1e-5)


def test_types_of_results():
    x = jnp.ones((2, 3), "bfloat16")
    assert fact(jnp.einsum("ij->i", x)) == "bfloat16[2]"
    assert fact(jnp.einsum("ij->i", x, preferred_element_type="float32")) == "float32[2]"
    assert fact(jnp.einsum("ij,kj->ik", x, jnp.ones((4, 3), "int32"))) == "bfloat16[2,4]"
    assert fact(jnp.einsum("ij->i", x > 0)) == "bool[2]"
    assert fact(jnp.einsum("ij,ij->i", x > 0, x > 0)) == "bool[2]"
    weak = jnp.broadcast_to(1.5, 3)
    assert fact(jnp.einsum("i,i->", weak, weak)) == fact(jnp.einsum("i->", weak)) == "~float32[]"


def test_paths():
    arrays = [values(50, 40), values(40, 30), values(30, 2)]
    path, report = jnp.einsum_path("ij,jk,kl->il", *arrays)
    assert path == [(1, 2), (0, 1)] and "Complete contraction" in str(report)
    assert jnp.einsum_path("ij,jk,kl->il", *arrays, optimize=False)[0] == [(0, 1), (0, 1)]
    agree(jnp.einsum("ij,jk,kl->il", *arrays, optimize=[(0, 2), (0, 1)]),
          arrays[0] @ arrays[1] @ arrays[2], 1e-4, 1e-3)


JAXPRS = {
    ("ij,jk->ik", (2, 3), (3, 4)): """\
{ lambda ; a:f32[2,3] b:f32[3,4]. let
    c:f32[2,4] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float32
    ] a b
  in (c,) }""",
    ("ij,jk->ki", (2, 3), (3, 4)): """\
{ lambda ; a:f32[2,3] b:f32[3,4]. let
    c:f32[4,2] = dot_general[
      dimension_numbers=(([0], [1]), ([], []))
      preferred_element_type=float32
    ] b a
  in (c,) }""",
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)): """\
{ lambda ; a:f32[2,4,3,5] b:f32[2,6,3,5]. let
    c:f32[2,3,4,6] = dot_general[
      dimension_numbers=(([3], [3]), ([0, 2], [0, 2]))
      preferred_element_type=float32
    ] a b
  in (c,) }""",
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)): """\
{ lambda ; a:f32[2,3] b:f32[3,4] c:f32[4,5]. let
    d:f32[4,2] = dot_general[
      dimension_numbers=(([0], [1]), ([], []))
      preferred_element_type=float32
    ] b a
    e:f32[2,5] = dot_general[
      dimension_numbers=(([0], [0]), ([], []))
      preferred_element_type=float32
    ] d c
  in (e,) }""",
    ("iij,j->i", (3, 3, 4), (4,)): """\
{ lambda ; a:f32[3,3,4] b:f32[4]. let
    c:u32[3,3] = iota[dimension=0 dtype=uint32 shape=(3, 3) sharding=None]
    d:u32[3,3] = iota[dimension=1 dtype=uint32 shape=(3, 3) sharding=None]
    e:bool[3,3] = eq c d
    f:bool[3,3,4] = broadcast_in_dim[broadcast_dimensions=(0, 1)] e
    g:f32[3,3,4] = broadcast_in_dim 0.0:f32[]
    h:f32[3,3,4] = select_n f g a
    i:f32[3,4] = reduce_sum[axes=(0,) out_sharding=None] h
    j:f32[3] = dot_general[
      dimension_numbers=(([1], [0]), ([], []))
      preferred_element_type=float32
    ] i b
  in (j,) }""",
}


@pytest.mark.parametrize("case", JAXPRS, ids=str)
def test_jaxprs(case):
    subscripts, *shapes = case
    jaxpr = tanx.make_jaxpr(lambda *xs: jnp.einsum(subscripts, *xs))(*map(jnp.ones, shapes))
    assert str(jaxpr).replace(" \n", "\n") == JAXPRS[case]


def test_another_product():
    calls = []

    def product(x, y, *args, **options):
        calls.append(options)
        return tanx.lax.dot_general(x, y, *args, **options)

    jnp.einsum("i,i,i", *[jnp.ones(3)] * 3, _dot_general=product)
    assert calls == [{"preferred_element_type": np.float32}] * 2


X = values(2, 3)
MISTAKES = [
    (ValueError, lambda: jnp.einsum("ij,jk->ik", X, X), """\
tanx.numpy.einsum: the dimensions called 'j' have different sizes.
  subscripts: 'ij,jk->ik'
  operand 1:  2
  before:     3
  Hint: give different dimensions different letters."""),
    (ValueError, lambda: jnp.einsum("ij->iz", X), """\
tanx.numpy.einsum: the result has 'z', which no operand has.
  subscripts: 'ij->iz'"""),
    (ValueError, lambda: jnp.einsum("ij->ii", X), """\
tanx.numpy.einsum: the result has 'i' more than once.
  subscripts: 'ij->ii'"""),
    (ValueError, lambda: jnp.einsum("ijk", X), """\
tanx.numpy.einsum: a term has one letter for each dimension.
  subscripts: 'ijk'
  term:       'ijk'
  operand 0:  shape (2, 3)"""),
    (ValueError, lambda: jnp.einsum("ij,jk", X), """\
tanx.numpy.einsum: there must be one term for each operand.
  subscripts: 'ij,jk'
  operands:   1"""),
    (ValueError, lambda: jnp.einsum("i.j", X), """\
tanx.numpy.einsum: subscripts consist of letters, ',', '...' and at most one '->'.
  subscripts: 'i.j'"""),
    (NotImplementedError, lambda: jnp.einsum("ij,ij,ij", X, X, X, optimize=[(0, 1, 2)]), """\
tanx.numpy.einsum: operands are multiplied in pairs.
  optimize: ((0, 1, 2),)
  Hint: tanx.numpy.einsum_path gives paths of pairs."""),
    (NotImplementedError, lambda: jnp.einsum("i", X, out=X), """\
tanx.numpy.einsum: arrays are immutable, so out is not supported.
  Hint: use the result."""),
    (TypeError, lambda: jnp.einsum(X, [0, "a"]), """\
tanx.numpy.einsum: operands alternate with lists of labels that can be compared.
  Hint: use integers or strings, and Ellipsis."""),
]


@pytest.mark.parametrize("error, call, text", MISTAKES)
def test_mistakes(error, call, text):
    message(error, call, text)
