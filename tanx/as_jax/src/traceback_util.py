"""``jax._src.traceback_util``: which frames users see. equinox, flax and jaxtyping use it."""

from ..._base.traceback import boundary
from ..._core.source import is_ours
from ...extend.source_info_util import register_exclusion

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


_exclude_paths: list[str] = []
"""Paths that flax adds and removes to hide or show its frames. tanx hides its own frames only, so
that those of flax are shown in any case."""


def api_boundary(fun, **options):
    """Trim what a function raises of frames that are not the user's."""
    return boundary(fun)


def include_frame(frame) -> bool:
    """Whether a frame is one of the user's."""
    return not is_ours(frame.f_code.co_filename)
