"""The parts that write one function for a processor, created here and passed to each other.

Each part owns its state and gets the parts it uses. Three need parts that are created later,
because expressions contain loads, folds and choices, which contain expressions: those are set last.

=============== ======== =========================================================
part            folder   what it writes
=============== ======== =========================================================
``control``     emit     loops and joins
``expressions`` emit     values, as far out of loops as possible
``conditions``  emit     code that runs if a condition holds
``choices``     emit     selects as branches, or in lanes
``fold_steps``  emit     steps of folds
``lane_folds``  emit     reductions and searches in lanes
``folds``       emit     folds of any kind
``addresses``   emit     addresses of elements
``elements``    emit/cpu elements at addresses
``prefetch``    emit/cpu prefetching
``access``      emit/cpu loads and stores
``packing``     emit/cpu folds that are packed
``statements``  emit/cpu stores, library calls, and nests, which ``nests.py`` sets
=============== ======== =========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...._loops.nest import Buffer, Extern
from ...schedule.analysis import Analysis
from ..addresses import Addresses
from ..choices import Choices
from ..conditions import Conditions
from ..control import Control
from ..expressions import Expressions
from ..fold_steps import FoldSteps
from ..folds import Folds
from ..lane_folds import LaneFolds
from ..values import Writer
from ..while_loops import WhileLoops
from .access import Access
from .element_access import Elements
from .library_calls import LibraryCalls
from .packing import Packing
from .prefetch import Prefetch
from .statements import Statements

__all__ = ["Parts"]


class Parts:
    """The parts of an emitter for one function.

    ``pointers`` names the address of each buffer, ``analysis`` has the facts that the schedule was
    made from, ``symbol`` maps a library call to its symbol.
    """

    def __init__(self, writer: Writer, pointers: Mapping[Buffer, str], analysis: Analysis,
                 symbol: Callable[[Extern], str]):
        self.writer, self.analysis = writer, analysis
        self.control = Control(writer)
        self.top = self.control.top
        self.expressions = Expressions(self.control, self.analysis)
        self.conditions = Conditions(self.control, self.expressions)
        self.choices = Choices(self.control, self.expressions, self.conditions)
        self.fold_steps = FoldSteps(self.control, self.expressions)
        self.lane_folds = LaneFolds(self.control, self.expressions, self.fold_steps)
        self.folds = Folds(self.control, self.fold_steps, self.lane_folds,
                           WhileLoops(self.control, self.expressions, self.fold_steps))
        self.addresses = Addresses(self.control, self.expressions, self.analysis, pointers)
        self.elements = Elements(writer, self.addresses)
        self.prefetch = Prefetch(writer, self.addresses, self.analysis)
        self.access = Access(self.control, self.analysis, self.addresses, self.elements,
                             self.prefetch)
        self.statements = Statements(
            self.control, self.expressions, self.conditions, self.access,
            LibraryCalls(self.control, self.addresses, self.analysis, symbol), self.analysis)
        self.expressions.load = self.access.read
        self.expressions.fold = Packing(self.analysis, self.addresses, self.folds.fold).fold
        self.expressions.choice = self.choices.choice
