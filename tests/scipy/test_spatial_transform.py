"""Rotations against SciPy's: every form, every sequence of axes, batches, derivatives, errors."""

import itertools
import warnings

import numpy as np
import pytest
from scipy.spatial import transform as reference

import tanx
import tanx.numpy as jnp
from tanx.scipy.spatial.transform import Rotation, Slerp
from tests.numpy.agreement import adjoint, agree
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
QUATS = RNG.normal(size=(20, 4))
VECTORS = RNG.normal(size=(20, 3))
SEQUENCES = ["".join(s) for s in itertools.product("xyz", repeat=3) if s[0] != s[1] != s[2]]
SEQUENCES += [s.upper() for s in SEQUENCES]


def theirs(quat=QUATS):
    return reference.Rotation.from_quat(quat)


FORMS = {
    "matrix": lambda r: r.as_matrix(), "rotvec": lambda r: r.as_rotvec(),
    "rotvec in degrees": lambda r: r.as_rotvec(degrees=True), "mrp": lambda r: r.as_mrp(),
    "quat": lambda r: r.as_quat(), "canonical": lambda r: r.as_quat(canonical=True),
    "scalar first": lambda r: r.as_quat(scalar_first=True), "magnitude": lambda r: r.magnitude(),
    "inverse": lambda r: r.inv().as_matrix(), "square": lambda r: (r * r).as_quat(),
    "one beside many": lambda r: (r * r[-1]).as_matrix() if len(r.as_quat().shape) > 1
    else (r * r).as_matrix(),
    "mean": lambda r: r.mean().as_matrix() if len(r.as_quat().shape) > 1 else r.as_matrix(),
    "euler": lambda r: r.as_euler("zyx"), "degrees": lambda r: r.as_euler("XZX", degrees=True),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("quat", [QUATS, QUATS[0], QUATS[:1]], ids=["many", "single", "one"])
def test_forms(form, quat):
    want = FORMS[form](theirs(quat))
    check(lambda q: FORMS[form](Rotation.from_quat(q)), (quat.astype(np.float32),), want, 2e-5,
          1e-4 if "degrees" in form else 5e-6)


@pytest.mark.parametrize("seq", SEQUENCES)
def test_euler_angles(seq):
    """Also if the outer axes coincide: then the last angle is zero."""
    angles = np.concatenate([RNG.uniform(-1.5, 1.5, (10, 3)),
                             [[0.3, middle, 0.5] for middle in (0, np.pi / 2, -np.pi / 2, np.pi)]])
    want = reference.Rotation.from_euler(seq, angles)
    with tanx.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Rotation.from_euler(seq, angles)
        agree(made.as_matrix(), want.as_matrix(), 1e-12, 1e-12)
        agree(made.as_euler(seq), want.as_euler(seq), 1e-6, 1e-6)


@pytest.mark.parametrize("seq, angles", [
    ("x", 0.5), ("x", [0.5]), ("y", [[0.5], [1.0]]), ("zx", [0.5, 1.0]), ("ZY", [[0.5, 1.0]] * 3),
    ("xyz", [1, 2, 3])])
def test_angles_about_few_axes(seq, angles):
    want = reference.Rotation.from_euler(seq, angles, degrees=True)
    made = Rotation.from_euler(seq, jnp.array(angles), degrees=True)
    agree(made.as_matrix(), want.as_matrix())


@pytest.mark.parametrize("name, given", [
    ("from_matrix", theirs().as_matrix()), ("from_rotvec", VECTORS), ("from_mrp", VECTORS),
    ("from_matrix", reference.Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()),
    ("from_matrix", np.eye(3)), ("from_rotvec", np.zeros(3)), ("from_mrp", np.zeros(3)),
    ("from_rotvec", np.full(3, 1e-5)), ("from_rotvec", [0, 1, 2])])
def test_made_from(name, given):
    want = getattr(reference.Rotation, name)(given).as_matrix()
    check(lambda x: getattr(Rotation, name)(x).as_matrix(), (np.float32(given),), want)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("quat, vectors", [
    (QUATS, VECTORS), (QUATS[0], VECTORS), (QUATS, VECTORS[0]), (QUATS[0], VECTORS[0])])
def test_apply(quat, vectors, inverse):
    want = theirs(quat).apply(vectors, inverse)
    check(lambda q, v: Rotation.from_quat(q).apply(v, inverse), (np.float32(quat), vectors), want)


def test_apply_broadcasts_batches_of_any_rank():
    turned = Rotation.from_quat(QUATS.reshape(4, 1, 5, 4)).apply(VECTORS[:3, None])
    assert turned.shape == (4, 3, 5, 3)
    agree(turned[3, 2, 4], theirs(QUATS[19]).apply(VECTORS[2]), 1e-5, 1e-5)


@pytest.mark.parametrize("function, args", [
    (lambda q: Rotation.from_quat(q).as_matrix(), (QUATS,)),
    (lambda q: Rotation.from_quat(q).as_euler("xyz"), (QUATS,)),
    (lambda q: Rotation.from_quat(q).mean().as_matrix(), (QUATS,)),
    (lambda v: Rotation.from_rotvec(v).as_rotvec(), (VECTORS,)),
    (lambda v: Rotation.from_rotvec(v).as_rotvec(), (np.zeros(3),)),
    (lambda v: Rotation.from_rotvec(v).as_quat(), (np.zeros(3),)),
    (lambda v: Rotation.from_rotvec(v).apply(np.ones(3)), (np.full(3, 1e-4),)),
    (lambda v, x: Rotation.from_mrp(v).apply(x), (VECTORS, VECTORS)),
    (lambda t: Slerp.init(np.arange(20.0), Rotation.from_quat(QUATS))(t).as_quat(),
     (np.array([0.5, 3.2]),))])
def test_derivatives(function, args):
    adjoint(function, *args)


def test_magnitude_of_a_zero_rotation_has_a_finite_gradient():
    assert not np.isnan(tanx.grad(lambda v: Rotation.from_rotvec(v).magnitude())(np.zeros(3))).any()


def test_rotations_are_pytrees():
    batch = Rotation.from_quat(QUATS)
    mapped = tanx.vmap(lambda r, v: (r * r).apply(v))(batch, VECTORS)
    agree(mapped, (theirs() * theirs()).apply(VECTORS), 1e-5, 1e-5)
    doubled = tanx.jit(lambda r: r * r)
    for _ in range(4):
        agree(doubled(batch).as_matrix(), (theirs() * theirs()).as_matrix(), 1e-5, 1e-5)
    assert len(batch) == 20 and not batch.single and batch[0].single and bool(batch)
    agree(batch[-1].as_quat(), batch.as_quat()[-1])
    agree(Rotation.concatenate([batch[0], batch[3:5]]).quat, batch.quat[np.array([0, 3, 4])])


def test_identity_and_random():
    assert Rotation.identity().quat.tolist() == [0, 0, 0, 1]
    assert Rotation.identity(3, dtype="bfloat16").quat.shape == (3, 4)
    drawn = Rotation.random(tanx.random.key(0), 4000)
    agree((drawn.quat ** 2).sum(-1), np.ones(4000))
    assert abs(np.asarray(drawn.as_matrix()).mean(0)).max() < 0.05
    assert Rotation.random(tanx.random.key(0)).single


def test_slerp():
    times = np.cumsum(RNG.uniform(0.2, 1, 20))
    want = reference.Slerp(times, theirs())
    at = np.concatenate([times, RNG.uniform(times[0], times[-1], 30)])
    check(lambda q, t: Slerp.init(times, Rotation.from_quat(q))(t).as_matrix(),
          (np.float32(QUATS), np.float32(at)), want(at).as_matrix(), 1e-4, 1e-5)
    ends = Rotation.from_rotvec(jnp.array([[0.0, 0, 0], [1, 0, 0]]))
    made = Slerp.init(jnp.array([0.0, 1.0]), ends)
    agree(made(jnp.array([-0.5, 2.0])).as_rotvec(), [[-0.5, 0, 0], [2, 0, 0]])
    assert made(0).single and len(tanx.tree.leaves(made)) == 4


BATCH = Rotation.from_quat(QUATS)


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: Rotation.from_euler("xyzx", np.ones(4))),
    (ValueError, lambda: Rotation.from_euler("", np.ones(0))),
    (ValueError, lambda: Rotation.from_euler("xY", np.ones(2))),
    (ValueError, lambda: Rotation.from_euler("xx", np.ones(2))),
    (ValueError, lambda: Rotation.from_euler("xw", np.ones(2))),
    (ValueError, lambda: Rotation.from_euler("xy", np.ones(3))),
    (ValueError, lambda: BATCH.as_euler("xy")),
    (ValueError, lambda: Rotation.from_quat(np.ones(3))),
    (ValueError, lambda: Rotation.from_matrix(np.eye(2))),
    (ValueError, lambda: BATCH.apply(np.ones(2))),
    (ValueError, lambda: BATCH.apply(np.ones((3, 3)))),
    (ValueError, lambda: BATCH * BATCH[:3]),
    (ValueError, lambda: BATCH.mean(np.ones(3))),
    (TypeError, lambda: BATCH[0][0]), (TypeError, lambda: len(BATCH[0])),
    (TypeError, lambda: BATCH * 2.0), (TypeError, lambda: BATCH[0].mean()),
    (TypeError, lambda: Slerp.init(np.ones(20), QUATS)),
    (ValueError, lambda: Slerp.init(np.ones(3), BATCH)),
    (ValueError, lambda: Slerp.init(np.ones(1), BATCH[0])),
    (ValueError, lambda: Slerp.init(np.arange(20), BATCH)(np.ones((2, 2))))])
def test_errors(error, call):
    with pytest.raises(error):
        call()
