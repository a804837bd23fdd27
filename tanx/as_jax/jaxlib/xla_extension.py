"""``jaxlib.xla_extension``: libraries read its error class."""

from ...errors import JaxRuntimeError as XlaRuntimeError

__all__ = ["XlaRuntimeError"]
