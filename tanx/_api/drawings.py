"""Shardings drawn as text: the device of each part of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._control.debugging import inspect_array_sharding
from .._core.array import Array
from .._core.sharding import Sharding
from .._core.trace import Tracer
from ..errors import explain
from .placement import sharding_of

__all__ = ["visualize_array_sharding", "visualize_sharding"]


def visualize_sharding(shape: Sequence[int], sharding: Sharding, *, use_color: bool = True,
                       scale: float = 1.0, min_width: int = 9, max_width: int = 80,
                       color_map: Callable[..., Any] | None = None) -> None:
    """Print how an array of one or two dimensions is divided over devices.

    Args:
      shape: The shape of the array.
      sharding: How it is laid out.
      use_color: Whether to print in color, if the package ``rich`` is installed.
      scale: How much larger to draw.
      min_width: The minimum width of a part, in characters.
      max_width: The maximum width of the drawing, in characters.
      color_map: A function from the number of a device to its color for ``rich``.

    >>> place = tanx.sharding.SingleDeviceSharding(tanx.devices()[0])
    >>> tanx.debug.visualize_sharding((4, 2), place)
    ┌─────────┐
    │         │
    │  CPU 0  │
    │         │
    └─────────┘
    """
    shape = tuple(shape)
    if not 1 <= len(shape) <= 2:
        raise ValueError(explain(
            "tanx.debug.visualize_sharding", "draws arrays of one or two dimensions.",
            f"shape: {shape}"))
    parts: dict[tuple[int, int], list] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        *above, left = (part.start or 0 for part in index)
        parts.setdefault((above[0] if above else 0, left), []).append(device)
    rows, columns = (sorted({place[axis] for place in parts}) for axis in (0, 1))
    labels = [[_label(parts[row, column]) for column in columns] for row in rows]
    inner = max(min_width, *(len(text) + 2 for line in labels for text in line))
    inner = max(1, min(round(inner * scale), max_width // len(columns) - 1))
    text = _boxes(labels, inner, 0 if len(shape) == 1 else max(1, round(scale)))
    _show(text, use_color, color_map, parts)


def visualize_array_sharding(arr, **kwargs) -> None:
    """Print how an array is divided over devices; :func:`visualize_sharding` has the options.

    >>> tanx.debug.visualize_array_sharding(jnp.ones(8))
    ┌─────────┐
    │  CPU 0  │
    └─────────┘
    """
    if isinstance(arr, Tracer):
        inspect_array_sharding(
            arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **kwargs))
        return
    if not isinstance(arr, Array):
        raise TypeError(explain("tanx.debug.visualize_array_sharding", "needs an array.",
                                f"given: a value of type {type(arr).__name__}"))
    visualize_sharding(arr.shape, sharding_of(arr), **kwargs)


def _label(devices: Sequence[Any]) -> str:
    """The platform and the numbers of devices that hold a part."""
    numbers = ",".join(str(device.id) for device in sorted(devices, key=lambda d: d.id))
    return f"{devices[0].platform.upper()} {numbers}"


def _boxes(labels: list[list[str]], width: int, padding: int) -> str:
    """Labels in a grid of boxes."""
    count = len(labels[0])

    def line(left: str, fill: str, middle: str, right: str) -> str:
        return left + middle.join([fill * width] * count) + right

    empty = [line("│", " ", "│", "│")] * padding
    lines = [line("┌", "─", "┬", "┐")]
    for k, row in enumerate(labels):
        if k:
            lines.append(line("├", "─", "┼", "┤"))
        lines += [*empty, "│" + "│".join(text[:width].center(width) for text in row) + "│", *empty]
    return "\n".join([*lines, line("└", "─", "┴", "┘")])


def _show(text: str, use_color: bool, color_map, parts: dict) -> None:
    """Print a drawing, with labels in color if possible."""
    if use_color:
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            colored = Text(text)
            for devices in parts.values():
                color = color_map(devices[0].id) if color_map else f"color({devices[0].id % 6 + 1})"
                colored.highlight_words([_label(devices)], style=str(color))
            Console().print(colored)
            return
    print(text)
