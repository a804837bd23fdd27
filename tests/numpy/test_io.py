"""Files, printing, and queries about types."""

import io

import ml_dtypes
import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.numpy.agreement import agree, fact


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_files(dtype):
    x = jnp.asarray(np.arange(6).reshape(2, 3), dtype)
    file = io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    y = jnp.load(file)
    assert fact(y) == fact(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_other_files(tmp_path):
    jnp.savez(tmp_path / "several.npz", a=jnp.arange(2), b=jnp.ones(3))
    several = jnp.load(tmp_path / "several.npz")
    agree(several["a"], [0, 1])
    np.save(tmp_path / "wide.npy", np.arange(3.0))
    assert fact(jnp.load(tmp_path / "wide.npy")) == "float32[3]"
    np.save(tmp_path / "object.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        jnp.load(tmp_path / "object.npy")
    np.arange(3, dtype="int32").tofile(tmp_path / "raw")
    agree(jnp.fromfile(tmp_path / "raw", "int32"), [0, 1, 2])


def test_printing():
    x = jnp.array([0.123456789, 2.0])
    with jnp.printoptions(precision=2):
        assert jnp.array_str(x) == "[0.12 2.  ]"
        assert str(x) == "[0.12 2.  ]" and jnp.get_printoptions()["precision"] == 2
    assert jnp.array_repr(x, precision=3) == "Array([0.123, 2.   ], dtype=float32)"
    before = jnp.get_printoptions()["precision"]
    jnp.set_printoptions(precision=3)
    try:
        assert repr(x) == "Array([0.123, 2.   ], dtype=float32)"
    finally:
        jnp.set_printoptions(precision=before)
    assert jnp.iterable(x) and not jnp.iterable(x[0])


def test_questions_about_types():
    assert jnp.result_type(1, jnp.float16(2)) == "float16" == jnp.promote_types("float16", "int8")
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating) and not jnp.issubdtype("int8", jnp.inexact)
    assert jnp.isdtype("bfloat16", "real floating") and jnp.isdtype(jnp.int8, ("bool", "integral"))
    assert jnp.can_cast("bfloat16", "float32") and not jnp.can_cast("int32", "float32")
    assert jnp.finfo(jnp.bfloat16).bits == 16 and jnp.iinfo("int8").max == 127
    assert jnp.dtype(jnp.bfloat16) == ml_dtypes.bfloat16 and jnp.dtype is np.dtype
    assert jnp.ndarray is tanx.Array and jnp.ComplexWarning is np.exceptions.ComplexWarning
