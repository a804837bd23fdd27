"""The parts that write one function for a processor, made here and handed to each other.

Each part owns what it needs and is given the parts it uses. Three need what is made after them,
since expressions contain loads, folds and choices, whose parts are expressions: those are set last.

=============== ======== =========================================================
part            folder   what it writes
=============== ======== =========================================================
``control``     emit     loops and joins
``expressions`` emit     values, as far out of loops as they can be
``conditions``  emit     code that runs where a condition holds
``choices``     emit     selects as branches, or in lanes
``fold_steps``  emit     steps of folds
``lane_folds``  emit     reductions and searches in lanes
``folds``       emit     folds of any kind
``addresses``   emit     addresses of elements
``elements``    emit/cpu elements at addresses
``prefetch``    emit/cpu prefetching
``access``      emit/cpu what loads and stores name
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
from .elements import Elements
from .library_calls import LibraryCalls
from .prefetch import Prefetch
from .statements import Statements

__all__ = ["Parts"]


class Parts:
    """The parts of an emitter for one function.

    ``pointers`` names the address of each buffer, ``same`` maps buffers to others whose memory they
    are, ``symbol`` gives the symbol of a library call.
    """

    def __init__(self, writer: Writer, pointers: Mapping[Buffer, str],
                 same: Mapping[Buffer, Buffer], symbol: Callable[[Extern], str]):
        self.writer, self.analysis = writer, Analysis(dict(same))
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
        self.expressions.fold = self.folds.fold
        self.expressions.choice = self.choices.choice
