"""Public interface of exported functions; their stored forms are in ``_export``."""
