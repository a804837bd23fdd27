"""Rotations, interpolation, differential equations and recurrent networks."""

from tests.oracle.calls.call import ALL, each, lines

R = "jax.scipy.spatial.transform.Rotation"
SLERP = "jax.scipy.spatial.transform.Slerp"
MAP = "jax.scipy.ndimage.map_coordinates"
GRID = "jax.scipy.interpolate.RegularGridInterpolator"
POINTS = "(jnp.arange(3.), jnp.array([0., 1., 2.5, 4.]))"
ODE = "jax.experimental.ode"
T = "jnp.array([0., 1.])"
RNN = "jax.experimental.rnn"
WEIGHTS = "jnp.sin(jnp.arange(48.))"  # from 2 numbers to 2, in one layer
ONE = (f"f32_3x4x2, f32_1x3x2, f32_1x3x2b, *{RNN}.unpack_lstm_weights({WEIGHTS}, 2, 2, 1, False), "
       "jnp.array([4, 2, 1]), 2, 2, 1")
MORE = (f"f32_3x4x2, f32_4x3x2, f32_4x3x2b, *{RNN}.unpack_lstm_weights("
        "jnp.sin(jnp.arange(224.)), 2, 2, 2, True), jnp.array([4, 2, 1]), 2, 2, 2")

MADE = [f"{R}.from_quat({{q}})", f"{R}.from_quat({{q}}).inv()",
        f"({R}.from_quat({{q}}) * {R}.from_quat({{q}}b))"]
FORMS = ["as_matrix()", "as_rotvec()", "as_rotvec(degrees=True)", "as_mrp()", "as_quat()",
         "as_quat(canonical=True)", "as_quat(scalar_first=True)", "magnitude()", "as_euler('xyz')",
         "as_euler('ZXZ', degrees=True)", "single"]

CALLS = [
    # -- rotations ---------------------------------------------------------------------------------
    *each("{r}.{f}", r=[made.format(q=q) for made in MADE for q in ("f32_4", "f32_3x4")], f=FORMS),
    *each(R + ".from_quat({q}).{f}", modes=ALL.replace("jaxpr", ""), q=["f32_4", "f32_3x4"],
          f=FORMS[:-1]),
    *each(R + ".from_quat({q}).as_matrix()", q="i32_4 f16_4 f32_2x3x4 u8_4 f32_0x4"),
    *each(R + ".from_{f}({x}).as_matrix()", f=["rotvec", "mrp"],
          x="f32_3 f32_2x3 f16_3 i32_3 jnp.zeros(3) f32_0x3"),
    *each(R + ".from_{f}(f32_3).as_quat()", modes="jit vmap jvp vjp", f=["rotvec", "mrp"]),
    *each(R + ".from_rotvec({x}, degrees=True).as_quat()", x="f32_3 f32_2x3"),
    *each(R + ".from_matrix({m}).as_quat()", modes="eager jit",
          m=["jnp.eye(3)", "f32_3x3", "f32_2x3x3", "-jnp.eye(3)", "i32_3x3",
             f"{R}.from_quat(f32_5x4).as_matrix()"]),
    *each(R + ".from_euler('{s}', {a}).as_quat()", s=["xyz", "XYZ", "zxz", "ZYX"],
          a="f32_3 f32_2x3 i32_3"),
    *each(R + ".from_euler({a}).as_quat()", a=[
        "'x', 0.5", "'x', jnp.array([0.5])", "'Z', f32_2x1", "'xy', f32_2", "'xyz', f32_3, True",
        "'x', [0.5]", "'xyzx', f32_4", "'', f32_0", "'xY', f32_2", "'xw', f32_2", "'xy', f32_3"]),
    *each(R + ".from_quat({q}).apply({v}{o})", modes="eager jit", q=["f32_4", "f32_2x4"],
          v="f32_3 f32_2x3 f32_5x2x3 f32_3x3 f32_2 i32_3", o=["", ", inverse=True"]),
    *each(R + ".from_quat(f32_4).apply(f32_3)", modes=ALL.replace("jaxpr", "")),
    *lines(f"""
    {R}.from_quat(f32_5x4).mean().as_matrix()  ## eager jit
    {R}.from_quat(f32_5x4).mean(f32_pos5).as_matrix()
    {R}.from_quat(f32_5x4).mean(f32_3)
    {R}.from_quat(f32_4).mean()
    {R}.from_quat(f32_5x4)[0].quat  ## eager jit
    {R}.from_quat(f32_5x4)[1:3].quat
    {R}.from_quat(f32_5x4)[i32_idx3].quat
    {R}.from_quat(f32_5x4)[-1].quat
    {R}.from_quat(f32_4)[0]
    len({R}.from_quat(f32_5x4))
    len({R}.from_quat(f32_4))
    bool({R}.from_quat(f32_4))
    {R}(f32_4)
    {R}.identity().quat
    {R}.identity(dtype=jnp.float16).quat
    {R}.identity(3).quat
    {R}.random(jax.random.key(0)).quat.shape
    {R}.concatenate([{R}.from_quat(f32_5x4), {R}.from_quat(f32_2x4)]).quat
    {R}.concatenate([{R}.from_quat(f32_4), {R}.from_quat(f32_4)]).quat
    {R}.concatenate([])
    {R}.from_quat(f32_4) * 2.0
    {R}.from_quat(f32_2x4) * {R}.from_quat(f32_3x4)
    {R}.from_quat(f32_4).as_euler('x')
    {R}.from_quat(f32_4).as_euler('xxz')
    {R}.from_quat(f32_4).as_euler('xyZ')
    {R}.from_quat(f32_3)
    {R}.from_matrix(jnp.eye(2))
    jax.tree.leaves({R}.from_quat(f32_2x4))
    jax.grad(lambda v: {R}.from_rotvec(v).as_rotvec().sum())(jnp.zeros(3))
    {SLERP}.init(jnp.arange(3.), {R}.from_quat(f32_3x4))(f32_pos5 / 4).as_quat()
    {SLERP}.init(jnp.arange(5.), {R}.from_quat(f32_5x4))(0.5).as_quat()  ## eager jit
    {SLERP}.init(jnp.arange(5.), {R}.from_quat(f32_5x4)).rotvecs
    {SLERP}.init(jnp.arange(5.), {R}.from_quat(f32_5x4))(-0.5).as_quat()
    {SLERP}.init(jnp.arange(5.), {R}.from_quat(f32_5x4))(5.5).as_quat()
    {SLERP}.init(jnp.arange(3.), {R}.from_quat(f32_5x4))
    {SLERP}.init(jnp.arange(1.), {R}.from_quat(f32_4))
    {SLERP}.init(jnp.arange(5.), f32_5x4)
    """),
    # -- interpolation -----------------------------------------------------------------------------
    *each(MAP + "({x}, [{c}], {o}, '{m}', {v})", x="f32_5 i32_5 bf16_5 c64_5 u8_5 b1_5".split(),
          c=["f32_8", "i32_8"], o="01", m=["constant", "reflect"], v=["2.5"]),
    *each(MAP + "(f32_4x5, [{c}], {o}, '{m}')",
          c=["f32_3, f32_3b", "f32_2x3, f32_3", "f16_3, f32_3"], o="01",
          m="constant nearest wrap mirror reflect"),
    *each(MAP + "(f32_4x5, [f32_3, f32_3b], {o}, mode='{m}')", modes=ALL.replace("jaxpr", ""),
          o="01", m="constant nearest wrap mirror reflect"),
    *lines(f"""
    {MAP}(f32_5, [f32_edge], 1, 'nearest')
    {MAP}([1., 2.], [[0.5]], 1)
    {MAP}(f32_5, f32_1x3, 1)
    {MAP}(f32_5, [f32_3], 2)
    {MAP}(f32_5, [f32_3], 3)
    {MAP}(f32_5, [f32_3], 1, 'bounce')
    {MAP}(f32_5, [f32_3], 1, 'grid-wrap')
    {MAP}(f32_5, [f32_3, f32_3], 1)
    {MAP}(f32_5, f32_3, 1)
    {MAP}(f32_5, [c64_3], 1)
    {MAP}(f32_0, [f32_3], 1)
    {MAP}(f32, [], 1)
    {MAP}(f32_1, [f32_3], 1, 'mirror')
    {MAP}(f32_5, [f32_0], 1)
    """),
    *each(GRID + "(" + POINTS + ", {v}{m})({x})", modes="eager jit",
          v="f32_3x4 f32_3x4x2 i32_3x4 bf16_3x4 c64_3x4".split(), m=["", ", 'nearest'"],
          x=["f32_pos5x2", "f32_2", "(f32_pos3, f32_pos2x1)", "i32_5x2"]),
    *each(GRID + "(" + POINTS + ", f32_3x4, fill_value={f})(f32_5x2)", f=["None", "2.0", "1j"]),
    *each(GRID + "(" + POINTS + ", f32_3x4)(f32_pos5x2 / 2)", modes="jit vmap jvp vjp"),
    *lines(f"""
    {GRID}({POINTS}, f32_3x4)(f32_pos5x2, 'nearest')
    {GRID}({POINTS}, f32_3x4)(f32_pos5x2, 'cubic')
    {GRID}({POINTS}, f32_3x4, 'magic')
    {GRID}({POINTS}, f32_3x4, bounds_error=True)
    {GRID}({POINTS}, f32_4x3)
    {GRID}({POINTS}, f32_3)
    {GRID}({POINTS}, f32_3x4)(f32_5x3)
    {GRID}({POINTS}, f32_3x4)(f32_0x2)
    {GRID}({POINTS}, f32_3x4)([[0.5, 0.5]])
    {GRID}((jnp.arange(5.),), f32_5)(f32_pos3)
    {GRID}((jnp.arange(5.),), f32_5x2)(f32_pos3)
    {GRID}((f32_2x3,), f32_5)
    jax.tree.leaves({GRID}({POINTS}, f32_3x4))
    """),
    # -- differential equations --------------------------------------------------------------------
    *each(ODE + ".odeint(lambda y, t{a}: {f}, {y}, jnp.linspace(0., 1., 4){b}, "
          "rtol=1e-4, atol=1e-4)", modes="eager jit vmap", a=[""], b=[""],
          f=["-y", "jnp.sin(y) * t"], y="f32 f32_3 f32_2x3"),
    *lines(f"""
    {ODE}.odeint(lambda y, t, a: -a * y, f32_3, jnp.linspace(0., 1., 4), 2.0)
    {ODE}.odeint(lambda y, t: 1j * y, c64_3, jnp.linspace(0., 1., 4), rtol=1e-4)
    {ODE}.odeint(lambda y, t: -y, f32_3, jnp.linspace(0., 1., 4), mxstep=2)
    {ODE}.odeint(lambda y, t: -y, f32_3, {T}, hmax=0.1)
    {ODE}.odeint(lambda y, t: -y, f32_3, jnp.array([0.]))
    {ODE}.odeint(lambda y, t: -y, f32_3, jnp.array([1., 0.]))
    {ODE}.odeint(lambda y, t: -y, f32_3, jnp.array([0., 0., 1.]))
    {ODE}.odeint(lambda y, t: -y, 1, {T})
    {ODE}.odeint(lambda y, t: -y, f32_3, jnp.array([0, 1]))
    {ODE}.odeint(lambda y, t: -y, f32_3, [0., 1.])
    {ODE}.odeint(lambda y, t: -y, f32_3, f32)
    {ODE}.odeint(lambda y, t, a: -y, f32_3, {T}, 'a')
    {ODE}.odeint(lambda y, t: y[:1], f32_3, {T})
    {ODE}.odeint(lambda y, t: (-y[1], y[0]), (f32, f32), {T})
    jax.grad(lambda a: {ODE}.odeint(lambda y, t, a: -a * y, 1.0, {T}, a)[1])(0.5)
    jax.grad(lambda a: {ODE}.odeint(lambda y, t: -a * y, 1.0, {T})[1])(0.5)
    jax.grad(lambda t: {ODE}.odeint(lambda y, t: -y, 1.0, t).sum())(jnp.array([0., 0.5, 1.]))
    jax.jvp(lambda a: {ODE}.odeint(lambda y, t: -y, a, {T}), (1.0,), (1.0,))
    {ODE}.abs2(c64_3)
    {ODE}.abs2(f32_3)
    {ODE}.optimal_step_size(0.1, f32_pos3)
    {ODE}.mean_error_ratio(f32_3, 1e-5, 1e-5, f32_3b, f32_3c)
    {ODE}.fit_4th_order_polynomial(f32, f32, f32, f32, f32, f32)
    {ODE}.interp_fit_dopri(f32_3, f32_3b, f32_7x3, f32)
    {ODE}.runge_kutta_step(lambda y, t: -y * t, f32_3, f32_3b, f32, f32)
    {ODE}.initial_step_size(lambda y, t: -y, 0.0, f32_3, 4, 1e-6, 1e-6, -f32_3)
    {ODE}.ravel_first_arg(lambda y, t: -y, lambda x: x)(f32_3, 0.0)
    """),
    # -- recurrent networks ------------------------------------------------------------------------
    *lines(f"""
    {RNN}.get_num_params_in_lstm(4, 5, 2, True)
    {RNN}.unpack_lstm_weights({WEIGHTS}, 2, 2, 1, False)
    {RNN}.unpack_lstm_weights(jnp.arange(224.), 2, 2, 2, True)
    {RNN}.swap_lstm_gates({WEIGHTS}, 2, 2, 1, False)
    {RNN}.swap_lstm_gates(jnp.arange(224.), 2, 2, 2, True)
    {RNN}.init_lstm_weight(jax.random.key(0), 2, 2, 1, False)
    {RNN}.lstm_ref({ONE}, 0.0, False)  ## eager jit
    {RNN}.lstm_ref({MORE}, 0.0, True)  ## eager jit
    {RNN}.lstm_ref({ONE}, 0.5, False)
    """),
]
