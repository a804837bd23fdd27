"""tanx.experimental.xla_metadata: functions and values with metadata."""

from .._base.traceback import shown
from .._base.window import publish
from .._control.regions import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)

publish(__name__, shown)
