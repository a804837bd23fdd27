"""Making arrays: from data, from numbers, from patterns."""

from tests.oracle.calls.call import each, lines

VALUES = ["2", "2.5", "True", "1j", "[1, 2]", "[1.0, 2]", "[True, False]", "[[1], [2.5]]", "[]",
          "[[]]", "(1, 2)", "f32_3", "np_f32_3", "w_f32", "w_i32", "[f32, 2]", "[f32_3, f32_3b]",
          "np.float64(2.5)", "np.int64(3)", "np.arange(3)", "np.ones(2, np.float64)", "range(3)",
          "None", "'a'", "['a']", "[[1, 2], [3]]", "[1, None]", "2**40", "-2**31", "2**31",
          "[2**40]", "np.array(2**40)", "1e300", "[w_f32, 1]", "[True, 2]", "[1, 2j]",
          "[np.float32(1), 2]",
          "[np.int8(1), 2]", "{}", "np.array('a')", "np.array([1, None])", "bytearray(b'ab')",
          "memoryview(b'ab')", "jnp.float32", "np.datetime64('2020-01-01')"]
SPECS = ["3", "(2, 3)", "()", "0", "(2, 0)", "-1", "(2, -1)", "2.5", "[2, 3]", "np.int64(2)",
         "(2, np.int32(3))", "'a'", "jnp.array(3)", "np.array([2, 3])", "None"]
DTYPES = ["jnp.float32", "'int8'", "bool", "int", "float", "complex", "jnp.bfloat16", "np.float64",
          "np.dtype('uint8')", "'i4'", "None", "'foo'", "jnp.int64", "'int4'", "object", "str"]

CALLS = [
    *each("jnp.{f}({x})", f="array asarray", x=VALUES),
    *each("jnp.{f}({x}, dtype={d})", f="array", x=["2", "[1, 2.5]", "f32_3", "np_i32_3", "c64_3"],
          d=DTYPES),
    *each("jnp.asarray({x}, {d})", x=["f32_3", "300", "-1", "2.7", "np.array(300)"],
          d="jnp.uint8 jnp.int8 bool jnp.float16"),
    *each("jnp.{f}({s})", f="zeros ones empty", s=SPECS),
    *each("jnp.{f}((2, 3), {d})", f="zeros ones empty", d=DTYPES),
    *each("jnp.{f}((2, 3))", modes="jit jaxpr", f="zeros ones"),
    *each("jnp.full((2, 3), {v})", modes="eager jaxpr", v=["2", "2.5", "True", "f32", "f32_3", "i8",
                                                           "np.float64(3)", "w_f32", "[1, 2, 3]"]),
    *each("jnp.full((2,), {v}, {d})", v="2 2.5 f32", d="jnp.int8 bool jnp.float16 complex"),
    *each("jnp.{f}({x})", f="zeros_like ones_like empty_like",
          x=["f32_2x3", "i8_3", "w_f32", "2", "2.5", "np_f32_3", "[1, 2]", "True", "b1_3"]),
    *each("jnp.{f}(f32_2x3)", modes="jit jaxpr vmap vjp", f="zeros_like ones_like"),
    *each("jnp.{f}(f32_2x3, {o})", f="zeros_like ones_like empty_like",
          o=["jnp.int8", "dtype=bool", "shape=(2,)", "shape=4, dtype='int8'"]),
    *each("jnp.full_like({x}, {v})", modes="eager jaxpr", x="f32_2x3 i32_3 w_f32",
          v="2 2.5 True f32 1j"),
    *each("jnp.arange({a})", modes="eager jaxpr",
          a=["3", "1, 5", "5, 1, -1", "0", "-2", "2.5", "0, 1, 0.25", "True", "1, 4, dtype=float",
             "3, dtype=jnp.int8", "1.5, 4", "0, 10, 3", "10, 0", "jnp.int8(3)", "np.int64(3)",
             "jnp.float32(3)", "f32", "'a'", "3.0", "1j", "0, 1, 0", "None", "jnp.array([3])",
             "300, dtype=jnp.uint8", "3, dtype=jnp.complex64", "0.5, 3.5, dtype=int",
             "start=1, stop=4, step=2", "stop=4", "2, dtype=bool", "3, dtype=bool"]),
    *each("jnp.linspace({a})", modes="eager jaxpr",
          a=["0, 1", "0, 1, 5", "0, 1, 5, endpoint=False", "0, 1, 1", "0, 1, 0", "0, 1, -1",
             "0, 1, 5, retstep=True", "0, 1, 1, retstep=True", "0, 10, 5, dtype=int",
             "f32_3, 2, 4", "f32_3, f32_3b, 3, axis=1", "0, 1j, 3", "0, 1, 3, dtype=jnp.bfloat16",
             "i32, 5, 3", "0, 1, 2.5", "1, 0, 3", "w_f32, 2, 3"]),
    *each("jnp.logspace({a})", a=["0, 2, 3", "0, 2, 3, endpoint=False", "0, 2, 3, base=2",
                                  "0, 2, 3, dtype=int", "f32_3, 2, 3, axis=-1"]),
    *each("jnp.geomspace({a})", a=["1, 100, 3", "1, 100, 3, endpoint=False", "-1, -8, 4",
                                   "1, 8, 4, dtype=int", "f32_pos3, 8, 3", "1, 1j, 3"]),
    *each("jnp.eye({a})", modes="eager jaxpr",
          a=["3", "2, 3", "3, k=1", "2, 4, -1", "3, dtype=int", "0", "3, k=5", "-1", "2.5",
             "3, dtype=bool", "np.int64(2)", "3, None, jnp.array(1)"]),
    *each("jnp.identity({a})", a=["3", "2, int", "0", "2.5"]),
    *each("jnp.tri({a})", modes="eager jaxpr", a=["3", "2, 3", "3, k=-1", "3, dtype=int", "0"]),
    *each("jnp.{f}({n})", f="bartlett blackman hamming hanning", n="0 1 5 6"),
    *each("jnp.kaiser({n})", n="1,3 5,14 6,0.5"),
    *each("jnp.indices({a})", a=["(2, 3)", "(2, 3), jnp.int8", "(2, 3), sparse=True", "()",
                                 "(0,)"]),
    *each("jnp.meshgrid({a})", modes="eager jaxpr",
          a=["f32_3, f32_2", "f32_3, f32_2, indexing='ij'", "f32_3, i32_2, sparse=True", "f32_3",
             "", "f32_3, f32_2x3", "f32_3, f32_2, copy=False", "f32_3, f32_2, indexing='a'",
             "f32, 2"]),
    *each("jnp.mgrid[{a}]", a=["0:3", "0:3, 0:2", "0:1:5j", "0:1:0.25", "0:1:3j, 0:2", "1:4:2"]),
    *each("jnp.ogrid[{a}]", a=["0:3", "0:3, 0:2", "0:1:5j", "0:1:3j, 0:2"]),
    *each("jnp.r_[{a}]", a=["1, 2, 3", "1:4", "0:1:5j", "f32_3, 2", "'0,2', f32_3, f32_3b",
                            "'-1', f32_2x3, f32_2x1", "1.5, 2", "'c', f32_3", "'r', 1:3"]),
    *each("jnp.c_[{a}]", a=["f32_3, f32_3b", "1:4, 4:7", "f32_2x3, f32_2x1", "1, 2"]),
    *each("jnp.{f}({a})", f="tril_indices triu_indices", a=["3", "3, 1", "2, -1, 4", "0"]),
    *each("jnp.{f}({a})", f="tril_indices_from triu_indices_from", a=["f32_2x3", "f32_2x3, 1",
                                                                      "f32_3"]),
    *each("jnp.diag_indices({a})", a=["3", "2, 3", "0", "-1", "2.5"]),
    *each("jnp.vander({a})", modes="eager jaxpr", a=["f32_3", "f32_3, 2", "f32_3, increasing=True",
                                                     "i32_3, 4", "f32_2x3", "f32_3, -1"]),
    *lines("""
    jnp.array(f32_3)  ## jit jaxpr vjp
    jnp.asarray(f32_3)  ## jit jaxpr
    jnp.array([f32_3, f32_3b])  ## jit jaxpr vmap vjp
    jnp.array([f32, 1.0])  ## jit jaxpr vjp
    jnp.array([[f32, i32], [1, 2.5]])  ## eager jit jaxpr
    jnp.array(2.5)  ## jit jaxpr
    jnp.array([1, 2])  ## jit jaxpr
    jnp.array(f32, jnp.int8)  ## jit jaxpr
    jnp.array(f32_3, ndmin=3)
    jnp.array(2, ndmin=1)
    jnp.array(f32_3, copy=False)
    jnp.array(f32_3, order='F')
    jnp.array(f32_3, order='Z')
    jnp.asarray(f32_3, copy=True)
    jnp.asarray([1, 2], copy=False)
    jnp.asarray(np_f32_3, copy=False)
    jnp.full(3, 2)
    jnp.full((2,), f32_3)
    jnp.full((2, 3), f32_3)  ## vjp vmap
    jnp.full((2, 3), f32)  ## vjp vmap jit
    jnp.full_like(f32_3, 2, dtype=jnp.int8, shape=(2,))
    jnp.full_like(f32_3, f32)  ## vjp vmap jit
    jnp.frombuffer(b'\\x01\\x02\\x03\\x04', dtype=jnp.uint8)
    jnp.frombuffer(b'\\x01\\x02\\x03\\x04', jnp.int16, count=1, offset=2)
    jnp.frombuffer(b'\\x01\\x02\\x03', jnp.int16)
    jnp.fromfunction(lambda i, j: i + j, (2, 3))
    jnp.fromfunction(lambda i: i * 2, (3,), dtype=int)
    jnp.fromfunction(jnp.equal, (2, 2), dtype=jnp.int32)
    jnp.fromfile('x')
    jnp.fromiter([1, 2])
    jnp.fromstring('1 2 3', sep=' ', dtype=int)
    jnp.fromstring('1.5,2', sep=',')
    jnp.from_dlpack(np_f32_3)
    jnp.from_dlpack(f32_3, copy=True)
    jnp.astype(f32_3, jnp.int8)  ## eager jit jaxpr
    jnp.astype(f32_edge, jnp.int8)
    jnp.astype(f32_edge, jnp.uint8)
    jnp.astype(f32_edge, jnp.int32)
    jnp.astype(f32_edge, bool)
    jnp.astype(f32_edge, jnp.complex64)
    jnp.astype(i32_edge, jnp.int8)
    jnp.astype(i32_edge, jnp.uint8)
    jnp.astype(i32_edge, jnp.float16)
    jnp.astype(i8_edge, jnp.uint32)
    jnp.astype(c64_3, jnp.float32)  ## eager jaxpr
    jnp.astype(c64_3, int)
    jnp.astype(c64_3, bool)
    jnp.astype(f32_3, None)
    jnp.astype(f32_3, float)
    jnp.astype(f32_3, np.float64)
    jnp.astype([1, 2], jnp.int8)
    jnp.astype(w_f32, jnp.float32)
    jnp.astype(f32_3, jnp.float32, copy=True)
    jnp.diag_indices_from(f32_2x2)
    jnp.diag_indices_from(f32_2x3)
    jnp.diag_indices_from(f32_3)
    jnp.mask_indices(3, jnp.triu)
    jnp.mask_indices(3, jnp.tril, -1)
    jnp.mask_indices(3, jnp.triu, size=4)
    jnp.ix_(i32_3, i32_2)
    jnp.ix_(b1_3, i32_2)
    jnp.ix_(i32_2x3)
    jnp.s_[1:2, ...]
    jnp.index_exp[1:2]
    jnp.array_repr(f32_2x3)
    jnp.array_repr(w_f32)
    jnp.array_str(f32_2x3)
    (jnp.e, jnp.pi, jnp.inf, jnp.euler_gamma, jnp.newaxis)
    (repr(f32_3), str(f32_3), repr(f32_2x3), repr(f32_0), repr(b1_3), repr(bf16_3), repr(c64_2))
    (repr(f32), str(f32), repr(w_f32), repr(i8), repr(jnp.zeros((2, 0))), repr(jnp.arange(2000)))
    (repr(jnp.ones((20, 3))), repr(f32_edge), repr(jnp.arange(30.)), f'{f32:.2f}', f'{f32_3}')
    (repr(jnp.float32), str(jnp.float32), repr(jnp.bfloat16), jnp.float32.__name__)
    (repr(jnp.dtype('float32')), jnp.float32(1.5), jnp.int8(3), jnp.bool_(True))
    jnp.float32 == np.float32
    jnp.float32(f32_3)
    jnp.int32(2.7)
    jnp.float32([1, 2])
    jnp.uint8(300)
    jnp.uint8(-1)
    jnp.bfloat16(i32_3)  ## eager jaxpr
    jnp.float64(2)
    jnp.complex64(1)
    jnp.bool_(2)
    jnp.float32('a')
    jnp.int4(3)
    jnp.float8_e4m3fn(1.3)
    jnp.float8_e5m2(f32_3)
    """),
]
