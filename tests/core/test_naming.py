"""Names of the leaves of arguments, for messages."""

import tanx
from tanx._core.naming import LeafNames, leaf_names
from tanx.tree_util import tree_flatten


def model(params, x, *more, scale=1.0):
    return x


CASES = [
    (({"w": 1, "b": [2, 3]}, 4), {}, ()),
    ((1, 2, 3, (4, 5)), {"scale": 6}, ()),
    (({"w": 1}, 2, 3), {}, (1,)),
    ((), {"x": 1, "params": {"a": 2}}, ()),
]


def test_names_found_later_are_those_found_at_once():
    for args, kwargs, skip in CASES:
        kept = [arg for i, arg in enumerate(args) if i not in skip]
        leaves, tree = tree_flatten((kept, kwargs))
        later = LeafNames(model, len(args), skip, tree)
        assert len(later) == len(leaves)
        assert list(later) == leaf_names(model, args, kwargs, skip)


@tanx.tree_util.register_pytree_node_class
class Choosy:
    """A type that takes arrays and nothing else, once it is told to."""

    strict = False

    def __init__(self, x):
        if Choosy.strict and isinstance(x, int):
            raise TypeError("no number")
        self.x = x

    def tree_flatten(self):
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)


def test_types_that_cannot_be_made_anew_have_numbers_for_names(monkeypatch):
    _, tree = tree_flatten(([Choosy(1), 2], {}))
    monkeypatch.setattr(Choosy, "strict", True)
    assert list(LeafNames(model, 2, (), tree)) == ["#0", "#1"]
