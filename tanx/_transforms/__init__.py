"""The transformations: forward mode, linearization, transposition, batching.

They know no primitive.
"""
