"""The transformations: forward mode, linearization, transposition, batching.

They do not depend on any particular primitive.
"""
