"""tanx.experimental.sparse.util: errors and warnings about sparse storage."""

__all__ = ["CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """An operation would store zeros."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores zeros."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A product uses a slower algorithm on a GPU."""
