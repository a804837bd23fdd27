"""Exported functions as users call them; the forms that they are stored in are in ``_export``."""
