"""Rows for Fourier transforms."""

from tanx import lax

from .case import Case, c, f


def transform(kind, *lengths):
    return lambda x: lax.fft(x, kind, lengths)


CASES = [
    *(Case("fft", transform(kind, *arg.shape[-axes:]), arg, name=f"{kind}{axes}")
      for kind in ("FFT", "IFFT")
      for axes, arg in ((1, c(8)), (1, c(3, 5)), (1, c(17)), (2, c(2, 3, 4)), (3, c(2, 3, 4)),
                        (1, c(1)), (1, c(0, 4)), (1, c(2, 0)), (1, c(24)))),
    *(Case("fft", transform("RFFT", *arg.shape[-axes:]), arg, name=f"RFFT{axes}")
      for axes, arg in ((1, f(8)), (1, f(3, 5)), (1, f(20)), (1, f(21)), (2, f(2, 3, 4)),
                        (1, f(1)), (1, f(0, 4)), (1, f(2, 18)))),
    *(Case("fft", transform("IRFFT", *lengths), arg, name=f"IRFFT{lengths}")
      for lengths, arg in (((8,), c(5)), ((5,), c(3, 3)), ((20,), c(11)), ((21,), c(11)),
                           ((3, 4), c(2, 3, 3)), ((2,), c(2)), ((1,), c(1)), ((4,), c(0, 3)),
                           ((18,), c(2, 10)))),
]
