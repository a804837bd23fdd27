"""The core: types, primitives, traces, jaxprs and arrays.

Does not depend on any particular primitive or transformation.
"""
