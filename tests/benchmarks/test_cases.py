"""Every case of the duel runs on tanx, and equals NumPy or tanx without ``jit``."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from benchmarks.agreement import difference, sample, type_name
from benchmarks.cases import CASES
from benchmarks.cases.case import TINY, Case, family
from benchmarks.systems import Jax, System, leaves
from tests.compiler.agreement import evaluated

# Sizes do not matter here, so that most cases of one setup are the same.
TINIES = {(case.setup, *case.sizes.items()): case
          for case in (case.tiny() for case in CASES.values())}


def results(system: System, case: Case, compiled: bool = True) -> list[np.ndarray]:
    with system.context(case):
        function, arguments = system.setup(case)
        if compiled:
            function = system.compile(case, function)
        return [system.to_numpy(leaf) for leaf in leaves(function(*arguments))]


def by_eval(case: Case) -> list[np.ndarray]:
    if any(option.startswith("static") for option in case.jit or ()):
        with tanx.disable_jit():
            return results(Jax("tanx"), case, compiled=False)
    with (system := Jax("tanx")).context(case):
        function, arguments = system.setup(case)
        return evaluated(tanx.make_jaxpr(function)(*arguments), leaves(arguments))


@pytest.mark.parametrize("case", TINIES.values(), ids=lambda case: case.name)
def test_a_case_gives_the_right_answer(case):
    mine = results(Jax("tanx"), case)
    expected = results(System("numpy"), case) if case.form("numpy") else by_eval(case)
    assert mine, "nothing is computed"
    assert difference([*map(sample, mine)], [*map(sample, expected)],
                      [*map(type_name, mine)]) is None


def test_sizes_given_as_a_list_make_a_case_each():
    assert {f"sort, {n} f32" for n in ("1000", "1M")} <= set(CASES)
    assert CASES["sort, 1M f32"].sizes == {"n": 1_000_000, "dtype": "float32"}
    assert CASES["sort, 1M f32"].tiny().sizes == {"n": TINY, "dtype": "float32"}


def test_names_are_unique():
    case = family("some family")
    with pytest.raises(ValueError, match="two cases are called 'sort, 1000 f32'"):
        case("sort, {n} f32", n=1000)(lambda jax, jnp, n: None)


@pytest.mark.parametrize("mine, theirs, kind, problem", [
    ([1.0, 2.0], [1.0, 2.0 + 1e-9], "float64[2]", None),
    ([1.0, 2.0], [1.0, 2.1], "float32[2]", "result 0: 2 against 2.1, typically 1.6"),
    ([1.0, 2.0], [1.0, 2.1], "bfloat16[2]", None),
    ([1, 2], [1, 3], "int32[2]", "result 0: 2 against 3, typically 2.2"),
    ([1.0, np.nan], [1.0, np.nan], "float32[2]", None),
    ([1.0, np.nan], [1.0, 2.0], "float32[2]", "result 0: nan against 2, typically 1.6"),
    ([1.0, np.inf], [1.0, np.nan], "float32[2]", "result 0: infinities or NaN differ"),
    ([1.0], [1.0, 2.0], "float32[2]", "result 0: (1,) elements against (2,)"),
])
def test_differences_are_found(mine, theirs, kind, problem):
    assert difference([np.array(mine)], [np.array(theirs)], [kind]) == problem


def test_a_share_of_elements_may_be_decided_by_rounding():
    steps = np.full(1000, 50)
    one, two = steps.copy(), steps.copy()
    one[7], two[[7, 8]] = 51, 60
    assert difference([one], [steps], ["int32[1000]"], 1e-3) is None
    assert difference([two], [steps], ["int32[1000]"], 1e-3) is not None
    assert difference([one], [steps], ["int32[1000]"]) is not None


def test_samples_come_from_all_over_a_large_array():
    taken = sample(np.arange(1_000_000))
    assert len(taken) == 10_000 and taken[-1] > 990_000


def test_bfloat16_can_be_sampled():
    assert sample(np.asarray(jnp.ones(3, jnp.bfloat16))).dtype == np.float32
