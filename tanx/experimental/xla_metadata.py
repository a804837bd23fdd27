"""tanx.experimental.xla_metadata: functions and values with metadata."""

from .._control.regions import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
    xla_metadata_call2,
)
from .._traceback import shown
from .._window import publish

publish(__name__, shown)
