"""While tanx is imported, the garbage collector rests: what is loaded then is there to stay.

To look in vain for what may go would take a tenth of the time of the import.
"""

import gc

__all__ = ["finished"]

_was_enabled = gc.isenabled()
gc.disable()


def finished() -> None:
    """Let the collector go on as it did before, with all there is now counted as old.

    Otherwise the next collections of young objects would go through all of it, several times.
    """
    if not gc.get_freeze_count():  # else there is something that a user wants left alone
        gc.freeze()
        gc.unfreeze()  # to the oldest generation, wherever it was before
    if _was_enabled:
        gc.enable()
