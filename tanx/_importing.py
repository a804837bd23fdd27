"""While tanx is imported, the garbage collector rests: what is loaded then is there to stay.

To look in vain for what may go would take a tenth of the time of the import.
"""

import gc

__all__ = ["finished"]

_was_enabled = gc.isenabled()
gc.disable()


def finished() -> None:
    """Let the collector go on as it did before."""
    if _was_enabled:
        gc.enable()
