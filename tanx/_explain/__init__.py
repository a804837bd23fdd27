"""Explanations of compiled functions: facts, gathered and measured, as text and as a page."""
