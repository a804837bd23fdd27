"""Higher-order primitives: those whose parameters are functions."""
