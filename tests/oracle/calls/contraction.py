"""Products: dot, matmul, einsum, tensordot."""

from tests.oracle.calls.call import ALL, each, lines

CALLS = [
    *each("jnp.{f}({x}, {y})", f="dot matmul inner outer vdot vecdot",
          x="f32_3 f32_2x3 f32 i32_3 c64_3 b1_3 bf16_2x3 2 np_f32_3 w_f32",
          y="f32_3 f32_3x2 i8_3 f16_3 f32_2x3 c64_3b 2.5 f32_0"),
    *each("jnp.{f}(f32_2x3, f32_3)", modes=ALL, f="dot matmul inner outer vecdot matvec"),
    *each("jnp.{f}(f32_2x3, f32_3x2)", modes=ALL, f="dot matmul tensordot(axes=1)".split()[:2]),
    *each("jnp.{f}(c64_2x3, c64_3)", modes="jvp vjp", f="dot matmul vecdot"),
    *each("jnp.{f}(i8_2x3, i8_3)", modes="jaxpr", f="dot matmul inner outer"),
    *each("jnp.{f}(bf16_2x3, f32_3)", modes="jaxpr", f="dot matmul inner outer"),
    *each("jnp.matmul({x}, {y})", x="f32_2x2x3 f32_1x2x3 f32_4x1x2x3", y="f32_3 f32_3x2 f32_2x3x2 "
                                                                         "f32_2x3"),
    *each("jnp.matmul({x}, {y})", modes="jaxpr vmap vjp", x="f32_2x2x3 f32_1x2x3",
          y="f32_3 f32_3x2 f32_2x3x2"),
    *each("jnp.dot({x}, {y})", modes="eager jaxpr", x="f32_2x2x3 f32_3", y="f32_2x3x2 f32_3"),
    *each("jnp.einsum('{s}', {a})", modes="eager jaxpr", s=["ij->ji", "ij->", "ij->i", "ij"],
          a=["f32_2x3"]),
    *each("jnp.einsum('{s}', f32_2x3, f32_3x2)", modes="eager jaxpr vmap vjp",
          s=["ij,jk->ik", "ij,jk", "ij,jk->", "ij,kl->ijkl", "ij,jk->ki"]),
    *each("jnp.einsum('{s}', f32_2x3, f32_2x3b)", modes="eager jaxpr vjp",
          s=["ij,ij->ij", "ij,ij->i", "ij,ij->", "ij,kj->ik", "...i,...i->...", "ij,ij->ji"]),
    *lines("""
    jnp.einsum('ii->i', f32_3x3)  ## eager jit jaxpr vjp
    jnp.einsum('ii', f32_3x3)  ## eager jaxpr vjp
    jnp.einsum('bij,bjk->bik', f32_2x2x3, f32_2x3x2)  ## eager jit jaxpr vmap vjp
    jnp.einsum('ij,jk,kl->il', f32_2x3, f32_3x2, f32_2x2)  ## eager jit jaxpr vjp
    jnp.einsum('i,i,i->', f32_3, f32_3b, f32_3)
    jnp.einsum(f32_2x3, [0, 1], f32_3, [1], [0])
    jnp.einsum('ij,j', f32_2x3, i32_3)
    jnp.einsum('ij,j', i8_2x3, i8_3)  ## eager jaxpr
    jnp.einsum('ij,j', bf16_2x3, bf16_3)  ## eager jaxpr
    jnp.einsum('ij,j', f32_2x3, f32_2)
    jnp.einsum('ij,j->k', f32_2x3, f32_3)
    jnp.einsum('ijk', f32_2x3)
    jnp.einsum('ij,', f32_2x3, 2.0)
    jnp.einsum('...ij,...jk->...ik', f32_2x2x3, f32_3x2)
    jnp.einsum('ij,j->i', c64_2x3, f32_3)
    jnp.einsum('ij,jk->ik', f32_2x3, f32_3x2, optimize=False)
    jnp.einsum('ij,jk->ik', f32_2x3, f32_3x2, precision='highest')
    jnp.einsum('ij,jk->ik', bf16_2x3, bf16_3x2, preferred_element_type=jnp.float32)  ## eager jaxpr
    jnp.einsum('i->', f32_0)
    jnp.einsum('ij,jk->ik', [[1, 2]], f32_2x2)
    jnp.einsum('ij,jk->ik', f32_2x3)
    jnp.einsum('', f32)
    jnp.einsum('i, i ->', f32_3, f32_3)
    jnp.einsum_path('ij,jk,kl->il', f32_2x3, f32_3x2, f32_2x2)
    jnp.tensordot(f32_2x3, f32_3x2, axes=1)  ## eager jit jaxpr vmap vjp
    jnp.tensordot(f32_2x3, f32_2x3, axes=([0, 1], [0, 1]))  ## eager jaxpr
    jnp.tensordot(f32_2x3, f32_2x3)
    jnp.tensordot(f32_2x3, f32_3, axes=0)  ## eager jaxpr
    jnp.tensordot(f32_2x3, f32_3x2, axes=(1, 0))
    jnp.tensordot(f32_2x3, f32_3x2, axes=3)
    jnp.tensordot(f32_2x3, f32_3x2, axes=([0], [0]))
    jnp.tensordot(i32_2x3, f32_3, 1)
    jnp.tensordot(f32_2x3, f32_3x2, axes=([1], [0, 1]))
    jnp.matvec(f32_2x3, f32_3)
    jnp.matvec(f32_2x2x3, f32_2x3)
    jnp.vecmat(f32_2, f32_2x3)  ## eager jit jaxpr vjp
    jnp.vecmat(c64_2, c64_2x3)
    jnp.vecdot(f32_2x3, f32_2x3, axis=0)
    jnp.vecdot(c64_3, c64_3b)
    jnp.vecdot(f32_2x3, f32_2)
    jnp.vdot(c64_2x3, c64_2x3b)  ## eager jit jaxpr vjp
    jnp.outer(f32_2x3, f32_2)  ## jit jaxpr
    jnp.outer(f32_3, f32_3, out=f32)
    jnp.matmul(f32, f32)
    jnp.matmul(f32_2x3, f32_2x3)
    jnp.matmul(f32_3, 2)
    jnp.matmul([[1.0]], f32_1)
    jnp.dot(f32_2x3, [1, 2, 3])
    jnp.dot(bf16_2x3, bf16_3, preferred_element_type=jnp.float32)  ## eager jaxpr
    jnp.dot(f32_2x3, f32_3, precision='high')  ## eager jaxpr
    jnp.dot(f32_2x3, f32_3, precision=lax.Precision.HIGHEST)  ## eager jaxpr
    jnp.dot(f32_2x3, f32_3, precision='foo')
    jnp.matmul(i8_2x3, i8_3, preferred_element_type=jnp.int32)
    f32_2x3 @ f32_3  ## eager jit jaxpr vmap
    f32_3 @ f32_3  ## eager jaxpr vjp
    np_f32_2x3 @ f32_3
    f32_2x3 @ np_f32_3
    f32_2x3 @ 2
    f32_2x3 @ [1, 2, 3]
    """),
]
