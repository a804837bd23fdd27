"""Programs that keep state in references: counters, running sums, optimisers, generators."""

import importlib

import numpy as np

TIMES = 5


def _often(function, *args):
    return [function(*args) for _ in range(TIMES)]


def _ref(jax):
    return importlib.import_module(f"{jax.__name__}.ref")


def counters_in_jit(jax, jnp):
    state = {"sum": jax.new_ref(jnp.arange(3.0)), "calls": jax.new_ref(0)}

    @jax.jit
    def step(state, x):
        state["sum"][...] += x
        state["sum"][0] = state["sum"][1] * 2.0
        state["calls"][...] += 1
        return state["sum"][...].mean()

    return _often(step, state, 2.0), state["sum"][...], state["calls"][...]


def closures_and_nested_calls(jax, jnp):
    ref, other = jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.ones(3))
    add = jax.jit(lambda: ref.addupdate(jnp.ones(3)))

    @jax.jit
    def step(other, x):
        add()
        other[...] += ref[...]
        add()
        ref[0] += x
        return other[1]

    return _often(step, other, 2.0), ref[...], other[...]


def what_was_read_stays(jax, jnp):
    ref = jax.new_ref(jnp.arange(3.0))

    @jax.jit
    def advance(ref):
        before = ref[...]
        ref[...] = before + 1.0
        return before

    seen = [*_often(advance, ref), ref[...]]
    ref[0] = 100.0
    return seen, ref[...], _often(jax.jit(lambda ref: ref[...]), ref)


def loops_update_in_place(jax, jnp):
    ref = jax.new_ref(jnp.arange(5.0))

    def scanned(ref):
        def body(carry, i):
            ref[i] = carry
            _ref(jax).addupdate(ref, (4 - i,), 1.0)
            return carry + ref[0], ref[...].sum()
        return jax.lax.scan(body, 1.0, jnp.arange(5))

    def counted(ref, n):
        jax.lax.fori_loop(0, n, lambda i, c: (ref.addupdate(jnp.ones(5)), c)[1], 0)
        return ref[0]

    return (scanned(ref), ref[...], _often(jax.jit(scanned), ref), ref[...], counted(ref, 3),
            _often(jax.jit(counted), ref, 2), ref[...])


def rows_of_a_reference(jax, jnp):
    rows = jax.new_ref(jnp.ones((4, 3)))

    def body(carry, row):
        row[...] = row[...] + carry
        return carry + 1.0, row[0]

    return (jax.lax.scan(body, 0.0, rows)[1], rows[...],
            _often(jax.jit(lambda rows: jax.lax.scan(body, 0.0, rows)[1]), rows), rows[...])


def branches_write(jax, jnp):
    ref = jax.new_ref(jnp.arange(3.0))

    def choose(ref, p):
        def yes():
            ref[0] = ref[1] * 2.0

        def no():
            ref[1] += 1.0
        jax.lax.cond(p, yes, no)
        return ref[0]

    return (choose(ref, True), choose(ref, False), _often(jax.jit(choose), ref, True),
            _often(jax.jit(choose), ref, False), ref[...])


def mapped_references(jax, jnp):
    rows = jax.new_ref(jnp.arange(12.0).reshape(4, 3))

    def update(row, i, x):
        row[i] = x
        _ref(jax).addupdate(row, i, x)
        row[0] += row[i]
        return row[...].sum()

    over = jax.vmap(update)
    at, x = jnp.arange(4) % 3, jnp.arange(4.0)
    return (over(rows, at, x), _often(jax.jit(over), rows, at, x),
            jax.vmap(update, in_axes=(1, None, None))(rows, 1, 5.0), rows[...])


def derivatives_through_state(jax, jnp):
    def straight(x):
        ref = jax.new_ref(x)
        for k in range(3):
            ref[k] = jnp.sin(ref[k]) * ref[0]
        ref[...] *= 2.0
        ref[jnp.array([0, 2])] += x[:2]
        ref.addupdate(x)
        return (ref[...] * ref[0]).sum()

    def looped(x):
        ref = jax.new_ref(jnp.zeros(3))

        def body(carry, i):
            ref[i] += jnp.sin(carry) * x[i]
            return carry + ref[i], ref[0]
        carry, ys = jax.lax.scan(body, 1.0, jnp.arange(3))
        return ref[...].sum() + carry + ys.sum()

    x = jnp.arange(3.0) + 1
    return [(f(x), jax.grad(f)(x), _often(jax.jit(jax.grad(f)), x), jax.grad(jax.jit(f))(x),
             jax.jvp(f, (x,), (jnp.ones(3),)), jax.vmap(jax.grad(f))(jnp.stack([x, 2 * x])))
            for f in (straight, looped)]


def gradients_into_references(jax, jnp):
    total = jax.new_ref(jnp.zeros(3))

    @jax.jit
    def step(total, xs):
        def body(carry, x):
            y, pull = jax.vjp(lambda x: jnp.sin(x).sum(), x)
            pull.with_refs(total)(1.0)
            return carry + y, None
        return jax.lax.scan(body, 0.0, xs)[0]

    found = _often(step, total, jnp.arange(12.0).reshape(4, 3))
    _, pull = jax.vjp(lambda x, y: jnp.sin(x) * y, jnp.ones(3), jnp.arange(3.0))
    answers = pull.with_refs(total, jax.ad.GradValue())(jnp.ones(3))
    skipped = pull.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(jnp.ones(3))
    return found, total[...], repr(answers[0]), answers[1], repr(skipped[0]), skipped[1]


def gradient_with_respect_to_a_reference(jax, jnp):
    ref, grad = jax.new_ref(jnp.arange(3.0) + 1), jax.new_ref(jnp.zeros(3))

    def f(ref, x):
        ref[...] = x * ref[...]
        return ref[0]

    y, pull = jax.vjp(f, ref, jnp.ones(3) * 2)
    _, of_x = pull.with_refs(grad, jax.ad.GradValue())(1.0)
    return y, ref[...], of_x, grad[...]


def rules_that_stash(jax, jnp):
    @jax.custom_vjp
    def stash(ref, x):
        return x

    def backward(ref, ct):
        ref.addupdate(ct)
        return None, ct

    stash.defvjp(lambda ref, x: (x, ref), backward)
    ref = jax.new_ref(jnp.zeros(3))

    def loss(x, ref):
        return jnp.sin(stash(ref, x)).sum()

    x = jnp.arange(3.0)
    return (jax.grad(loss)(x, ref), ref[...], _often(jax.jit(jax.grad(loss)), x, ref), ref[...],
            _often(jax.jit(loss), x, ref), jax.grad(jax.jit(loss))(x, ref), ref[...])


def tangents_of_references(jax, jnp):
    ref, tangent = jax.new_ref(jnp.arange(3.0)), jax.new_ref(jnp.ones(3))

    def f(x, ref):
        ref[...] = x * ref[...]
        return ref[...].sum()

    def along(x, ref, tangent):
        return jax.jvp(f, (x, ref), (jnp.ones(3), tangent))

    x = jnp.arange(3.0)
    return (along(x, ref, tangent), ref[...], tangent[...],
            _often(jax.jit(along), x, ref, tangent), ref[...], tangent[...])


def every_kind_of_index(jax, jnp):
    ref, pair = jax.new_ref(jnp.arange(24.0).reshape(2, 3, 4)), np.array([0, 1])
    found = []
    for index in ((pair, slice(None), pair), (pair, 0), (0, slice(None), pair), (..., pair),
                  (slice(1, None, 2), slice(None, None, 2)), (0, 1, 2), (-1, -2),
                  (slice(0, 1), slice(None, None, 2), slice(None, None, 3))):
        x = ref[index]
        ref[index] = x * 2 + 1
        _ref(jax).addupdate(ref, index, x)

        @jax.jit
        def update(ref, index=index):
            x = ref[index]
            ref[index] = x / 2
            _ref(jax).addupdate(ref, index, x / 4)
            return x
        found.append((x, _often(update, ref), ref[...],
                      _ref(jax).swap(ref, index, jnp.zeros(x.shape))))
    return found


def indices_out_of_bounds(jax, jnp):
    def touched(at, value):
        ref = jax.new_ref(jnp.arange(3.0))
        ref[at] = value
        other = jax.new_ref(jnp.arange(3.0))
        _ref(jax).addupdate(other, at, value)
        return ref[...], other[...], ref[at]

    pair = jnp.array([7.0, 8.0])
    return [touched(jnp.int32(i), 7.0) for i in (9, -1, -9)] + [
        touched(jnp.array(at), pair) for at in ([0, 9], [0, -1], [0, 0])]


def keys_in_references(jax, jnp):
    keys = jax.new_ref(jax.random.split(jax.random.key(0), 3))
    keys[0] = jax.random.key(7)

    def draw(keys):
        first, second = jax.random.split(keys[0])
        keys[0] = first
        return jax.random.normal(second)

    return _often(jax.jit(draw), keys), jax.random.key_data(keys[...]), draw(keys)


def generators_with_state(jax, jnp):
    random = importlib.import_module(f"{jax.__name__}.experimental.random")
    generator = random.stateful_rng(0)
    drawn = [jax.random.key_data(generator.key()), generator.uniform(), generator.random((2,)),
             generator.normal(1.0, 2.0, (2,)), generator.integers(3, 9, (4,)),
             generator.uniform(2, 5)]
    parts = generator.split(3)
    drawn += [jax.vmap(lambda part: part.uniform())(parts), parts._counter[...]]
    drawn += [child.normal() for child in generator.spawn(2)]
    drawn += _often(jax.jit(lambda generator: generator.uniform(size=(2,))), generator)
    return drawn + _often(jax.jit(generator.normal)), generator._counter[...]


def _shown(jax, function, *args):
    return str(jax.make_jaxpr(function)(*args))


def texts(jax, jnp):
    ref, rows = jax.new_ref(jnp.zeros(3)), jax.new_ref(jnp.zeros((4, 3)))

    def one(ref, i):
        ref[0], ref[1:3], ref[i], ref.at[1:][i]
        ref[i] = 2.0
        ref[...] += 1.0
        _ref(jax).addupdate(ref, 0, 1.0)
        return ref.swap(jnp.zeros(3)), _ref(jax).swap(ref, slice(0, 2), jnp.zeros(2))

    def two(rows, i):
        rows[0], rows[:, 1], rows[i, i], rows[0:2, i], rows[..., 0], rows[::2], rows[-1], rows[:]
        rows[np.array([0, 1])], rows[:, np.array([0, 1])]
        rows[0] = jnp.ones(3)
        rows.at[0].at[1].set(2.0)

    def made(x):
        ref = jax.new_ref(x)
        ref[...] *= 2.0
        return jax.freeze(ref)

    add = jax.jit(lambda ref: ref.addupdate(jnp.ones(3)))
    return (repr(ref), repr(jax.new_ref(1)), repr(jax.new_ref(jax.random.key(0))), repr(rows),
            str(jax.typeof(ref)), str(jax.typeof(jax.new_ref(jax.random.key(0)))),
            _shown(jax, one, ref, 1), _shown(jax, two, rows, 1), _shown(jax, made, 1.0),
            _shown(jax, lambda ref: (add(ref), ref[0])[1], ref),
            _shown(jax, lambda: (add(ref), ref[0])[1]),
            _shown(jax, lambda x: jax.free_ref(jax.new_ref(x)), 1.0))
