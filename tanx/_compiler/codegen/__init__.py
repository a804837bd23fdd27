"""Code generation: programs of loop nests become LLVM's language, and that becomes machine code."""
