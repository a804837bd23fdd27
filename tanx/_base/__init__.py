"""What everything stands on: options, locks, tree definitions, tracebacks, symbolic sizes."""
