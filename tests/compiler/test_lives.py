"""Another process finds compiled programs on disk; their results are equal to the last bit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CHILD = """
import hashlib, json, sys
import numpy as np
import tanx
from tanx import tree_util
from tanx._runtime.executable import Executable
from tests.cases import CASES

compiled = []
compile = Executable._compile
Executable._compile = lambda self, *args: (compiled.append(case.id), compile(self, *args))[1]
digests = {}
with tanx.enable_x64(True), np.errstate(all="ignore"):
    for case in [case for case in CASES if case.lower][::int(sys.argv[1])]:
        function, digest = tanx.jit(case.fun), hashlib.sha256()
        for n in range(4):
            results = function(*case.arguments(seed=n // 3))
            for x in tree_util.tree_leaves(results):
                digest.update(f"{x.aval}".encode() + np.asarray(x._value).tobytes())
        digests[case.id] = digest.hexdigest()
print(json.dumps([compiled, digests]))
"""


OF_THE_PROCESS = re.compile("[a-z_]*callback|device_put|sharding_constraint|dce_sink").match
"""Programs that name Python functions, devices or effects of the process are not on disk."""


def child(folder, step):
    environment = os.environ | {
        "TANX_CACHE_DIR": str(folder), "TANX_ENABLE_COMPILATION_CACHE": "1",
        "PYTHONPATH": str(ROOT), "TANX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    done = subprocess.run([sys.executable, "-c", CHILD, str(step)], env=environment, cwd=ROOT,
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_a_warm_start_gives_the_same_bits(tmp_path, step):
    cold, warm = child(tmp_path, step), child(tmp_path, step)
    assert len(cold[0]) > 0.9 * len(cold[1]) > 50  # some cases are the same program
    assert all(map(OF_THE_PROCESS, warm[0])), "compiled though the code is on disk"
    assert warm[1] == cold[1]
