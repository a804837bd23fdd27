"""What libraries build on: their own primitives, tables of rules, tools for jaxprs."""
