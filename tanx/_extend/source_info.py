"""Source lines of equations and the named scopes around them, with JAX's names for libraries."""

from __future__ import annotations

from .._core import source
from .._core.source import NameStack, SourceInfo, attributed_to, unscoped, user_source

__all__ = ["NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack",
           "new_name_stack", "new_source_info", "register_exclusion", "reset_name_stack",
           "set_name_stack", "summarize", "transform_name_stack", "user_context"]


def register_exclusion(path: str) -> None:
    """Skip the files below a path when searching for the user's line.

    >>> tanx.extend.source_info_util.register_exclusion("no/such/library")
    """
    source.exclude(path)


def current() -> SourceInfo:
    """The user's line that is running.

    >>> tanx.extend.source_info_util.current().line
    1
    """
    return user_source()


def new_source_info() -> SourceInfo:
    """An unknown source line.

    >>> tanx.extend.source_info_util.new_source_info().file
    '<unknown>'
    """
    return SourceInfo()


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """The source line as text.

    >>> tanx.extend.source_info_util.summarize(tanx.extend.source_info_util.new_source_info())
    '<unknown>:0 (<unknown>)'
    """
    return str(source_info)


def current_name_stack() -> NameStack:
    """The named scopes that are open.

    >>> with tanx.named_scope("layer"):
    ...     str(tanx.extend.source_info_util.current_name_stack())
    'layer'
    """
    return NameStack(source.name_stack())


def new_name_stack(name: str = "") -> NameStack:
    """A stack with one scope, or an empty one.

    >>> tanx.extend.source_info_util.new_name_stack("layer").extend("dense")
    NameStack(stack=('layer', 'dense'))
    """
    return NameStack((name,) if name else ())


def reset_name_stack() -> unscoped:
    """Leave all named scopes for a block.

    >>> with tanx.named_scope("layer"), tanx.extend.source_info_util.reset_name_stack():
    ...     str(tanx.extend.source_info_util.current_name_stack())
    ''
    """
    return unscoped()


class _Within:
    """A block with other named scopes; ``prev`` has the scopes around it."""

    __slots__ = ("prev",)

    def inside(self) -> NameStack:
        """The scopes of the block."""
        raise NotImplementedError

    def __enter__(self) -> NameStack:
        self.prev = current_name_stack()
        stack = self.inside()
        source._scopes.names = stack.stack
        return stack

    def __exit__(self, *_) -> None:
        source._scopes.names = self.prev.stack


class set_name_stack(_Within):
    """Replace the named scopes by those of a stack, for a block.

    >>> info = tanx.extend.source_info_util
    >>> with info.set_name_stack(info.new_name_stack("layer")):
    ...     str(info.current_name_stack())
    'layer'
    """

    __slots__ = ("name_stack",)

    def __init__(self, name_stack: NameStack):
        self.name_stack = name_stack

    def inside(self) -> NameStack:
        return self.name_stack


class extend_name_stack(_Within):
    """Add a named scope, for a block; returns all open scopes.

    >>> with tanx.extend.source_info_util.extend_name_stack("layer") as stack:
    ...     str(stack)
    'layer'
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def inside(self) -> NameStack:
        return self.prev.extend(self.name)


class transform_name_stack(_Within):
    """Mark the named scopes as inside a transformation, for a block.

    >>> with tanx.named_scope("layer"):
    ...     with tanx.extend.source_info_util.transform_name_stack("jvp") as stack:
    ...         str(stack)
    'jvp(layer)'
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def inside(self) -> NameStack:
        return self.prev.transform(self.name)


class user_context(attributed_to):
    """Attribute equations to a source line, for a block; if it is None, to the running line.

    ``name_stack`` has the named scopes of the block, if they differ from those around it.
    """

    __slots__ = ("name_stack", "_scopes")

    def __init__(self, traceback: SourceInfo | None, *, name_stack: NameStack | None = None):
        super().__init__(traceback)
        self.name_stack = name_stack

    @property
    def traceback(self) -> SourceInfo | None:
        """The source line."""
        return self.source

    @property
    def prev(self) -> SourceInfo | None:
        """The source line that equations around the block are attributed to."""
        return self.outer

    def __enter__(self) -> None:
        super().__enter__()
        if self.name_stack is not None:
            self._scopes = set_name_stack(self.name_stack)
            self._scopes.__enter__()

    def __exit__(self, *exc_info) -> None:
        if self.name_stack is not None:
            self._scopes.__exit__(*exc_info)
        super().__exit__(*exc_info)
