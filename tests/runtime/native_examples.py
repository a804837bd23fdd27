"""Functions in the language of ``tanx/_runtime/native.py``, for its tests."""

from tanx._runtime.native import (
    C,
    Static,
    add_to,
    address_of,
    atomic_word,
    call,
    compare_exchange,
    exchange,
    fetch,
    flip16,
    inline,
    int32,
    leading_zeros,
    narrow,
    pause,
    publish,
    publish32,
    put,
    put8,
    put32,
    put_in_order,
    rare,
    stack,
    word,
)

STEP = 8


@rare
def gcd(a: int, b: int) -> int:
    while b != 0:
        if a < b:
            swapped = a
            a = b
            b = swapped
        a -= b
        if a == 0:
            return b
    return a


def total(numbers: int, count: int) -> int:
    """The sum of the positive numbers before the first zero."""
    result = 0
    i = 0
    while True:
        if i == count or word(numbers + STEP * i) == 0:
            break
        i += 1
        value = word(numbers, STEP * (i - 1))
        if not value >= 0:
            continue
        result += value
    return result


@inline
def between(low: int, x: int, high: int) -> int:
    return low <= x and x <= high


def classify(x: int) -> int:
    if between(0, x, 9):
        return 1
    elif between(10, x, 99) or x == -1:
        return 2
    else:
        return 3 + (x < 0) + 2 * (not x & 1)


def bits(x: int, y: int) -> int:
    return (x & y) | (~x << 3) - (y >> 1) * -2 ^ (x & 1023) // 7


def factorial(n: int) -> int:
    if n < 2:
        return 1
    return n * factorial(n - 1)


def flips(to: int, source: int, mask: int) -> None:
    fetch(source)
    flip16(to, source, mask)
    put32(to, 20, word(source))


def copies(to: int, source: int) -> None:
    put(to, 0, int32(source, 4))
    put8(to, 8, 511)
    narrow(to + 16, source + 8)


def on_stack(n: int) -> int:
    memory = stack(8 * n)
    i = 0
    while i < n:
        put(memory, 8 * i, i * i)
        i += 1
    return word(memory, 8 * (n - 1)) + (memory & 63)


def length_of(x: int) -> int:
    return C.PyObject_Size(x)


TALLY = Static(16)


def tallied(value: int) -> int:
    publish(TALLY, 0, value)
    put_in_order(TALLY, 8, 5)
    before = exchange(TALLY, 3)
    added = add_to(TALLY, 4)
    missed = compare_exchange(TALLY, 0, 9)
    met = compare_exchange(TALLY, 7, 11)
    pause()
    publish32(TALLY, 8, 6)
    return (before + 1000 * added + 10000 * missed + 100000 * met
            + 1000000 * atomic_word(TALLY) + 100000000 * atomic_word(TALLY, 8))


def zeros_before(x: int) -> int:
    return leading_zeros(x)


def through_its_address(x: int) -> int:
    return call(address_of.zeros_before, x)
