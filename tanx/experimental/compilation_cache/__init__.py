"""tanx.experimental.compilation_cache: the folder of code kept between processes."""

from ..._base.window import load_late

load_late(__name__)
