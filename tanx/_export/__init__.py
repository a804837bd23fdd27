"""Programs as files and as text: what :mod:`tanx.export` and :mod:`tanx.stages` write."""
