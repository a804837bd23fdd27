"""Fourier transforms as LLVM code."""
