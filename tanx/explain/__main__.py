"""python -m tanx.explain: explains a function of a script, for the arguments it is called with."""

from .._explain.command import main

main()
