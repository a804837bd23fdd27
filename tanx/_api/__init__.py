"""The transformations as users call them: pytrees in, pytrees out."""
