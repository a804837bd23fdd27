"""Random programs: made line by line, run, compared, and made smaller when they fail.

A program is text from the start, so that a failure prints as code to be run. Each line is executed
when it is made, which tells its type and keeps numbers small. Lines that jump (comparisons,
sorting, rounding) take only values that are exact in any order of computation. ::

    python -m tests.compiler.programs 1000          # that many programs, from a seed of today's
    python -m tests.compiler.programs 1000 --seed 7
    python -m tests.compiler.programs 1000 --jobs 4

Small programs also run in the interpreter of loops, which shows whether a pass is to blame, or code
generation. Large ones (a quarter of all) have room for vectors, tiles and threads. Most run with
other thresholds in the compiler than the usual ones, so that all its ways are taken; a third run
without mask registers, as many x86-64 processors have only AVX2.
"""

from tests.compiler.programs.cuts import smaller
from tests.compiler.programs.maker import make
from tests.compiler.programs.running import report_of
from tests.compiler.programs.source import settings

__all__ = ["make", "report_of", "settings", "smaller"]
