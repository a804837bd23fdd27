"""tanx.extend: for those who build on jaxprs and primitives."""

from .._window import publish
from . import core, random

publish(__name__)
