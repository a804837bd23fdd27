"""The base of everything: options, locks, tree definitions, tracebacks, symbolic sizes."""
