"""The interface for libraries: their own primitives, tables of rules, tools for jaxprs."""
