"""Algorithms on small matrices, many at a time: written once, for NumPy and for compiled code."""
