"""Digests of programs, constants and files of the cache."""

from __future__ import annotations

import struct

try:  # hashlib's function, without loading OpenSSL, which takes longer than reading a file
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["SIZE", "digest"]

SIZE = 32
_LENGTH = struct.Struct("<Q")


def digest(*parts: bytes) -> bytes:
    """The bytes that identify ``parts``.

    >>> digest(b"ret", b" void") == digest(b"ret void")
    False
    """
    found = blake2b(digest_size=SIZE)
    for part in parts:
        found.update(_LENGTH.pack(len(part)))
        found.update(part)
    return found.digest()
