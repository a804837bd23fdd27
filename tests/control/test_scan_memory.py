"""The memory that gradients of scans need, measured as the peak of the allocator."""

import subprocess
import sys

import numpy as np

# The peak never decreases, so a process runs the cases from the smallest to the largest.
PROGRAM = """
import tanx
from tanx import lax

SIZE = 16384

def gradient(scan, steps):
    def last(x):
        return scan(lambda c, _: (3.5 * c * (1 - c), None), x, length=steps)[0].sum()
    tanx.jit(tanx.grad(last))(tanx.numpy.full(SIZE, 0.3)).block_until_ready()
    print(tanx.devices()[0].memory_stats()["peak_bytes_in_use"] / (4 * SIZE))

for steps in (16, 64, 256, 1024):
    gradient(lax.checkpointed_scan, steps)
gradient(lax.scan, 256)
"""


def test_memory_of_a_checkpointed_scan_grows_as_the_square_root_of_its_length():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                         timeout=300)
    assert run.returncode == 0, run.stderr
    *cut, plain = map(float, run.stdout.split())  # in arrays of the size of the carry
    for steps, peak in zip((16, 64, 256, 1024), cut, strict=True):
        # A carry for each segment, at most two values for each step of a segment, and temporaries.
        assert peak < 3 * np.sqrt(steps) + 12, (steps, peak)
    assert cut[-1] - cut[-2] < 3 * (cut[-2] - cut[-3])  # twice as much for four times the steps
    assert plain > 256
