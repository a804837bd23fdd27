"""Higher-order primitives, which take functions as parameters."""
