"""The facts that tanx.explain collects: lines, equations, kernels, memory, times, traces."""

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tanx import lax
from tanx._explain.gather import gather, jitted


def facts_of(fun, *args, **kwargs):
    function, before = jitted(fun)
    return gather(function, (*before, *args), kwargs).facts


def softmax(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss(w, x):
    h = jnp.tanh(x @ w[0])
    return ((h @ w[1]) ** 2).mean()


def step(w, x):
    return tanx.tree.map(lambda p, g: p - 0.1 * g, w, tanx.grad(loss)(w, x))


X = np.ones((64, 128), np.float32)


@pytest.fixture(scope="module")
def training():
    weights = [np.ones((128, 256), np.float32), np.ones((256, 8), np.float32)]
    return facts_of(step, weights, X)


def test_softmax_is_one_kernel_of_two_lines():
    facts = facts_of(softmax, X)
    (kernel,) = facts.kernels
    assert [line.text for line in facts.lines] == [
        "e = jnp.exp(x - x.max(-1, keepdims=True))", "return e / e.sum(-1, keepdims=True)"]
    assert all(line.file == __file__ and line.function == "softmax" for line in facts.lines)
    (section,) = facts.compiled
    assert kernel.equations == tuple(range(len(section.equations)))
    assert kernel.name == "reduce_max sub exp reduce_sum div"
    assert (kernel.bytes_read, kernel.bytes_written) == (X.nbytes, X.nbytes)
    assert kernel.functions == X.size and kernel.seconds > 0 and 0 < kernel.share_of_limit <= 1
    assert facts.seconds == kernel.seconds
    assert (facts.function, facts.arguments) == ("softmax", (("x", "f32[64,128]"),))
    assert facts.results == ("f32[64,128]",)


def test_every_equation_of_a_training_step_has_its_kernel_and_line(training):
    for equation in training.equations:
        assert equation.kernels and equation.line is not None, equation.text
    for number, kernel in enumerate(training.kernels):
        assert kernel.equations or kernel.prepares is not None, number
        assert all(number in training.equations[e].kernels for e in kernel.equations)
        if kernel.prepares is not None:
            assert number < kernel.prepares < len(training.kernels)
    products = [k for k in training.kernels if "dot_general" in k.name]
    # x @ w0, h @ w1 and of the backward pass dw1, dh, dw0.
    assert sum(sum(training.equations[e].primitive == "dot_general" for e in k.equations)
               for k in products) == 5
    assert sum(k.flops for k in products) >= 2 * 64 * 128 * 256 * 2


def test_tanh_is_fused_into_its_product(training):
    (kernel,) = [k for k in training.kernels if any(
        training.equations[e].primitive == "tanh" for e in k.equations)]
    assert {training.lines[training.equations[e].line].text for e in kernel.equations} == {
        "h = jnp.tanh(x @ w[0])"}
    assert "dot_general" in kernel.name


def test_memory_curve_matches_the_live_buffers(training):
    for number, total in enumerate(training.curve):
        assert total == sum(m.nbytes for m in training.memory if m.first <= number <= m.last)
    assert {m.name for m in training.memory if m.at_peak} == {
        m.name for m in training.memory if m.first <= training.peak <= m.last}
    arena = [m for m in training.memory if not m.host]
    for m in arena:
        assert 0 <= m.start and m.start + m.nbytes <= training.arena
        for other in arena:
            if other is not m and other.first <= m.last and m.first <= other.last:
                assert m.start + m.nbytes <= other.start or other.start + other.nbytes <= m.start
    assert any(m.type == "f32[64,256]" for m in training.memory)  # h, for the backward pass


def test_traces_say_what_changed():
    f = tanx.jit(softmax)
    for x in (np.ones((4, 8), np.float32), np.ones((4, 9), np.float32)) * 4:
        f(x)
    facts = facts_of(f, np.ones((4, 8), np.int32))
    reasons = [traced.reasons for traced in facts.traces if traced.signature.startswith("x: ")]
    assert ("x: now f32[4,9], before f32[4,8]",) in reasons
    assert ("x: now i32[4,8], before f32[4,8]",) in reasons
    assert [t.signature for t in facts.traces if t.explained] == ["x: i32[4,8]"]


def test_traces_say_which_state_changed():
    class Model:
        scale = 2.0

        @tanx.jit(static_argnums=0)
        def apply(self, x):
            return self.scale * x

    model = Model()
    for model.scale in (2.0, 3.0):
        for _ in range(4):
            model.apply(X)
    first, second = facts_of(model.apply, X).traces
    assert not first.explained and second.explained
    (reason,) = second.reasons
    assert reason.startswith("attribute scale of") and reason.endswith("now 3.0, before 2.0")


def test_donated_arguments_are_copied_and_shown_as_reused():
    f = tanx.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.zeros(1000)
    assert facts_of(f, x).donated == 1
    assert float(x.sum()) == 0.0


def test_static_arguments_and_methods():
    class Model:
        def __init__(self):
            self.scale = 3.0

        @tanx.jit(static_argnums=0)
        def apply(self, x):
            return self.scale * x

    facts = facts_of(Model().apply, X)
    assert facts.arguments == (("x", "f32[64,128]"),) and len(facts.kernels) == 1
    power = tanx.jit(lambda x, n: x ** n, static_argnames="n")
    assert facts_of(power, X, n=3).results == ("f32[64,128]",)


def body(carry, row):
    carry = jnp.sin(carry) * row
    return carry, carry.sum()


@pytest.mark.parametrize("fun, args, primitive", [
    (lambda x: lax.scan(body, x[0], x), (X,), "scan"),
    (lambda x: lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y + jnp.dot(y, y.T) @ y, x), (X,),
     "while"),
    (lambda x: lax.cond(x[0, 0] > 0, lambda y: jnp.sort(y), lambda y: jnp.cumsum(y, 0), x), (X,),
     "cond"),
])
def test_inner_equations_belong_to_the_kernel_of_their_loop(fun, args, primitive):
    facts = facts_of(fun, *args)
    (number,) = [n for n, e in enumerate(facts.equations) if e.primitive == primitive]
    inner = [e for section in facts.compiled[1:] for e in section.equations]
    assert inner and all(set(e.kernels) <= set(facts.equations[number].kernels) for e in inner)
    assert facts.equations[number].kernels


@pytest.mark.parametrize("fun, args", [
    (lambda: jnp.arange(3), ()),
    (lambda x: x, (X,)),
    (lambda x: (x, 1.0), (X,)),
    (lambda x: x[:0] * 2, (X,)),
    (lambda x: jnp.sort(x), (X,)),
    (lambda x: jnp.linalg.inv(x[:, :64] + 2 * jnp.eye(64)), (X,)),
    (lambda x: x.at[0].set(1.0), (X,)),
    (lambda x: jnp.concatenate([x, 2 * x], 1), (X,)),
    (lambda key: tanx.random.normal(key, (100,)), (tanx.random.key(0),)),
    (lambda x: tanx.pure_callback(np.sin, x, x), (X,)),
    (lambda t: {"a": t["b"] * 2}, ({"b": 3.0},)),
])
def test_all_kinds_of_programs_can_be_explained(fun, args):
    facts = facts_of(fun, *args)
    assert len(facts.curve) == len(facts.kernels)
    assert all(k.seconds >= 0 for k in facts.kernels)
    assert all(0 <= k < len(facts.kernels) for e in facts.equations for k in e.kernels)
    explanation = tanx.explain(fun)(*args)
    assert explanation.text and explanation.html


def test_a_function_with_references():
    counter = tanx.new_ref(jnp.zeros(4))

    @tanx.jit
    def count(x):
        counter[...] += x
        return counter[...] * 2

    assert facts_of(count, jnp.ones(4)).kernels
    assert float(counter[...].sum()) == 0.0  # the function did not run


def test_errors():
    with pytest.raises(TypeError, match="tanx.explain"):
        tanx.explain(3)
    with pytest.raises(TypeError, match="outside of jit"):
        tanx.jit(lambda x: tanx.explain(softmax)(x) and x)(X)
    with pytest.raises(TypeError):
        tanx.explain(softmax)("no array")


def test_kernels_that_are_on_disk_are_not_compiled_again(tmp_path, monkeypatch):
    """Only the entry point that measures times is compiled."""
    from tanx._base.config import compilation_cache_dir, enable_compilation_cache
    from tanx._compiler.emit.cpu import module
    texts, assemble = [], module.assemble

    def counted(text, *args, **kwargs):
        texts.append(text)
        return assemble(text, *args, **kwargs)

    monkeypatch.setattr(module, "assemble", counted)
    weights = [np.ones((128, 256), np.float32), np.ones((256, 8), np.float32)]
    with enable_compilation_cache(True), compilation_cache_dir(str(tmp_path)):
        first = facts_of(step, weights, X)
        assert any("define void @tanx_main" in text for text in texts)
        texts.clear()
        second = facts_of(step, weights, X)
    assert texts and all("define void @tanx_clocked" in text for text in texts)
    assert [k.name for k in first.kernels] == [k.name for k in second.kernels]
    assert all(k.seconds > 0 for k in second.kernels)
