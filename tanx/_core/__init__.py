"""The core: types, primitives, traces, jaxprs and arrays.

Knows no primitive and no transformation.
"""
