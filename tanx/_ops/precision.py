"""The precision of matrix products that users may request.

On the CPU every product is computed as precisely as its dtype allows, so these lower bounds are
always met; a GPU may trade precision for speed if ``DEFAULT`` allows it.
"""

from __future__ import annotations

import enum
from typing import Any

import ml_dtypes
import numpy as np

from .._base import config
from .._base.tuples import NamedTuple
from .._core.primitive import parameter
from ..errors import explain

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike"]


@parameter
class Precision(enum.Enum):
    """How precise a product is: ``DEFAULT`` (fastest), ``HIGH`` or ``HIGHEST``.

    Strings name them too, among them ``"bfloat16"``, ``"tensorfloat32"`` and ``"float32"``.

    >>> lax.Precision("float32")
    Precision.HIGHEST
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value):
        name = _NAMES.get(value) if value is None or isinstance(value, str) else None
        return None if name is None else cls[name]

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_NAMES = {None: "DEFAULT", "default": "DEFAULT", "bfloat16": "DEFAULT", "fastest": "DEFAULT",
          "high": "HIGH", "bfloat16_3x": "HIGH", "tensorfloat32": "HIGH",
          "highest": "HIGHEST", "float32": "HIGHEST"}


@parameter
class DotAlgorithm(NamedTuple):
    """The details of an algorithm for products of matrices.

    Operands are split into components of the precision types; products of components are summed in
    the accumulation type.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


@parameter
class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: the types of operands and sum; ``X3`` to ``X9`` split operands."""

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name

    @property
    def supported_lhs_types(self) -> tuple[type, ...] | None:
        """The dtypes of left operands that the algorithm supports; None for no restriction."""
        words = self.name.split("_")
        if words[0] in ("DEFAULT", "ANY"):
            return None
        if words[0] == "TF32" or words[-1].startswith("X"):
            return (np.float32,)
        return (ml_dtypes.bfloat16, np.float32) if words[0] == "BF16" else (_FLOATS[words[0]],)

    @property
    def supported_rhs_types(self) -> tuple[type, ...] | None:
        """The dtypes of right operands that the algorithm supports; None for no restriction."""
        return self.supported_lhs_types

    @property
    def accumulation_type(self) -> type | None:
        """The dtype in which products are summed; None if the operands decide."""
        words = self.name.removesuffix("_FAST_ACCUM").split("_")
        words = [w for w in words if not w.startswith("X")]
        return _FLOATS.get(words[-1])


_FLOATS = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64}

PrecisionLike = (None | str | Precision | tuple[str, str] | tuple[Precision, Precision]
                 | DotAlgorithm | DotAlgorithmPreset)


def canonical_precision(precision: PrecisionLike, function: str):
    """The form of a request in equations: None, two precisions, or an algorithm."""
    if precision is None:
        precision = config.default_matmul_precision.value
        if precision is None:
            return None
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        if len(pair) != 2 or not all(isinstance(p, (str, Precision)) for p in pair):
            raise ValueError
        return tuple(map(Precision, pair))
    except ValueError:
        raise ValueError(explain(
            function, "precision must be None, a Precision or its name, a pair of them, "
            "a DotAlgorithm, or a DotAlgorithmPreset or its name.", f"precision: {precision!r}",
            f"names:     {', '.join(filter(None, _NAMES))}")) from None
