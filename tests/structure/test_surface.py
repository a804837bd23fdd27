"""Every public name of JAX exists with its parameters, or is listed as missing or different."""

import pytest

from tests.structure.surface import DIFFERENT, MISSING, REASONS, compare, difference, load


@pytest.fixture(scope="module")
def surface():
    return compare()


def flat(sections):
    return {f"{section}.{name}".lstrip(".") for section, names in sections.items()
            for name in names}


def test_missing_names_are_listed(surface):
    missing, listed = flat(surface[0]), flat(load(MISSING))
    assert not missing - listed, "missing, and not in missing.json"
    assert not listed - missing, (
        "there now: run python -m tests.structure.surface --write to take them off missing.json")


def test_missing_names_have_reasons():
    listed, reasons = flat(load(MISSING)), load(REASONS)
    used = {name: [reason for reason in reasons if f"{name}.".startswith(f"{reason}.")]
            for name in listed}
    assert not [name for name, found in used.items() if not found], "missing without a reason"
    assert set(reasons) == {reason for found in used.values() for reason in found}, (
        "a reason for what is there")
    assert all(text.strip() for text in reasons.values())


def test_differing_parameters_are_listed(surface):
    different, listed = surface[1], load(DIFFERENT)
    unlisted = {name: how for name, how in different.items() if name not in listed}
    assert not unlisted, "\n".join(f"{name}: {how}" for name, how in unlisted.items())
    assert not set(listed) - set(different), "in different.json, but equal to JAX's now"
    assert all(reason.strip() for reason in listed.values()), "a difference needs a reason"


X, AXIS, OUT = ["x", "pk"], ["axis", "pk", "None"], ["out", "ko", "None"]


@pytest.mark.parametrize("got, problem", [
    ([X, AXIS, OUT], ""),
    ([X, AXIS, OUT, ["more", "ko", "1"]], ""),
    ([X, AXIS, ["rest", "vk"]], ""),
    ([X, AXIS], "out is absent"),
    ([["y", "pk"], AXIS, OUT], "x is absent; y is required"),
    ([AXIS, X, OUT], "another order"),
    ([X, ["axis", "ko", "None"], OUT], "axis is ko, not pk"),
    ([X, ["axis", "pk"], OUT], "axis has no default"),
    ([X, ["axis", "pk", "0"], OUT], "axis=0, not None"),
    ([X, ["axis", "pk", "..."], OUT], ""),
    ([X, AXIS, OUT, ["more", "ko"]], "more is required"),
    (None, "no signature"),
])
def test_difference(got, problem):
    assert difference([X, AXIS, OUT], got) == problem


def test_the_name_of_a_positional_only_parameter_is_free():
    assert difference([["x", "po"]], [["y", "po"]]) == ""
    assert difference([["x", "po"]], [["y", "pk"]]) == ""
    assert difference([["x", "po"]], [["y", "ko"]]) == "x is absent; y is required"
