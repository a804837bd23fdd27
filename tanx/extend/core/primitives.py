"""tanx.extend.core.primitives: primitives by the names that they have in JAX."""

from ..._base.traceback import shown
from ..._base.window import publish
from ..._control.call import jit_p
from ..._control.cond import cond_p
from ..._control.custom_jvp import custom_jvp_call_p
from ..._control.custom_vjp import custom_lin_p, custom_vjp_call_p
from ..._control.remat import name_p, remat_p
from ..._control.rng_uniform import rng_uniform_p
from ..._control.scan import scan_p
from ..._control.solve import linear_solve_p
from ..._control.while_loop import while_p
from ..._extend.calls import *
from ..._extend.partial import eval_jaxpr_transpose
from ..._ops.annotations import after_all_p, create_token_p, device_put_p, sharding_constraint_p
from ..._ops.arith import add_p, div_p, integer_pow_p, mul_p, neg_p, sub_p
from ..._ops.base import broadcast_in_dim_p, reduce_sum_p, reshape_p, transpose_p
from ..._ops.bit_generator import rng_bit_generator_p
from ..._ops.bits import (
    and_p,
    clz_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from ..._ops.collective import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
)
from ..._ops.compare import (
    clamp_p,
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    ne_p,
    select_n_p,
)
from ..._ops.complex_parts import complex_p, conj_p, imag_p, real_p
from ..._ops.conv import conv_general_dilated_p
from ..._ops.convert import (
    bitcast_convert_type_p,
    convert_element_type_p,
    copy_p,
    reduce_precision_p,
    stop_gradient_p,
)
from ..._ops.create import empty_p as empty2_p
from ..._ops.create import iota_p
from ..._ops.cumulative import cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p
from ..._ops.derive import add_any_p as add_jaxvals_p
from ..._ops.dot import dot_general_p
from ..._ops.dynamic import dynamic_slice_p, dynamic_update_slice_p
from ..._ops.eigen import eig_p, eigh_p, svd_p
from ..._ops.exchange import ragged_all_to_all_p
from ..._ops.fft import fft_p
from ..._ops.gather_scatter import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
)
from ..._ops.incomplete import igamma_grad_a_p, igamma_p, igammac_p, regularized_incomplete_beta_p
from ..._ops.layout import rev_p, squeeze_p
from ..._ops.linalg import cholesky_p, householder_product_p, lu_p, qr_p, triangular_solve_p
from ..._ops.magnitude import (
    abs_p,
    ceil_p,
    floor_p,
    is_finite_p,
    max_p,
    min_p,
    nextafter_p,
    rem_p,
    round_p,
    sign_p,
)
from ..._ops.matrix_forms import hessenberg_p, schur_p, tridiagonal_p, tridiagonal_solve_p
from ..._ops.polynomial import polynomial_p
from ..._ops.pooling import select_and_gather_add_p, select_and_scatter_add_p, select_and_scatter_p
from ..._ops.powers import pow_p
from ..._ops.random_gamma import random_gamma_p
from ..._ops.reduce import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_xor_p,
)
from ..._ops.refs import get_p, swap_p
from ..._ops.rng import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    threefry2x32_p,
)
from ..._ops.roots import cbrt_p, one_minus_square_p, rsqrt_p, sqrt_p, square_p
from ..._ops.slicing import concatenate_p, pad_p, slice_p
from ..._ops.sort import approx_top_k_p, sort_p, top_k_p
from ..._ops.special import (
    bessel_i0e_p,
    bessel_i1e_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    polygamma_p,
    zeta_p,
)
from ..._ops.transcendental import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
)
from ..._ops.window import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)

publish(__name__, shown)
