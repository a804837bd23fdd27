"""Algorithms with code of their own: Fourier transforms, sorting, tiles, small matrices."""
