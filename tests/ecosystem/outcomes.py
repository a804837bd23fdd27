"""Runs tests of a library with pytest and writes the outcome of each as a line of JSON.

    python outcomes.py ORDER.json

Run by the interpreter of one environment or the other. The order is a JSON object:

    as_jax      whether the name jax means tanx
    arguments   pytest's
    every       run each test whose number in the collection is a multiple of this number
    only        the tests to run, by name, or the files with all their tests; null for all
    skip        tests not to run again, by name
    limit       seconds of processor time that a test may take; by the clock it may take ten times
                as long, so that the load of the machine does not decide what fails
    report      the file that the lines are written to
"""

import json
import signal
import sys
import time


class Outcomes:
    """A plugin of pytest: selects tests, limits their time, writes their outcomes."""

    def __init__(self, order):
        self.order = order
        self.report = open(order["report"], "a", encoding="utf-8", buffering=1)

    def write(self, name, outcome, seconds=0.0, error=""):
        self.report.write(json.dumps({"test": name, "outcome": outcome, "error": error[:2000],
                                      "seconds": round(seconds, 3)}) + "\n")

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(report.nodeid, "not collected", error=_last_line(report.longrepr))

    def pytest_collection_modifyitems(self, items):
        chosen = items[::self.order["every"]]
        if self.order["only"] is not None:
            only = set(self.order["only"])
            chosen = [item for item in items
                      if item.nodeid in only or item.nodeid.split("::")[0] in only]
        skip = set(self.order["skip"])
        items[:] = [item for item in chosen if item.nodeid not in skip]

    def pytest_runtest_protocol(self, item):
        """The line "started" remains the last one if the process dies in this test."""
        self.write(item.nodeid, "started")
        self.begin = time.perf_counter()
        self.ended = None
        _limit_time(self.order["limit"])

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.ended = "failed", _last_line(report.longrepr)
        elif self.ended is None and (report.when == "call" or report.skipped):
            self.ended = report.outcome, ""
        if report.when == "teardown":
            _limit_time(0)
            outcome, error = self.ended
            self.write(report.nodeid, outcome, time.perf_counter() - self.begin, error)


def _limit_time(seconds):
    """Raise an error when code has run for this time from now on; 0 removes the limit."""
    for number, timer, time_left in ((signal.SIGPROF, signal.ITIMER_PROF, seconds),
                                     (signal.SIGALRM, signal.ITIMER_REAL, 10 * seconds)):
        signal.signal(number, _too_long)
        signal.setitimer(timer, time_left)


def _too_long(signum, frame):
    raise TimeoutError("the test took longer than its limit")


def _last_line(crash):
    """The message of an error: the lines that pytest marks, or else the last one."""
    text = str(getattr(crash, "longrepr", crash))
    marked = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
    return "\n".join(marked[:6]) if marked else text.strip().rsplit("\n", 1)[-1]


def _stay_on_one_device():
    """Ignore a conftest that requests several CPU devices: both systems run on one.

    Tests that need more fail on JAX, too, and so do not count.
    """
    import jax
    config = type(jax.config)
    update = config.update

    def without_devices(self, name, val):
        if name != "jax_num_cpu_devices":
            update(self, name, val)
    config.update = without_devices


def main(path):
    with open(path, encoding="utf-8") as file:
        order = json.load(file)
    if order["as_jax"]:
        import tanx.as_jax
        tanx.as_jax.install(shadow=True)
    _stay_on_one_device()
    import pytest
    return pytest.main(order["arguments"], plugins=[Outcomes(order)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
