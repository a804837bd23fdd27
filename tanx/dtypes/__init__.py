"""tanx.dtypes: types of array elements, their promotion and their names."""

from ml_dtypes import bfloat16, finfo, iinfo

from .._base.window import publish
from ._kinds import (
    isdtype,
    issubdtype,
    no_number,
    scalar_type_of,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
)
from ._promotion import TypePromotionError, promote_types, result_type
from ._promotion import holds as holds
from ._requests import (
    canonicalize_dtype,
    default_complex,
    default_float,
    default_int,
    default_uint,
    dtype,
    is_python_scalar,
    is_valid,
    is_weakly_typed,
    requested_dtype,
)
from ._scalars import ScalarMeta, scalar_types
from ._tangents import primal_tangent_dtype
from ._types import NAMES as NAMES
from ._types import DType as DType
from ._types import (
    ExtendedDType,
    KeyType,
    extended,
    float0,
    is_extended,
    itemsize_bits,
    prng_key,
    short_name,
    stored,
    stored_as,
    stored_numbers,
)

__all__ = [
    "ExtendedDType", "KeyType", "ScalarMeta", "TypePromotionError", "bfloat16",
    "canonicalize_dtype", "default_complex", "default_float", "default_int", "default_uint",
    "dtype", "extended", "finfo", "float0", "iinfo", "is_extended", "is_python_scalar", "is_valid",
    "is_weakly_typed", "isdtype", "issubdtype", "itemsize_bits", "no_number",
    "primal_tangent_dtype", "prng_key", "promote_types", "requested_dtype", "result_type",
    "scalar_type_of", "scalar_types", "short_name", "stored", "stored_as", "stored_numbers",
    "to_complex_dtype", "to_floating_dtype", "to_inexact_dtype", "to_numeric_dtype"]

publish(__name__)
