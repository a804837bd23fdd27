"""One side of the duel: measures the cases it is told, with the system named on the command line.

Reads the name of a case from each line of standard input, writes a line of JSON for it.
"""

import importlib
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

SECONDS = 0.1  # how long one measurement of one case may take


def best_microseconds(run) -> float:
    """The best mean of a few calls, among as many as fit in the time."""
    run()
    start = time.perf_counter()
    run()
    once = max(time.perf_counter() - start, 1e-7)
    number = max(1, min(1000, int(SECONDS / 10 / once)))
    best, deadline = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < deadline:
        start = time.perf_counter()
        for _ in range(number):
            run()
        best = min(best, (time.perf_counter() - start) / number)
    return best * 1e6


def main() -> None:
    system = importlib.import_module(sys.argv[1])
    importlib.import_module(f"{sys.argv[1]}.numpy")
    prepared = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in prepared:
                prepared[name] = CASES[name](system)
            answer = {"microseconds": best_microseconds(prepared[name])}
        except Exception as error:  # reported to the other side, which stops
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
