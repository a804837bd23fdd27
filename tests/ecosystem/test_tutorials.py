"""Pages of documentation: their cells are found, run and compared."""

import json
import sys

import pytest

from tests.ecosystem.pages import Cell, cells, pages
from tests.ecosystem.tutorials import Outcome, kind_of, run, same, verdict

PAGE = '''# A page

```{code-cell} ipython3
:tags: [raises-exception]

1 / 0
```

```{code-cell}
---
id: abc
---
print("hello")
```

```python
x = 1
```

    ```
    text
    ```

```
>>> for i in range(2):
...   print(i)
0
1
>>> x.no_such
Traceback (most recent call last):
AttributeError
```
'''


def test_cells_of_pages(tmp_path):
    """Markdown and notebooks; of two forms of one page Markdown is used."""
    (tmp_path / "page.md").write_text(PAGE)
    code = {"cell_type": "code", "source": ["1 +\n", "1"], "metadata": {"tags": ["hide"]}}
    book = json.dumps({"cells": [{"cell_type": "markdown", "source": [], "metadata": {}}, code]})
    for name in ("page.ipynb", "other.ipynb"):
        (tmp_path / name).write_text(book)
    (tmp_path / "old.rst").write_text("Text\n\n  >>> 1 + 1\n  2\n")
    (tmp_path / "empty.md").write_text("no code\n")
    assert [p.name for p in pages(tmp_path)] == ["old.rst", "other.ipynb", "page.md"]
    assert cells(tmp_path / "other.ipynb") == [Cell("1 +\n1", 1, "cell", ("hide",))]
    assert cells(tmp_path / "old.rst") == [Cell("1 + 1", 3, "doctest")]
    found = [(c.source.strip(), c.line, c.kind, c.may_raise) for c in cells(tmp_path / "page.md")]
    assert found == [
        ("1 / 0", 3, "cell", True), ('print("hello")', 9, "cell", False),
        ("x = 1", 16, "block", False), ("for i in range(2):\n  print(i)", 25, "doctest", False),
        ("x.no_such", 29, "doctest", True)]


@pytest.mark.parametrize("ours, theirs, in_order, equal", [
    ("[0.1 0.2]", "[0.10000001  0.2]", True, True), ("[0.1 0.2]", "[0.11 0.2]", True, False),
    ("(3,)", "(4,)", True, False), ("1.5+2.5j", "1.5000001+2.5j", True, True),
    ("f at " + "0x7f0011223344", "f at " + "0x7f9911223344", True, True),
    ("id 139872345678912", "id 139872345671234", True, True),
    ("-97.04313659667969", "-97.0431442260742", True, True),  # digits, no address
    ("took 3.1 ms", "took 20 µs", True, True), ("tanx.numpy", "jax.numpy", True, True),
    ("%0 = add %arg0, %c", "%5 = add %x, %cst_0", True, True),
    ("%0 = add %a, %a", "%0 = add %a, %b", True, False),
    ("x 1\ny 2", "y 2\nx 1", True, False), ("x 1\ny 2", "y 2\nx 1", False, True),
    ("<class 'jaxlib._jax.ArrayImpl'>", "<class 'tanx.Array'>", True, True),
], ids=lambda value: str(value)[:6])
def test_outputs_are_compared_up_to_rounding_and_addresses(ours, theirs, in_order, equal):
    assert same(ours, theirs, in_order) is equal


CALM, RAISES = Cell("", 1, "cell"), Cell("", 1, "cell", ("raises-exception",))
E = ["E", "a", ["E", "Kind", "Exception"]]
"""A caught exception: its class, its message and the classes that it is derived from."""


@pytest.mark.parametrize("cell, ours, theirs, kind", [
    (CALM, Outcome("1"), Outcome("1"), "equal"), (CALM, Outcome("1"), Outcome("2"), "different"),
    (CALM, Outcome(), Outcome("", "KeyError", "k"), "skipped"),
    (CALM, Outcome("", "KeyError", "k"), Outcome(), "different"),
    (RAISES, Outcome("", "KeyError", "k"), Outcome("", "KeyError", "k"), "equal"),
    (RAISES, Outcome("", "KeyError", "k"), Outcome("", "KeyError", "other"), "words"),
    (RAISES, Outcome("", "KeyError"), Outcome("", "TypeError"), "different"),
    (CALM, Outcome("so: a", caught=(E,)), Outcome("so: b", caught=(["E", "b", ["E"]],)), "words"),
    (CALM, Outcome("so: a", caught=(E,)), Outcome("so: b", caught=(["F", "b", ["F"]],)),
     "different"),
    (CALM, Outcome("so: a", caught=(E,)), Outcome("so: b", caught=(["Kind", "b", ["Kind"]],)),
     "words"),
    (CALM, Outcome("slope 0.7605"), Outcome("slope 0.7629"), "digits"),
    (CALM, Outcome("slope 0.76"), Outcome("slope 0.79"), "different"),
    (RAISES, Outcome("", "ValueError", "v"), Outcome("", "NameError", "n"), "skipped"),
    (CALM, Outcome("Literal(1)"), Outcome("Literal(TypedInt(1, dtype=int32))"), "equal"),
])
def test_verdicts(cell, ours, theirs, kind):
    assert verdict(cell, ours, theirs).kind == kind


@pytest.mark.parametrize("reason, words", [
    ("Pallas", "Pallas"), ("on JAX here: NameError: name 'x' is not defined", "fails on JAX: uses"),
    ("on JAX here: ValueError: Number of devices 1 must be >= 8", "several devices"),
    ("on JAX here: SyntaxError: invalid syntax", "no Python"),
    ("on JAX here: ZeroDivisionError: division by zero", "fails on JAX, too")])
def test_reasons(reason, words):
    assert kind_of(reason).startswith(words)


def test_a_page_is_run():
    """Cells share their names; magic commands are removed; jax means tanx."""
    found = run(sys.executable, [
        "import jax\n%matplotlib inline\nx = jax.numpy.arange(3.)\nx", "print(1)\nx;",
        "%timeit x + 1",
        "try:\n  x[0] = 1\nexcept TypeError as e:\n  print(e)", "1 / 0", "while True: pass",
        "raise SystemExit(3)", "jax.jit(lambda y: jax.debug.print('y is {}', y))(2)",
    ], True, 2)
    assert [o.error for o in found] == ["", "", "", "", "ZeroDivisionError", "TooLong",
                                        "SystemExit", ""]
    assert [o.text for o in found[:3]] == ["Array([0., 1., 2.], dtype=float32)\n", "1\n",
                                          "Array([1., 2., 3.], dtype=float32)\n"]
    assert found[3].without_messages(["TypeError"]) == "<TypeError>\n"
    assert found[7].text == "y is 2\n"


def test_a_page_that_ends_the_process():
    found = run(sys.executable, ["print(1)", "import os; os._exit(3)", "2"], True, 10)
    assert [o.error for o in found] == ["", "ProcessEnded", "ProcessEnded"]
