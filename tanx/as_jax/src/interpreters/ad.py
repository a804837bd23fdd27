"""``jax._src.interpreters.ad``: tests of diffrax expect its error for what custom rules close over.

JAX has a class for derivatives with respect to such values; here they are traced values that have
escaped, as for any other function.
"""

from ....errors import UnexpectedTracerError as CustomVJPException

__all__ = ["CustomVJPException"]
