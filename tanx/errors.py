"""Exceptions of tanx, and the one way to word an error.

Every message names the public function, states the rule that was broken, lists the facts with
types in the notation of jaxprs, and offers one way out. :func:`explain` lays it out.
"""


def explain(function: str, rule: str, *facts: str, hint: str | None = None) -> str:
    """Word an error: ``function: rule``, one fact a line, and a hint.

    >>> print(explain("tanx.lax.rev", "dimensions must be distinct.", "dimensions: (0, 0)",
    ...               hint="tanx.numpy.flip takes negative axes."))
    tanx.lax.rev: dimensions must be distinct.
      dimensions: (0, 0)
      Hint: tanx.numpy.flip takes negative axes.
    """
    lines = [f"{function}: {rule}", *(f"  {fact}" for fact in facts)]
    if hint is not None:
        lines.append(f"  Hint: {hint}")
    return "\n".join(lines)
