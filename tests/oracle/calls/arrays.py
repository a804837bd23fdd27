"""Operators, methods and properties of arrays."""

from tests.oracle.calls.call import ALL, each, lines

OPERATORS = "+ - * / // % ** == != < <= > >= & | ^ << >>".split()
METHODS = """all() any() argmax() argmin() argsort() sort() max() mean() min() prod() ptp() sum()
std() var() cumsum() cumprod() ravel() flatten() transpose() squeeze() conj() conjugate() round()
copy() nonzero() diagonal() trace() clip(0,1) astype(int) astype('float16') reshape(-1)
reshape(3,2) reshape((3,2)) swapaxes(0,1) take(0) repeat(2) searchsorted(1.0) dot(f32_3) item()
tolist() transpose(1,0) transpose((1,0)) transpose(None) clip(max=0) round(1) sum(0)
sum(axis=1,keepdims=True) sort(descending=True) max(initial=0.0) mean(0) argsort(axis=0)
sort(axis=0) compress(b1_3,axis=1) choose([f32,f32]) argpartition(1) view() view('int32')
view(jnp.uint8) tobytes() item(0) item(0,1) byteswap() clone() astype(None)
std(ddof=1) var(axis=0,correction=1) sum(where=True) flatten('F')
ravel(order='F') reshape(2,-1,order='F') reshape() reshape(5) is_deleted() is_ready()
block_until_ready() __len__() __array__() on_device_size_in_bytes() diagonal(1) trace(1) min(1)
any(axis=0) all(axis=(0,1)) cumsum(1) prod(axis=0) take(i32_idx2,axis=1) take(9) swapaxes(0,7)
sum(axis=3) astype('foo') clip() ptp(axis=0) foo() copy_to_host_async()""".split()
PROPERTIES = "T mT real imag shape dtype ndim size nbytes itemsize weak_type flat at.array aval foo"

CALLS = [
    *each("{x} {o} {y}", o=OPERATORS, x="i32_3 f32_3 u8_3 b1_3 bf16_3 c64_3",
          y="i32_3b f32_3b b1_3b i8_3b"),
    *each("{x} {o} {y}", o=OPERATORS, x="i32_3 f32_3 u8_3 b1_3 bf16_3 c64_3 i8_3 w_f32 w_i32",
          y=["2", "2.5", "True", "1j", "-3", "300", "np.float32(2)", "np.int64(2)",
             "np.float64(0.5)", "w_i32", "w_f32"]),
    *each("{y} {o} {x}", o=OPERATORS, x="i32_3 f32_3 u8_3 b1_3 bf16_3",
          y=["2", "2.5", "True", "1j", "np.float32(2)", "np_f32_3", "np_i32_3", "np.float64(0.5)"]),
    *each("f32_3 {o} {y}", o=OPERATORS, y=["[1, 2, 3]", "None", "'a'", "(1, 2, 3)", "f32_2",
                                           "object()", "{}", "np.array('a')"]),
    *each("{y} {o} f32_3", o=["+", "==", "*", "**", "<"], y=["[1, 2, 3]", "None", "'a'"]),
    *each("f32_pos3 {o} f32_pos2x3", modes=ALL, o="+ - * / // % ** < ==".split()),
    *each("f32_3 {o} {y}", modes="jit jaxpr", o="+ - * / // % ** == <".split(), y="2 2.5 i32_3"),
    *each("{y} {o} f32_3", modes="jaxpr vjp", o="+ - * / ** <".split(), y="2 2.5"),
    *each("i32_3 {o} 2", modes="jit jaxpr", o=OPERATORS),
    *each("w_f32 {o} f32_3", modes="jit jaxpr", o="+ * /".split()),
    *each("{o}{x}", modes="eager jit jaxpr", o="- + ~".split(), x="f32_3 i32_3 b1_3 u8_3 w_i32"),
    *each("f32_2x3.{m}", m=METHODS),
    *each("f32_2x3.{m}", modes="jit", m=METHODS),
    *each("i8_3.{m}", m="sum() mean() prod() max() cumsum() sort() argmax() std() round() conj() "
                        "view('uint8') astype(bool) item() tolist() dot(i8_3)".split()),
    *each("f32_2x3.{p}", p=PROPERTIES),
    *each("f32_2x3.{p}", modes="jit", p="T mT real imag aval.str_short()"),
    *each("c64_3.{p}", modes="eager jaxpr vjp", p="real imag T"),
    *each("{f}({x})", f="bool int float complex len hash list abs round divmod operator.index "
          "iter np.asarray np.array repr".replace("divmod operator.index iter ", ""),
          x=["f32", "i32", "b1", "f32_3", "f32_1", "f32_1x1", "i32_1", "c64", "f32_0"]),
    *each("{f}({x})", modes="jit", f="bool int float complex len hash np.asarray",
          x="f32 f32_3 i32"),
    *lines("""
    divmod(f32_3, 2)  ## eager jit
    u32_3 * 2654435761
    divmod(2, f32_3)
    divmod(i32_3, i32_3b)
    pow(f32_3, 2)
    round(f32_3, 1)
    [0, 1, 2][i32_idx]
    [0, 1, 2][f32]
    [0, 1, 2][i32_idx]  ## jit
    range(i32_idx)
    'a' * i32_idx
    2.0 in f32_3
    9.0 in f32_3
    'a' in f32_3
    sum(f32_3)
    max(f32_3)
    sorted(f32_3)
    f32_3.__setitem__(0, 1)
    f32_3 is f32_3
    isinstance(f32_3, jax.Array)  ## eager jit
    isinstance(np_f32_3, jax.Array)
    isinstance(2.0, jax.Array)
    np.add(f32_3, 1)
    np.sin(f32_3)
    np.sum(f32_2x3, axis=0)
    np.array([f32, f32])
    np.float32(2) * f32_3
    np.float64(2) * f32_3
    np_f32_2x3 * f32_3
    np_f32_3 + f32_2x3
    f32_3 == None
    f32_3 != None
    None == f32_3
    f32_3 == 'a'
    f32_3.dtype == jnp.float32
    f32_3.dtype == 'float32'
    f32_3.__array_priority__
    f32_3.at[0].set(1) is f32_3
    {f32: 1}
    f32_3.tolist()
    i8_2x3.tolist()
    bf16_3.tolist()
    f32.item()
    bf16.item()
    b1.item()
    f32_3.item()
    f32_3.view(jnp.int8)
    i8_4.view(jnp.int32)
    i8_3.view(jnp.int32)
    f32_3.view(jnp.float16)
    c64_3.view(jnp.float32)
    b1_3.view(jnp.int8)
    f32.view(jnp.int32)
    f32_3.__array_namespace__().__name__.split('.')[-1]
    f32_3.to_device(jax.devices()[0])
    f32_3.device.platform
    list(f32_3.devices())[0].platform
    f32_3.addressable_data(0)
    len(f32_3.addressable_shards)
    f32_3.is_fully_addressable
    f32_3.is_fully_replicated
    f32_3.committed
    f32_3.platform()
    f32_3.sharding.is_fully_replicated
    bool(jnp.zeros(0))
    not f32_3
    f32_3 and f32_3
    f32 if f32 > 0 else -f32  ## eager jit
    [int(v) for v in i32_3]
    '%d' % i32
    '{:.3f}'.format(f32)
    '{:>5}'.format(i32)
    '{:.3f}'.format(f32_3)
    '{}'.format(w_f32)
    f32_3.mean(axis=0, dtype=jnp.bfloat16)
    f32_2x3.sum(axis=(0, 1), initial=3)
    f32_2x3.T @ f32_2
    (f32_2x3 > 0).sum()  ## eager jit jaxpr
    (f32_2x3 > 0).mean()  ## eager jaxpr
    f32_3[::-1] - f32_3  ## jaxpr vjp
    abs(i8_edge)
    -u8_3
    ~f32_3
    -b1_3
    +b1_3
    jnp.asarray(f32_3).astype(jnp.int32).astype(bool)  ## eager jaxpr
    """),
]
