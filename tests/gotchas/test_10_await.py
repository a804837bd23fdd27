"""Promise 10: arrays can be awaited."""

import asyncio

import numpy as np
import pytest

import tanx
import tanx.numpy as jnp
from tests.gotchas import pages
from tests.runtime.test_async import busy_queue

X = jnp.full((64, 64), 0.5)
double = tanx.jit(lambda x: x * 2)


def test_the_page():
    pages.run("10_await")


def test_await_gives_the_array_itself():
    async def main():
        results = [await double(X) for _ in range(4)]
        assert all(type(y) is tanx.Array and y.shape == X.shape and y.dtype == X.dtype
                   for y in results)
        y = double(X)
        assert await y is y
        return float(results[3][0, 0])

    assert asyncio.run(main()) == 1.0


def test_the_event_loop_runs_while_a_result_is_awaited():
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while not y.is_ready():
                ticks += 1
                await asyncio.sleep(0.001)

        with busy_queue():
            y = pending()
            ticker = asyncio.create_task(tick())
            waiting = asyncio.ensure_future(y)
            await asyncio.sleep(0.05)
            assert not waiting.done() and ticks > 1
        assert await waiting is y
        await ticker

    asyncio.run(main())


def pending():
    """An array that is computed in the background, after other work."""
    from tanx._runtime import executable
    before, executable.LONG = executable.LONG, 0.0
    try:
        return tanx.jit(lambda x: x + 1)(X)
    finally:
        executable.LONG = before


def test_several_at_once():
    async def main():
        for _ in range(4):
            x, y = double(X), double(X + 1)
            first, second = await asyncio.gather(x, y)
            assert first is x and second is y
            seen = [await z for z in asyncio.as_completed([x, y])]
            assert {id(z) for z in seen} == {id(x), id(y)}
            done, waiting = await asyncio.wait([asyncio.ensure_future(z) for z in (x, y)])
            assert len(done) == 2 and not waiting
            assert await asyncio.wait_for(x, 60) is x

    asyncio.run(main())


def test_wait_takes_tasks_and_says_so():
    async def main():
        with pytest.raises(TypeError, match="ensure_future"):
            await asyncio.wait([X])

    asyncio.run(main())


def test_errors_come_out_of_the_await():
    x = jnp.ones(3)
    x.delete()

    async def main():
        with pytest.raises(RuntimeError, match="its data is gone"):
            await x

    asyncio.run(main())


def test_block_until_ready_stays():
    y = double(X).block_until_ready()
    np.testing.assert_array_equal(tanx.block_until_ready([y])[0], np.ones((64, 64)))
