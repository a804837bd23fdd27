"""Loop nests: the form between jaxprs and LLVM code. ``build`` is what ``lower`` rules speak."""
