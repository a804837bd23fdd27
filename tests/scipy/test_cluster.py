"""Vector quantization, and integrals of samples: SciPy's numbers, dtypes, errors."""

import numpy as np
import pytest
from scipy import integrate as reference_integrate
from scipy.cluster import vq as reference

import tanx.numpy as jnp
from tanx.scipy.cluster.vq import vq
from tanx.scipy.integrate import trapezoid
from tests.numpy.agreement import adjoint, batched
from tests.scipy.lives import check

RNG = np.random.default_rng(0)
OBS, CODES = RNG.normal(size=(20, 3)).astype("f"), RNG.normal(size=(5, 3)).astype("f")


@pytest.mark.parametrize("obs, codes", [
    (OBS, CODES), (OBS[:, 0], CODES[:, 0]), (OBS[:0], CODES), (OBS, CODES[:1]),
    ((10 * OBS).astype(int), (10 * CODES).astype(int)), (CODES, CODES[[1, 1, 0]])])
def test_nearest(obs, codes):
    code, apart = reference.vq(obs, codes)
    check(vq, (obs, codes), (code, apart))


def test_types_of_codes():
    assert [x.dtype.name for x in vq(OBS, CODES)] == ["int32", "float32"]
    assert vq(OBS.astype("float16"), CODES.astype("float16"))[1].dtype == "float16"
    assert jnp.isnan(vq(OBS * np.nan, CODES)[1]).all()
    batched(lambda obs: vq(obs, CODES), OBS)
    adjoint(lambda obs, codes: vq(obs, codes)[1], OBS, CODES)


@pytest.mark.parametrize("error, call", [
    (ValueError, lambda: vq(OBS[0], CODES)), (ValueError, lambda: vq(OBS[None], CODES[None])),
    (ValueError, lambda: vq(jnp.float32(1), jnp.float32(1))),
    (TypeError, lambda: vq(OBS, CODES[:, :2])), (ValueError, lambda: vq(OBS, CODES[:0])),
    (TypeError, lambda: vq([[1.0]], [[2.0]])),
])
def test_errors(error, call):
    with pytest.raises(error, match=r"^tanx\.scipy\.cluster\.vq\.vq: "):
        call()


@pytest.mark.parametrize("options", [
    dict(), dict(dx=0.5), dict(axis=0), dict(x=np.arange(3.0) ** 2), dict(x=np.arange(20.0) ** 2,
                                                                         axis=0)])
def test_integrals(options):
    check(lambda y: trapezoid(y, **options), (OBS,),
          reference_integrate.trapezoid(OBS.astype(float), **options))
    adjoint(lambda y: trapezoid(y, **options), OBS)
