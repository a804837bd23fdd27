"""tanx.lib: empty, as in JAX: what was there is in tanx.extend and tanx.ffi now."""
