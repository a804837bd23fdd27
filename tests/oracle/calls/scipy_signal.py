"""Convolutions, spectra, cosine transforms, integrals of samples, and vector quantization."""

from tests.oracle.calls.call import each, lines

PAIRS = ["f32_8, f32_3", "f32_3, f32_8", "i32_4, i32_3", "c64_4, f32_3", "f32_3x4, f32_2x2",
         "bf16_4, bf16_3", "f32, f32b"]
CUT = "nperseg=8"

CALLS = [
    *each("jax.scipy.signal.{f}({x}, '{m}')", f="convolve correlate fftconvolve", x=PAIRS,
          m="full same valid"),
    *each("jax.scipy.signal.{f}({x}, '{m}')", f="convolve2d correlate2d", m="full same valid",
          x=["f32_3x4, f32_2x2", "f32_2x2, f32_3x4", "c64_3x4, c64_2x2", "f32_2x4, f32_3x2"]),
    *each("jax.scipy.signal.{f}(f32_8, f32_3, method='{m}')", f="convolve correlate",
          m="fft direct auto x"),
    *each("jax.scipy.signal.{f}(f32_8, f32_3)", modes="jit vmap vmap_last jvp vjp",
          f="convolve correlate fftconvolve"),
    *each("jax.scipy.signal.{f}(f32_3x4, f32_2x2)", modes="jit vmap vjp",
          f="convolve2d correlate2d"),
    *each("jax.scipy.signal.fftconvolve({x}, axes={a})",
          a=["0", "1", "[1]", "(0, 1)", "(0, 0)", "5"],
          x=["f32_3x4, f32_3x2", "f32_3x4, f32_2x2"]),
    *each("jax.scipy.signal.stft(f32_40, {o})", o=[
        CUT, CUT + ", noverlap=2", CUT + ", nfft=16", CUT + ", nfft=9", CUT + ", window='hamming'",
        CUT + ", boundary='even'", CUT + ", boundary='odd'", CUT + ", boundary=None",
        CUT + ", boundary='constant', padded=False", CUT + ", detrend='linear'", CUT + ", fs=4.0",
        CUT + ", return_onesided=False", "window=f32_pos8, nperseg=8", "window=f32_pos8",
        "nperseg=50", "nperseg=0", CUT + ", noverlap=8", CUT + ", nfft=4", CUT + ", boundary='x'",
        CUT + ", detrend='x'", CUT + ", axis=1", CUT + ", window='x'", CUT + ", detrend=True"]),
    *each("jax.scipy.signal.{f}({o})", f="welch csd", o=["f32_0, f32_0"]),
    *each("jax.scipy.signal.welch(f32_40, {o})", o=[
        "1.0", CUT, CUT + ", average='median'", CUT + ", scaling='spectrum'", CUT + ", scaling='x'",
        CUT + ", detrend=False", CUT + ", window='boxcar', noverlap=0", CUT + ", average='x'",
        "window=f32_pos8", "nperseg=50", CUT + ", return_onesided=False"]),
    *each("jax.scipy.signal.csd({x}, nperseg=8)", x=[
        "f32_40, f32_40b", "f32_40, f32_20", "f32_40, None", "f32_40, c64_40",
        "f32_2x20, f32_2x20b", "f32_2x20, f32_20", "f32_2x20, f32_3x20", "f32_40, f32_40"]),
    *each("jax.scipy.signal.istft(c64_5x6{o})", o=[
        "", ", nperseg=8", ", nperseg=9", ", noverlap=6", ", noverlap=5", ", nfft=9", ", nfft=6",
        ", window='hamming'", ", boundary=False", ", input_onesided=False", ", fs=2.0",
        ", window=f32_pos8", ", window=f32_pos3", ", noverlap=8", ", noverlap=0",
        ", time_axis=0, freq_axis=1", ", time_axis=0, freq_axis=0"]),
    *each("jax.scipy.signal.istft({x})[1]", x="f32_5x6 c64_2x5x6 c64_5"),
    *each("jax.scipy.signal.istft(c64_2x5x6)", modes="eager"),
    *each("jax.scipy.signal.detrend({x})", x=[
        "f32_8", "f32_8, type='constant'", "f32_8, bp=3", "f32_8, bp=[2, 5]", "f32_3x4, 0", "i32_4",
        "c64_4", "f32_8, type='x'", "f32_8, bp=9", "f32_8, bp=-1", "f32_8, overwrite_data=True",
        "bf16_4", "f32_1", "f32_8, axis=1"]),
    *each("jax.scipy.signal.{f}", modes="jit vmap vjp", f=[
        "stft(f32_40, nperseg=8)[2]", "welch(f32_40, nperseg=8)[1]", "istft(c64_5x6)[1]",
        "csd(f32_40, f32_40b, nperseg=8)[1]", "detrend(f32_8)"]),
    *each("jax.scipy.fft.{f}({x}{o})", f="dct idct", x="f32_8 f32_3x5 i32_4 c64_4 bf16_4 f32_0",
          o=["", ", norm='ortho'", ", n=3", ", n=11"]),
    *each("jax.scipy.fft.{f}(f32_2x3x4{o})", f="dctn idctn", o=[
        "", ", norm='ortho'", ", s=(2, 5)", ", axes=(0, 2)", ", axes=1", ", s=(2,), axes=(0,)",
        ", axes=(0, 0)", ", axes=(5,)", ", s=(2, 2), axes=(0,)"]),
    *each("jax.scipy.fft.{f}(f32_3x5)", modes="jit vmap vmap_last jvp vjp",
          f="dct idct dctn idctn"),
    *each("jax.scipy.fft.dct(f32_8, {o})", o=[
        "1", "3", "4", "5", "norm='forward'", "norm='x'", "n=0", "axis=1", "norm='backward'"]),
    *each("jax.scipy.integrate.trapezoid({y})", y=[
        "f32_5", "i32_5", "f32_5, f32_5b", "f32_5, dx=0.5", "f32_2x3, axis=0", "f32_2x3, f32_3",
        "f32_1", "c64_4", "b1_4", "f32_5, f32_3", "f32", "bf16_4", "f32_5, axis=1"]),
    *each("jax.scipy.integrate.trapezoid(f32_5, f32_5b)", modes="jit vmap vjp"),
    *each("jax.scipy.cluster.vq.vq({x})", x=[
        "f32_5x3, f32_2x3", "f32_5, f32_3", "i32_5x3, i32_2x3", "bf16_5x3, bf16_2x3",
        "f32_0x3, f32_2x3", "f32_5x3, f32_0x3", "f32_5x3, f32_2x2", "f32_3, f32_2x3", "f32, f32b",
        "f32_2x3x4, f32_2x3x4", "c64_4x2, f32_3x2", "f32_nan5x3, f32_2x3",
        "f32_5x3, f32_2x3, False"]),
    *each("jax.scipy.cluster.vq.vq(f32_5x3, f32_2x3)[1]", modes="jit vmap vjp"),
    *lines("""
    jax.scipy.signal.convolve(f32_8, f32_2x2)
    jax.scipy.signal.convolve(f32_0, f32_3)
    jax.scipy.signal.convolve(f32_8, f32_3, 'x')
    jax.scipy.signal.convolve([1.0], f32_3)
    jax.scipy.signal.fftconvolve(f32_0, f32_3)
    jax.scipy.signal.fftconvolve([1.0], f32_3)
    jax.scipy.signal.convolve2d(f32_8, f32_3)
    jax.scipy.signal.convolve2d(f32_3x4, f32_2x2, boundary='wrap')
    jax.scipy.signal.correlate2d(f32_3x4, f32_2x2, fillvalue=1)
    """),
]
