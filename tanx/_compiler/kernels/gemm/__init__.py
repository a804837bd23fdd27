"""Kernels of matrix products: tiles of sums in registers."""
