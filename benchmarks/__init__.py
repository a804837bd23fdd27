"""The duel: the same code timed on tanx and on its rivals, in one run. See README.md."""
