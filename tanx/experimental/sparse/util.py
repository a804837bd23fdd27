"""tanx.experimental.sparse.util: errors and warnings about sparse storage."""

__all__ = ["CuSparseEfficiencyWarning", "SparseEfficiencyError", "SparseEfficiencyWarning"]


class SparseEfficiencyError(ValueError):
    """An operation would store more elements than it should."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores more elements than it should."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """A product takes a slower way on a GPU."""
