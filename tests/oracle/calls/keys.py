"""Typed keys as arguments of functions that take numbers, and of those that take keys."""

from tests.oracle.calls.call import each, lines

KEY = "jax.random.key(0)"
KEYS = "jax.random.split(jax.random.key(0), 3)"

CALLS = [
    *each("{key} {op} {x}", "eager jit", key=[KEY, KEYS],
          op="+ - * / // % ** << >> & | ^ < <= > >= == !=",
          x=["1", "2.5", "f32_3", KEY, KEYS, "None", "'a'"]),
    *each("{x} {op} {key}", key=[KEYS], op="+ - * / // % ** << >> & | ^ < <= > >= == != @",
          x="1 f32_3 np_f32_3 np_i32_3"),
    *each("{op}({key})", "eager jit", key=[KEY, KEYS],
          op="- + ~ abs bool int float complex len list hash".split()),
    *each("{key}.{method}()", "eager jit", key=[KEY, KEYS],
          method="ravel flatten copy transpose squeeze sum prod max min argmax argmin all any mean "
                 "std var cumsum cumprod round conj sort argsort item ptp"),
    *each("jnp.{f}({key})", "eager jit", key=[KEYS],
          f="sum prod max min argmax argmin all any mean std var median cumsum cumprod sort "
            "argsort round conj ravel real imag abs negative exp sin log isnan isfinite isinf sign "
            "sqrt square invert logical_not nonzero unique flip bincount zeros_like empty_like "
            "array asarray copy squeeze atleast_1d atleast_2d tril triu diff ediff1d nansum nanmax "
            "count_nonzero ptp average argwhere flatnonzero isreal iscomplex shape size ndim "
            "positive spacing fliplr stack linalg.norm fft.fft nan_to_num signbit floor vander "
            "cov histogram float32 int32"),
    *each("jnp.{f}({key}, {key})", "eager jit", key=[KEYS],
          f="add subtract multiply divide power maximum minimum equal not_equal less greater "
            "less_equal logical_and bitwise_and dot matmul vdot inner outer tensordot cross "
            "array_equal hypot arctan2 append union1d isin searchsorted convolve fmod mod "
            "floor_divide left_shift array_equiv kron"),
    *each("lax.{f}({key})", "eager jit", key=[KEYS],
          f="neg abs sin exp sign floor is_finite sqrt sort stop_gradient clz real"),
    *each("lax.{f}({key}, {key})", "eager jit", key=[KEYS],
          f="add sub mul div rem max min pow eq ne lt gt ge le atan2 nextafter dot complex"),
    *lines(f"""
    {KEYS}.reshape(3, 1)
    {KEYS}[0]
    {KEYS}[i32_idx2]
    {KEYS}.at[0].set({KEY})
    {KEYS}.at[0].add({KEY})
    {KEYS}.at[0].set(1)
    {KEYS}.at[0].add(1)
    {KEYS}.at[0].mul(1)
    {KEYS}.at[0].max({KEY})
    {KEYS}.astype('float32')
    f32_3.at[0].set({KEY})
    f32_3[{KEY}]
    f32_3[{KEYS}]
    jnp.where(b1_3, {KEYS}, {KEYS})
    jnp.where({KEYS}, 1, 2)
    jnp.where(b1_3, {KEYS}, 0)
    jnp.select([b1_3], [{KEYS}], {KEYS})
    jnp.full((2,), {KEY})
    jnp.full_like({KEYS}, {KEY})
    jnp.full_like(f32_3, {KEY})
    jnp.zeros(3, {KEY}.dtype)
    jnp.empty(3, {KEY}.dtype)
    jnp.asarray({KEYS}, dtype='float32')
    jnp.array([{KEY}, {KEY}])
    jnp.array([{KEY}, 1])
    jnp.stack([{KEYS}, f32_3])
    jnp.concatenate([{KEYS}, {KEYS}])
    jnp.take({KEYS}, 1)
    jnp.clip({KEYS}, 0, 1)
    jnp.pad({KEYS}, 1, mode='edge')
    jnp.issubdtype({KEY}.dtype, jax.dtypes.prng_key)
    jnp.promote_types({KEY}.dtype, 'float32')
    jnp.finfo({KEY}.dtype)
    lax.convert_element_type({KEYS}, 'float32')
    lax.convert_element_type(f32_3, {KEY}.dtype)
    lax.bitcast_convert_type({KEYS}, 'uint32')
    lax.select(b1_3, {KEYS}, {KEYS})
    lax.full((2,), {KEY})
    lax.fori_loop(0, 3, lambda i, k: jax.random.split(k)[0], {KEY})
    lax.scan(lambda k, x: (k, jax.random.normal(x)), {KEY}, {KEYS})
    lax.while_loop(lambda k: k, lambda k: k, {KEY})
    lax.sort((i32_3, {KEYS}), num_keys=1)
    lax.dynamic_slice({KEYS}, (0,), (1,))
    lax.dynamic_update_slice({KEYS}, {KEYS}, (0,))
    lax.broadcast({KEY}, (2,))
    lax.rev({KEYS}, (0,))
    lax.reduce({KEYS}, {KEY}, lax.add, (0,))
    np.sin({KEYS})
    np.add({KEYS}, 1)
    jax.grad(lambda k: jax.random.normal(k))({KEY})
    jax.vmap(jax.random.normal)({KEYS})
    jax.random.normal({KEYS})
    jax.random.split({KEYS})
    jax.random.fold_in({KEYS}, 1)
    jax.random.fold_in({KEY}, i32_3)
    jax.random.fold_in({KEY}, -1)
    jax.random.fold_in({KEY}, 1.5)
    jax.random.key_data(f32_3)
    jax.random.wrap_key_data(f32_3)
    jax.random.wrap_key_data({KEY})
    jax.random.key({KEY})
    jax.random.key(1.5)
    jax.random.key(i32_3)
    jax.random.bits(1)
    jax.random.normal(f32_3)
    jax.random.normal(0)
    jax.random.key(0, impl='foo')
    jax.random.clone({KEYS})
    jax.device_put({KEYS})
    jax.tree.map(jnp.zeros_like, {{'a': {KEY}}})
    jax.nn.relu({KEYS})
    jax.nn.softmax({KEYS})
    jax.nn.one_hot({KEYS}, 3)
    """, "eager jit"),
]
