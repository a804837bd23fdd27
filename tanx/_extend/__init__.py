"""What libraries build on: primitives of their own, the books of rules, tools for jaxprs."""
