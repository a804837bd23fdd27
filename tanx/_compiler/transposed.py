"""Products store their elements in the order in which these are read.

``dot_general`` has an order of dimensions of its own: those of its left operand come before those
of its right one, and ``einsum`` takes the operand that is named last as the left one. What follows
reads the result through a transposition. If nothing else reads it, the product stores the
transposed array::

    for i in 8, k in 512, q in 512:                 for i in 8, q in 512, k in 512:
        t1[i, k, q] = add(d in 64: …)                   t2[i, q, k] = add(d in 64: …)
    for i in 8, q in 512, k in 512:
        t2[i, q, k] = t1[i, k, q]

So the scores of attention have their rows adjacent in memory, and a softmax and the product with
the values follow in bands of rows (``schedule/bands.py``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .._loops.expr import Const, Expr, Index, Load, Variable
from .._loops.nest import PARALLEL, Buffer, Nest, Program, Statement, Store
from .._loops.traverse import substitute
from .fuse import is_contraction
from .nest_tools import loops_in, mentioned
from .tuning import FuseTuning

__all__ = ["stored_as_read"]


def stored_as_read(program: Program, tuning: FuseTuning) -> Program:
    """Let each product whose result is only transposed store the transposed array."""
    users = Counter(buffer for s in program.statements for buffer in mentioned(s))
    statements: list[Statement] = []
    products: dict[Buffer, int] = {}  # by what they store, their positions
    for statement in program.statements:
        store = _one_store(statement)
        if store is not None and isinstance(store.value, Load) and store.value.buffer in products:
            place = products[store.value.buffer]
            product = _transposed(statements[place], statement, tuning)
            if product is not None:
                statements[place] = product
                continue
        elif store is not None and isinstance(statement, Nest) and users[store.buffer] == 2 and (
                store.buffer.role == "temp"
                and is_contraction(store.value, statement.indices, tuning)):
            products[store.buffer] = len(statements)
        statements.append(statement)
    used = {buffer for s in statements for buffer in mentioned(s)}
    return replace(program, statements=tuple(statements),
                   temps=tuple(b for b in program.temps if b in used))


def _one_store(statement: Statement) -> Store | None:
    """What a nest of parallel loops stores, if that is one element in each step."""
    if not isinstance(statement, Nest) or len(statement.body) != 1 or any(
            kind != PARALLEL for kind in statement.kinds):
        return None
    (store,) = statement.body
    return store if isinstance(store, Store) and not store.combine and store.guard is None else None


def _transposed(product: Statement, copy: Statement, tuning: FuseTuning) -> Nest | None:
    """The product with its result stored where ``copy`` moves it; None unless that is a
    transposition in memory, and leaves enough columns for vectors."""
    assert isinstance(product, Nest) and isinstance(copy, Nest)
    old, new = _one_store(product), _one_store(copy)
    assert old is not None and new is not None and isinstance(new.value, Load)
    order = loops_in(new.value.index)
    if new.buffer.role != "temp" or {*order} != {*copy.indices} or len(order) != len(
            copy.indices) or order == copy.indices or loops_in(new.index) != copy.indices:
        return None
    if copy.indices[-1].extent < min(tuning.columns, order[-1].extent):
        return None
    moved: dict[Variable, Expr] = {}
    for before, after in zip(old.index, new.value.index):
        if isinstance(before, Index):
            moved[before] = after
        elif not (isinstance(before, Const) and before is after):
            return None
    if len(moved) < len(product.indices):
        return None
    return Nest(copy.indices, copy.kinds, (replace(new, value=substitute(old.value, moved)),))
