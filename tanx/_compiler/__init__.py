"""The compiler: from jaxprs to loop nests, and from loop nests to machine code."""
