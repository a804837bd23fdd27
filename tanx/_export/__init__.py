"""Programs as files and as text, for :mod:`tanx.export` and :mod:`tanx.stages`."""
