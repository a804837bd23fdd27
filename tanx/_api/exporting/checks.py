"""Checks of exported programs that can be turned off."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DisabledSafetyCheck"]

_PLATFORM, _CUSTOM_CALL = "platform", "custom_call:"


@dataclass(frozen=True, repr=False)
class DisabledSafetyCheck:
    """A check that an exported program should skip.

    >>> DisabledSafetyCheck.platform(), DisabledSafetyCheck.custom_call("lapack_sgeev")
    (platform, custom_call:lapack_sgeev)
    """

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """The program may be called on platforms that it was not exported for."""
        return cls(_PLATFORM)

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """The program may call a foreign function that may change; programs of tanx have none."""
        return cls(_CUSTOM_CALL + target_name)

    def is_platform(self) -> bool:
        """Whether it is the check of the platform."""
        return self._impl == _PLATFORM

    def is_custom_call(self) -> str | None:
        """The name of the foreign function, or None for other checks."""
        found = self._impl.startswith(_CUSTOM_CALL)
        return self._impl.removeprefix(_CUSTOM_CALL) if found else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__
