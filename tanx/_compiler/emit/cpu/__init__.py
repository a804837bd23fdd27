"""LLVM code for processors: loop nests in vectors, programs as modules, modules as object code."""
