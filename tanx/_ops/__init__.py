"""First-order primitives: one class each, with its six rules; and the functions of ``tanx.lax``."""
