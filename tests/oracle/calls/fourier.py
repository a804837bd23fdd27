"""Fourier transforms."""

from tests.oracle.calls.call import ALL, each, lines

CALLS = [
    *each("jnp.fft.{f}(c64_3x8)", modes="eager " + ALL,
          f="fft ifft irfft hfft fft2 ifft2 irfft2 fftn ifftn irfftn"),
    *each("jnp.fft.{f}(f32_3x8)", modes="eager " + ALL, f="fft rfft ihfft rfft2 rfftn"),
    *each("jnp.fft.{f}({x}, 5)", modes="eager jit jaxpr vjp", f="fft ifft irfft hfft", x="c64_3x8"),
    *each("jnp.fft.{f}({x}, 11)", modes="eager jit vjp", f="fft ifft irfft hfft", x="c64_3x8"),
    *each("jnp.fft.{f}(f32_3x8, {n}, axis=0)", modes="eager jaxpr", f="rfft ihfft fft", n="2 5"),
    *each("jnp.fft.{f}(c64_3x8, norm={n})", f="fft ifft irfft hfft fft2 ifftn",
          n="None 'backward' 'ortho' 'forward' 'x'"),
    *each("jnp.fft.{f}(f32_3x8, norm={n})", f="rfft ihfft rfft2", n="'ortho' 'forward'"),
    *each("jnp.fft.{f}({x})", f="fft ifft rfft irfft hfft ihfft fft2 rfft2 fftn irfftn",
          x="f32 f32_4 i32_4 b1_4 u8_4 bf16_4 f16_4 c64_4 f32_0 c64_2x0 f32_0x2 2.5 w_f32 [1,2]"),
    *each("jnp.fft.{f}(c64_2x3x4, axes={a})", modes="eager jaxpr", f="fftn ifftn irfftn",
          a=["(0,)", "(1,0)", "(0,1,2)", "(2,0)", "(-1,-3)", "(0,0)", "(5,)", "None"]),
    *each("jnp.fft.{f}(c64_2x3x4, s={s})", f="fftn ifftn irfftn fft2 irfft2",
          s=["(2,)", "(2,5)", "(3,3,3)", "(1,1,1,1)", "(0,2)", "(2,-1)"]),
    *each("jnp.fft.{f}({n})", modes="eager", f="fftfreq rfftfreq",
          n=["1", "4", "7", "8, 0.5", "7, d=2", "5, dtype=jnp.float16", "[1]", "3, d=[1.0]", "0"]),
    *each("jnp.fft.{f}({x})", modes="eager jaxpr", f="fftshift ifftshift",
          x=["f32_5", "f32_2x3", "f32_2x3, axes=1", "c64_3x8, axes=(0, 1)", "i32_4"]),
    *lines("""
    lax.fft(c64_3x8, 'FFT', (8,))  ## eager jit vmap vmap_last jvp vjp
    lax.fft(c64_3x8, jax.lax.FftType.IFFT, (3, 8))  ## eager jit vmap vmap_last jvp vjp
    lax.fft(f32_3x8, 'RFFT', (8,))  ## eager jit vmap vmap_last jvp vjp
    lax.fft(f32_3x8, 'rfft', (3, 8))  ## eager vjp
    lax.fft(c64_3x5, 'IRFFT', (8,))  ## eager jit vmap jvp vjp
    lax.fft(c64_3x5, 'IRFFT', (9,))  ## eager jit vmap jvp vjp
    lax.fft(c64_3x5, 'IRFFT', (3, 9))  ## eager vjp
    lax.fft(c64_3x8, 'FFT', (7,))
    lax.fft(c64_3x8, 'RFFT', (8,))
    lax.fft(c64_3x8, 'IRFFT', (8,))
    lax.fft(c64_3x8, 'FFT', ())
    lax.fft(c64_3x8, 'FFT', (2, 3, 8))
    lax.fft(c64_3x8, 'DFT', (8,))
    lax.fft(c64_3x8, 0, (8,))
    lax.fft(bf16_4, 'RFFT', (4,))
    lax.fft(i32_4, 'RFFT', (4,))
    lax.fft(f32_4, 'FFT', (4,))
    jnp.fft.fft(c64_3x8, axis=(0, 1))
    jnp.fft.fft(c64_3x8, axis=3)
    jnp.fft.fft2(c64_3x8, axes=(0,))
    jnp.fft.fftn(c64_3x8, s=(2, 2), axes=(0,))
    jnp.fft.fftn(c64_3x8, axes=())
    jnp.fft.rfft(c64_3x8)
    jnp.fft.fftn(jnp.ones((2, 2, 2, 2)))
    jnp.fft.fft2(f32_2x3x4, axes=(0, 2))  ## eager jit vmap vjp
    """),
]
