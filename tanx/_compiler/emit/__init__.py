"""LLVM code: values, elementary functions and instructions, which targets share."""
