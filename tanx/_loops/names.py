"""Names of library calls that primitives, the compiler and the runtime share."""

__all__ = ["CALLBACK", "FOREIGN", "FOURIER", "LAPACK", "LEAST_OF_LINES", "MATRICES", "SCRATCH",
           "SORT_LINES"]

CALLBACK = "callback"
"""The function that calls Python."""
FOREIGN = "foreign"
"""The function that calls a C function of the user's."""
FOURIER = "fourier"
"""The function that does Fourier transforms."""
LAPACK = "lapack"
"""The function that runs a routine of BLAS or LAPACK on each matrix of a batch."""
LEAST_OF_LINES = "least_of_lines"
"""The function that finds the first elements of sorted lines."""
MATRICES = "matrices"
"""The function that runs an algorithm of ours on each of many small matrices."""
SCRATCH = "scratch"
"""The function that leaves memory uninitialised."""
SORT_LINES = "sort_lines"
"""The function that sorts lines of integers."""
