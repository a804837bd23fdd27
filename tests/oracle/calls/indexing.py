"""Indexing, updated copies, take and similar functions."""

from tests.oracle.calls.call import ALL, each, lines

STATIC = ["0", "-1", "2", "7", "-7", "1:", ":-1", "::2", "::-1", "2:0:-1", "5:9", "...", "None",
          "()", "0, 1", "0, ...", "..., 0", ":, 1", ":, None", "0:1, ::-1", "None, 0, None",
          "0, 0, 0", "..., ...", "1.0", "True", "False", "None, ..., None", ":, -5", "0, 1:2",
          "np.array([0, 1])", "np.array([0, -1, 5])", "[0, 1]", "[True, False]", "(0, [1, 2])",
          "np.array([True, False])", "np.array([[True, False, True], [False, False, True]])",
          ":, np.array([True, False, True])", "np.array([[0], [1]]), np.array([0, 2])",
          "np.array([0, 1]), :, None", "0, np.array([0, 1])", "np.array([0]), None, np.array([1])",
          "slice(None)", "slice(0, 1)", "'a'", "np.array([1.5])", "np.int64(1)", "np.array(1)",
          "np.array([], int)", "[]", "i32_idx3", "i32_idx2x2", "i32_idx3, i32_idx3b", "i32_idx3, 0",
          ":, i32_idx3", "b1_2", "b1_2x3", "b1_3", "i8_idx3", "u8_idx3", "i32_idx3, None",
          "i32_idx", "i32_idx, 1:", "f32_3", "jnp.array([0, 100])", "jnp.array([-1, -100])",
          "[i32_idx, 0]", "slice(i32_idx, None)", "jnp.arange(2)[:, None], jnp.arange(3)[None]"]
KEYS = ["0", "-1", "1:", "::-1", ":, 1", "i32_idx3", "i32_idx3, 0", "i32_idx2x2", "b1_2", "b1_2x3",
        "...", "np.array([0, 0])", "jnp.array([0, 9])", "jnp.array([-1, -9])", "0, 5", "9", "()",
        "None, 0", "i32_idx", "i32_idx, 1:"]
UPDATES = "set add subtract multiply mul divide power min max"

CALLS = [
    *each("f32_2x3[{k}]", k=STATIC),
    *each("f32_2x3[{k}]", modes="jit jaxpr vmap vmap_last jvp vjp",
          k=[k for k in STATIC if "b1" not in k and k not in (
              "7", "-7", "0, 0, 0", "..., ...", "1.0", "[0, 1]", "(0, [1, 2])", "'a'", ":, -5",
              "np.array([1.5])", "f32_3", "[True, False]", "[]", "[i32_idx, 0]")]),
    *each("f32_3[{k}]", k=["0", "1:2", "i32_idx2", "b1_3", "None", "0, 0", "i8_idx", "...", "5"]),
    *each("f32_3[{k}]", modes="jit", k=["b1_3", "i32_idx:", "f32_3", "i32_idx"]),
    *each("f32[{k}]", k=["()", "...", "None", "0", "True", ":"]),
    *each("f32_0[{k}]", k=["0", "i32_idx2", ":", "b1_0", "::2"]),
    *each("{x}[1:]", x="i8_3 b1_3 c64_3 bf16_3 w_f32[None,None]"),
    *each("f32_2x3.at[{k}].set(5)", k=STATIC),
    *each("f32_2x3.at[{k}].{f}(2)", f=UPDATES, k=KEYS),
    *each("f32_pos2x3.at[{k}].{f}(f32)", modes="jit jaxpr vmap vjp", f="set add multiply",
          k=["0", "1:", ":, 1", "i32_idx3", "i32_idx"]),
    *each("f32_2x3.at[{k}].{f}(f32)", modes="vjp vmap", f="min max divide power subtract",
          k=["0", "i32_idx3"]),
    *each("f32_2x3.at[{k}].get()", modes="eager jaxpr", k=KEYS),
    *each("f32_2x3.at[jnp.array([0, 9, -1])].get(mode='{m}')",
          m="clip fill drop promise_in_bounds wrap foo"),
    *each("f32_2x3.at[jnp.array([0, 9, -1])].{f}(2.0, mode='{m}')", f="set add max",
          m="clip fill drop wrap foo"),
    *each("{x}.at[0].{f}({v})", f="set add multiply", x="i8_3 f32_3 b1_3 u8_3 bf16_3 c64_3",
          v="2 2.5 True f32 1j i32"),
    *lines("""
    f32_2x3.at[0].set(f32_3)  ## eager jit jaxpr vmap vjp
    f32_2x3.at[:, 0].set(f32_2)
    f32_2x3.at[0].set(f32_1x3)
    f32_2x3.at[0].set(f32_2)
    f32_2x3.at[0].set([1, 2, 3])
    f32_2x3.at[0].set(np_f32_3)
    f32_2x3.at[i32_idx2].add(f32_2x3)  ## eager vjp
    f32_2x3.at[i32_idx2].add(f32_3)
    f32_2x3.at[i32_idx2].set(1.0, unique_indices=True, indices_are_sorted=True)
    f32_2x3.at[b1_2x3].set(0.0)  ## eager jit vmap vjp
    f32_2x3.at[b1_2].add(f32_3)  ## eager jit
    f32_3.at[b1_3].multiply(2)  ## jit jaxpr
    f32_2x3.at[0].apply(jnp.sin)  ## eager jit
    f32_2x3.at[i32_idx3].apply(lambda v: v * 2)
    f32_2x3.at[1:].apply(jnp.abs)
    f32_2x3.at[jnp.array([5])].get(mode='fill', fill_value=7)
    i32_3.at[jnp.array([5])].get(mode='fill')
    u8_3.at[jnp.array([5])].get(mode='fill')
    b1_3.at[jnp.array([5])].get(mode='fill')
    c64_3.at[jnp.array([5])].get(mode='fill')
    f32_3.at[5].get()
    f32_3.at[-5].get(mode='fill', fill_value=3)
    f32_3.at[jnp.array([-1])].get(mode='fill', wrap_negative_indices=False)
    f32_3.at[jnp.array([-1])].set(0.0, wrap_negative_indices=False)
    f32_3.at[0].foo(1)
    f32_3.at[0].set()
    jnp.take(f32_2x3, i32_idx3, axis=0)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.take(f32_2x3, i32_idx3)  ## eager jaxpr
    jnp.take(f32_2x3, 1, axis=1)
    jnp.take(f32_2x3, i32_idx2x2, axis=1)
    jnp.take(f32_3, jnp.array([0, 7, -1, -9]))
    jnp.take(f32_3, jnp.array([0, 7, -1, -9]), mode='clip')
    jnp.take(f32_3, jnp.array([0, 7, -1, -9]), mode='wrap')
    jnp.take(f32_3, jnp.array([0, 7, -1, -9]), mode='fill', fill_value=5)
    jnp.take(i32_3, jnp.array([0, 7]), mode='fill')
    jnp.take(f32_3, jnp.array([0, 7]), mode='raise')
    jnp.take(f32_3, jnp.array([0, 1]), mode='foo')
    jnp.take(f32_3, f32_3)
    jnp.take(f32_3, [0, 1])
    jnp.take(f32_2x3, 0, axis=5)
    jnp.take(f32_2x3, b1_3, axis=1)
    jnp.take(f32_0, 0)
    jnp.take(f32_0, i32_0)
    jnp.take(f32_2x3, i32_idx3, out=f32_3)
    jnp.take_along_axis(f32_2x3, i32_idx2x3, axis=1)  ## eager jit jaxpr vmap vmap_last jvp vjp
    jnp.take_along_axis(f32_2x3, i32_idx1x3, axis=0)
    jnp.take_along_axis(f32_2x3, i32_idx3, axis=None)
    jnp.take_along_axis(f32_2x3, i32_idx3, axis=1)
    jnp.take_along_axis(f32_2x3, f32_2x3, axis=1)
    jnp.take_along_axis(f32_2x3, i32_idx2x3 + 5, axis=1)
    jnp.take_along_axis(f32_2x3, i32_idx2x3 + 5, axis=1, mode='clip')
    jnp.take_along_axis(f32_2x3, i32_idx2x3 + 5, axis=1, mode='fill', fill_value=8)
    jnp.take_along_axis(f32_2x3, i32_idx2x3 - 2, 1, wrap_negative_indices=False)
    jnp.put_along_axis(f32_2x3, i32_idx2x1, 9.0, 1, inplace=False)  ## eager jit
    jnp.put_along_axis(f32_2x3, i32_idx2x1, 9.0, 1)
    jnp.put_along_axis(f32_3, i32_idx2, f32_2, None, inplace=False)
    jnp.put(f32_2x3, i32_idx3, f32_3, inplace=False)  ## eager jit
    jnp.put(f32_2x3, jnp.array([0, 9]), 1.5, inplace=False)
    jnp.put(f32_2x3, jnp.array([0, 9]), 1.5, mode='wrap', inplace=False)
    jnp.put(f32_2x3, i32_idx3, f32_3)
    jnp.place(f32_2x3, b1_2x3, f32_3, inplace=False)
    jnp.place(f32_2x3, b1_2x3, f32_3)
    jnp.choose(i32_idx3, [f32_3, f32_3b])  ## eager jit
    jnp.choose(jnp.array([0, 5, -1]), [f32_3, f32_3b], mode='wrap')
    jnp.choose(jnp.array([0, 5, -1]), [f32_3, f32_3b], mode='clip')
    jnp.choose(jnp.array([0, 5, -1]), [f32_3, f32_3b])
    jnp.compress(b1_3, f32_2x3, axis=1)
    jnp.compress(b1_2, f32_2x3, axis=0)
    jnp.compress(b1_3, f32_2x3, axis=1, size=2)  ## eager jit
    jnp.compress(b1_3, f32_2x3)
    jnp.extract(b1_3, f32_3)
    jnp.extract(b1_3, f32_3, size=4, fill_value=7)  ## eager jit
    jnp.nonzero(f32_2x3)
    jnp.nonzero(b1_3)
    jnp.nonzero(b1_3, size=2)  ## eager jit jaxpr vmap
    jnp.nonzero(b1_2x3, size=7, fill_value=-1)  ## eager jit
    jnp.nonzero(b1_2x3, size=7, fill_value=(5, 6))
    jnp.nonzero(b1_3)  ## jit
    jnp.nonzero(f32)
    jnp.nonzero(f32_0)
    jnp.flatnonzero(f32_2x3)
    jnp.flatnonzero(b1_2x3, size=4, fill_value=9)  ## eager jit
    jnp.argwhere(b1_2x3)
    jnp.argwhere(b1_2x3, size=5, fill_value=-1)  ## eager jit
    jnp.argwhere(f32)
    jnp.unravel_index(i32_idx3, (2, 3))  ## eager jit
    jnp.unravel_index(jnp.array([5, -1, 99]), (2, 3))
    jnp.unravel_index(4, (2, 3))
    jnp.unravel_index(i32_idx3, 3)
    jnp.ravel_multi_index((i32_idx3, i32_idx3b), (2, 3))  ## eager
    jnp.ravel_multi_index((i32_idx3, i32_idx3b), (2, 3), order='F')
    jnp.ravel_multi_index((jnp.array([5]), jnp.array([-1])), (2, 3), mode='clip')
    jnp.ravel_multi_index((jnp.array([5]), jnp.array([-1])), (2, 3), mode='wrap')
    jnp.ravel_multi_index((jnp.array([5]), jnp.array([-1])), (2, 3))
    [x for x in f32_3]  ## eager jit jaxpr vjp
    list(f32_2x3)
    list(f32)
    f32_3[i32_idx:i32_idx + 2]
    f32_3[jax.ds(i32_idx, 2)]  ## eager jit
    f32_2x3[jax.ds(0, 1), 1]
    f32_3[jnp.array(1)]  ## jit jaxpr
    f32_3[np.uint8(200)]
    f32_2x3[i32_idx2, ..., None]
    f32_2x3x2[i32_idx2, :, i32_idx2b]  ## eager jaxpr vjp vmap
    f32_2x3x2[:, i32_idx2, i32_idx2b]  ## eager jaxpr
    f32_2x3x2[i32_idx2, 1:, None, 0]  ## eager jaxpr
    f32_2x3x2[..., i32_idx2]  ## eager jaxpr
    f32_2x3x2[b1_2]
    f32_2x3x2[b1_2x3]
    f32_2x3x2[b1_2, 0]
    f32_2x3x2[0, b1_3]
    f32_2x3x2[:, b1_3, i32_idx2]
    f32_2x3[(0, 1)]
    f32_2x3[[0, 1], [1, 2]]
    f32_2x3[np.ones((2, 2), bool)]
    f32_2x3[None, :, i32_idx2, None]
    f32_2x3[True, 0]
    f32_2x3[jnp.array(True)]
    """),
    *each("f32_2x3.at[i32_idx3].{f}(f32_3x3)", modes=ALL, f="set add multiply min max"),
]
