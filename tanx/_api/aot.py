"""Compilation ahead of time: ``jit(f).trace(...)``, ``.lower(...)`` and ``.compile()``.

A function has three stages, each an object that can be inspected: :class:`Traced` (a jaxpr),
:class:`Lowered` (a program of loops) and :class:`Compiled` (machine code, to be called).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._base.config import quick_code
from .._base.symbolic import is_symbolic
from .._base.traceback import boundary
from .._control.contents import run_on_contents
from .._core.array import Array
from .._core.explicit import laid_out
from .._core.high import lower_all, raise_all
from .._core.jaxpr import ClosedJaxpr, eval_jaxpr
from .._core.layouts import Format, Layout
from .._core.placement import on_mesh
from .._core.refs import AbstractRef, is_ref
from .._core.sharding import NamedSharding, Sharding, SingleDeviceSharding
from .._core.spec import PartitionSpec
from .._core.trace import Tracer
from .._core.types import ShapedArray, ShapeDtypeStruct, is_arraylike, typeof
from .._ops.annotations import place_of
from .._runtime.device import default_device
from .._runtime.eager import compiled
from .._runtime.result_places import Committed, Places, placed, places_ahead, result_places
from .._transforms.discharge import Discharged, discharge, is_stateful
from .._transforms.low import low_types, lowered
from ..dtypes import KeyType
from ..errors import explain
from ..tree_util import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from .options import CompilerOptions, check_options, using_options

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "MemoryAnalysis", "Program",
           "Traced"]

FORMS = ("stablehlo", "jaxpr", "loops", "schedule", "llvm")
"""The forms of a program that can be printed: the one for other compilers, then tanx's own."""


# -- shared by all stages --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """The type of an argument, and whether its data may be reused for results."""

    _aval: ShapedArray
    donated: bool
    place: Any = field(default=None, repr=False, compare=False)  # a device or a sharding, if known

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> np.dtype:
        return self._aval.dtype


@dataclass(frozen=True)
class Program:
    """A function staged for arguments of certain types; shared by its stages."""

    name: str
    closed: ClosedJaxpr
    args_info: Any  # ((arguments), {keyword arguments}) of ArgInfo
    out_tree: Any
    keep_unused: bool
    captured: tuple  # tracers and references that come before the arguments
    options: Mapping[str, Any]
    devices: int = 1  # of the mesh in scope; this machine runs programs for one device only
    in_shardings: tuple = ()  # for each argument a sharding or None; () if none is requested
    out_shardings: tuple = ()  # and for each result

    @cached_property
    def places(self) -> tuple[list, list]:
        """The places of arguments and results: devices, shardings, or None."""
        closed, given = self.closed, [info.place for info in tree_flatten(self.args_info)[0]]
        found = places_ahead(closed.in_avals, [*[None] * len(self.captured), *given], closed)
        wanted = self.in_shardings or (None,) * len(given)
        wanted_out = self.out_shardings or (None,) * len(closed.out_avals)
        meshes = [p.mesh for p in (*given, *wanted) if isinstance(p, NamedSharding)]
        whole = on_mesh(meshes[0], PartitionSpec()) if meshes else None
        meshes += [p.mesh for p in wanted_out if isinstance(p, NamedSharding)]
        if found is None and meshes:
            found = Places(None, None, meshes[0])
        return ([place or whole if target is None else place_of(target)
                 for place, target in zip(given, wanted, strict=True)],
                [found and found.of(aval) if target is None else place_of(target)
                 for aval, target in zip(closed.out_avals, wanted_out, strict=True)])

    @cached_property
    def low(self) -> ClosedJaxpr:
        """The function on the parts of values of high types."""
        return lowered(self.closed)

    @cached_property
    def pure(self) -> Discharged:
        """The function on the contents of references."""
        return discharge(self.low) if is_stateful(self.low) else Discharged(self.low, ())

    @cached_property
    def donated(self) -> tuple[bool, ...]:
        """Arguments whose data may be reused: donated ones, and contents that are replaced."""
        given = [info.donated for info in tree_flatten(self.args_info)[0]]
        flags = [flag for flag, aval in zip([*(False for _ in self.captured), *given],
                                            self.closed.in_avals, strict=True)
                 for _ in low_types([aval])]
        for i in self.pure.written:
            flags[i] = True
        return tuple(flags) if any(flags) else ()

    @cached_property
    def plain(self) -> ClosedJaxpr:
        """The function in the form for compilers: long keys are replaced by their words."""
        closed = self.pure.closed
        if KeyType.any_is_long:
            from .._compiler.long_keys import has_long_keys, on_words
            if has_long_keys(closed):
                return on_words(closed)
        return closed

    @cached_property
    def module(self):
        """The program of loops and its memory."""
        from .._compiler.pipeline import build
        return build(self.plain, self.donated)

    def stablehlo(self, debug_info: bool = False) -> str:
        """The text for other compilers."""
        from .._export.stablehlo import module_text
        results = tree_unflatten(self.out_tree, [0] * len(self.closed.out_avals))
        return module_text(
            self.plain, name=f"jit_{self.name}", keep_unused=self.keep_unused,
            donated=[n for n, donated in enumerate(self.donated) if donated],
            result_info=[f"result{keystr(path)}" for (path, _), aval in
                         zip(tree_flatten_with_path(results)[0], self.closed.out_avals)
                         for _ in low_types([aval])] + ["ref"] * len(self.pure.written),
            debug_info=debug_info, devices=self.devices)

    def llvm(self) -> str:
        """The text from which machine code is generated."""
        from .._compiler.emit.cpu.module import generate
        from .._compiler.machine import host
        plan = self.module.plan
        return generate(plan.program, host(), plan.offsets, plan.shared).text


class Stage:
    """Facts about arguments and results that every stage has."""

    def __init__(self, program: Program):
        self._program = program

    @property
    def args_info(self) -> Any:
        """Arguments and keyword arguments, without static ones, as :class:`ArgInfo`."""
        return self._program.args_info

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``."""
        return tree_flatten(self._program.args_info)[1]

    @property
    def in_avals(self) -> Any:
        """The types of ``(args, kwargs)``."""
        return tree_map(lambda info: info._aval, self._program.args_info)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The leaves of the arguments whose data may be reused for results."""
        infos = tree_flatten(self._program.args_info)[0]
        return tuple(i for i, info in enumerate(infos) if info.donated)

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the result."""
        return tree_unflatten(self._program.out_tree, [
            a if a.is_high else ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
            for a in self._program.closed.out_avals])


@dataclass(frozen=True)
class StableHLO:
    """A program for other compilers; ``str`` returns its text."""

    text: str

    def __str__(self) -> str:
        return self.text


# -- the stages ------------------------------------------------------------------------------------


class Traced(Stage):
    """A function as a jaxpr; see :meth:`tanx.stages.Wrapped.trace`."""

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The equations of the function."""
        return self._program.closed

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return self._program.name

    @property
    def effects(self) -> frozenset:
        """The effects of the function besides computing results."""
        return self._program.closed.effects

    @property
    def out_avals(self) -> Any:
        """The types of the result."""
        return tree_unflatten(self._program.out_tree, self._program.closed.out_avals)

    @property
    def lojax(self) -> Traced:
        """The function on the parts of values of high types; itself if it has none."""
        program = self._program
        if program.low is program.closed:
            return self
        first = len(low_types([typeof(x) for x in program.captured]))
        infos = [ArgInfo(aval, False) for aval in program.low.in_avals[first:]]
        return Traced(replace(
            program, closed=program.low, args_info=(tuple(infos), {}),
            out_tree=tree_structure([0] * len(program.low.out_avals)),
            captured=tuple(lower_all(map(typeof, program.captured), program.captured))))

    def physicalize(self, ctx) -> Traced:
        """Not available: programs are compiled as they are traced."""
        raise NotImplementedError(explain(
            "tanx.stages.Traced.physicalize", "there is no separate form without extended dtypes.",
            hint="lower() takes functions of random keys directly."))

    def with_consts_as_arg(self) -> tuple[list, Traced]:
        """The arrays that the function closes over, and the function with a list of them in front.

        >>> consts, traced = tanx.jit(lambda x: x + np.arange(2)).trace(1).with_consts_as_arg()
        >>> traced.lower().compile()(consts, 1)
        Array([1, 2], dtype=int32)
        """
        program, jaxpr = self._program, self._program.closed.jaxpr
        names = [f"consts[{n}]" for n in range(len(jaxpr.constvars))]
        first = len(program.captured)
        opened = jaxpr.replace(
            constvars=(), invars=(*jaxpr.invars[:first], *jaxpr.constvars, *jaxpr.invars[first:]),
            debug_info=jaxpr.debug_info._replace(arg_names=(*names, *jaxpr.debug_info.arg_names)))
        args, keywords = program.args_info
        consts = [ArgInfo(v.aval, False) for v in jaxpr.constvars]
        return list(program.closed.consts), Traced(replace(
            program, closed=ClosedJaxpr(opened, ()), args_info=((consts, *args), keywords)))

    def closure_convert(self) -> tuple[list, Callable]:
        """The arrays that the function closes over, and a function of a list of them and the rest.

        Unlike the result of :meth:`with_consts_as_arg`, it can be transformed.
        """
        program, in_tree = self._program, self.in_tree

        @boundary
        def converted(consts, *args, **kwargs):
            leaves, tree = tree_flatten((args, kwargs))
            if tree != in_tree:
                raise TypeError(explain(
                    program.name, "was converted for another structure of arguments.",
                    f"converted for: {in_tree}", f"called with:   {tree}"))
            outs = eval_jaxpr(program.closed.jaxpr, consts, *program.captured, *leaves)
            return tree_unflatten(program.out_tree, outs)
        return list(program.closed.consts), converted

    @boundary
    def lower(self, *, lowering_platforms: tuple[str, ...] | None = None,
              _private_parameters=None) -> Lowered:
        """The next stage; the only platform is the CPU."""
        others = set(lowering_platforms or ()) - {"cpu"}
        if others:
            raise NotImplementedError(explain(
                "tanx.stages.Traced.lower", "programs are compiled for the CPU only.",
                f"lowering_platforms: {lowering_platforms}"))
        return Lowered(self._program)


class Lowered(Stage):
    """A function as a program of loops; see :meth:`tanx.stages.Wrapped.lower`.

    >>> print(tanx.jit(lambda x: 2 * jnp.exp(x) + 1).lower(1.0).as_text("loops"))
    program(x0: f32[]) -> (y0: f32[])
    once:
        y0[] = 2.0:f32 * exp(x0[]) + 1.0:f32
    arena: 0 bytes
    return y0
    """

    @boundary
    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The program in one of its forms.

        Args:
          dialect: ``"stablehlo"`` (the default), for other compilers, which not every program has;
            or ``"jaxpr"``, ``"loops"``, ``"schedule"`` (how the loops run on this machine) or
            ``"llvm"``, the forms of tanx's compiler.
          debug_info: Whether StableHLO and jaxprs show the user's line after each operation.

        >>> text = tanx.jit(jnp.sin).lower(1.0).as_text()
        >>> "stablehlo.sine %arg0 : tensor<f32>" in text
        True
        """
        if dialect in (None, "stablehlo"):
            return self._program.stablehlo(debug_info)
        form = self.compiler_ir(dialect)
        if isinstance(form, ClosedJaxpr):
            return form.pretty_print(source_info=debug_info)
        return str(form)

    @boundary
    def compiler_ir(self, dialect: str | None = None) -> Any:
        """As :meth:`as_text`, as an object of the compiler.

        StableHLO is an object whose ``str`` is the text, a jaxpr a ``ClosedJaxpr``, and ``"loops"``
        and ``"schedule"`` are modules that tanx's compiler made.
        """
        if dialect in (None, "stablehlo"):
            return StableHLO(self._program.stablehlo())
        if dialect == "hlo":
            raise NotImplementedError(explain(
                "tanx.stages.Lowered", "programs do not go through XLA, and so not through HLO.",
                f"there are: {', '.join(FORMS)}"))
        if dialect not in FORMS:
            raise ValueError(explain("tanx.stages.Lowered", f"there is no form {dialect!r}.",
                                     f"there are: {', '.join(FORMS)}"))
        if dialect == "jaxpr":
            return self._program.closed
        if dialect == "llvm":
            return self._program.llvm()
        module = self._program.module
        return module if dialect == "loops" else replace(module, plan=module.schedule)

    def cost_analysis(self) -> dict[str, float]:
        """Operations, functions such as ``exp``, and bytes moved, of one run."""
        return self._program.module.cost.analysis

    @boundary
    def compile(self, compiler_options: CompilerOptions | None = None, *,
                device_assignment=None) -> Compiled:
        """Generate machine code.

        Options: ``tanx_dump``, the names of passes after which to print the program;
        ``tanx_check``, whether to check it after each pass.

        >>> tanx.jit(lambda x: x + 1).lower(1.0).compile()(2.0)
        Array(3., dtype=float32, weak_type=True)
        """
        program = self._program
        if any(isinstance(x, Tracer) for x in program.captured):
            raise TypeError(explain(
                "tanx.stages.Lowered.compile",
                f"{program.name} closes over values of a function that is being traced.",
                f"traced values: {', '.join(str(x.aval) for x in program.captured)}",
                hint="pass them as arguments."))
        if any(is_symbolic(d) for aval in program.low.in_avals for d in aval.shape):
            raise TypeError(explain(
                "tanx.stages.Lowered.compile", f"{program.name} has symbolic sizes.",
                f"types: {', '.join(map(str, program.closed.in_avals))}",
                hint="tanx.export compiles it for the sizes that it is called with."))
        options = dict(program.options)
        options.update(check_options("tanx.stages.Lowered.compile", compiler_options))
        with using_options(options), quick_code(False):
            return Compiled(program, compiled(program.pure.closed, program.donated))


@dataclass(frozen=True)
class MemoryAnalysis:
    """Bytes that one call of a compiled function takes, besides those of its caller."""

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """Arguments, results and temporaries together; reused memory counts once."""
        return (self.argument_size_in_bytes + self.output_size_in_bytes + self.temp_size_in_bytes
                - self.alias_size_in_bytes)


class Compiled(Stage):
    """A function as machine code for arguments of certain types; see :meth:`Lowered.compile`."""

    def __init__(self, program: Program, executable):
        super().__init__(program)
        self._executable = executable
        leaves, self._in_tree = tree_flatten(program.args_info)
        self._avals = [info._aval for info in leaves]
        self._types = [*map(_signature, self._avals)]
        self._refs = [type(info._aval) is AbstractRef for info in leaves]

    @boundary
    def __call__(self, *args, **kwargs):
        """Run on arguments of the types that the function was compiled for."""
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self._in_tree:
            raise self._wrong_structure((args, kwargs))
        for x in leaves:
            if isinstance(x, Tracer):
                raise TypeError(explain(
                    "tanx.stages.Compiled", "a compiled function cannot be transformed.",
                    f"argument: {x.aval} of a function that is being traced",
                    hint=f"transform {self._program.name} first, then compile it."))
        if not all(map(is_arraylike, leaves)) or [
                _signature(typeof(x)) for x in leaves] != self._types or (
                [*map(is_ref, leaves)] != self._refs):
            raise self._wrong_types(leaves)
        program = self._program
        operands = [x if type(x) is Array or is_ref(x) or a.is_high else np.asarray(x, a.dtype)
                    for x, a in zip(leaves, self._avals)]
        operands = lower_all(program.closed.in_avals, [*program.captured, *operands])
        outs = run_on_contents(self._run, operands, program.pure.written)
        if Committed.seen and program.low is program.closed:
            outs = self._in_place(outs, operands)
        return tree_unflatten(program.out_tree, raise_all(program.closed.out_avals, outs))

    def _in_place(self, outs: list, operands: list) -> list:
        """Results on the devices that the function was compiled for, or those of its operands."""
        ahead = self._program.places[1]
        outs = [y if place is None or type(y) is not Array else
                y._shared(laid_out(y.aval, place), place) for y, place in zip(outs, ahead)]
        return placed(outs, result_places(operands, self._program.closed), operands)

    def _run(self, *operands) -> list:
        return self._executable.run(list(operands))

    call = __call__

    def _wrong_structure(self, given) -> TypeError:
        mine = [keystr(path) for path, _ in tree_flatten_with_path(self._program.args_info)[0]]
        theirs = [keystr(path) for path, _ in tree_flatten_with_path(given)[0]]
        missing = [_path(p) for p in mine if p not in theirs]
        added = [_path(p) for p in theirs if p not in mine]
        return TypeError(explain(
            "tanx.stages.Compiled", "was called with another structure of arguments than it was "
            "compiled for.",
            *([f"missing: {', '.join(missing)}"] if missing else []),
            *([f"not expected: {', '.join(added)}"] if added else []),
            *([f"compiled for: {self._in_tree}", f"called with:  {tree_flatten(given)[1]}"]
              if not missing and not added else []),
            hint="static arguments are part of the compiled function, and left out."))

    def _wrong_types(self, leaves: list) -> TypeError:
        names = self._program.closed.jaxpr.debug_info.arg_names
        wrong = []
        for name, x, expected, ref in zip(names, leaves, self._avals, self._refs):
            aval = typeof(x) if is_arraylike(x) else None
            if aval is None or _signature(aval) != _signature(expected) or is_ref(x) != ref:
                given = f"{x!r:.60}" if aval is None else str(aval)
                wanted = expected.strip_weak_type() if type(expected) is ShapedArray else expected
                wrong.append(f"{name}: compiled for {wanted}, called with {given}")
        return TypeError(explain(
            "tanx.stages.Compiled", "was called with arguments of other types than it was compiled "
            "for.", *wrong, hint="enable_x64 must be as it was then."))

    def as_text(self) -> str:
        """The machine code, as instructions of the processor."""
        from .._compiler.emit.cpu.module import instructions
        from .._compiler.machine import host
        return instructions(self._program.llvm(), host())

    def cost_analysis(self) -> dict[str, float]:
        """Operations, functions such as ``exp``, and bytes moved, of one run."""
        return self._executable.cost.analysis

    def memory_analysis(self) -> MemoryAnalysis:
        """Bytes of arguments, results, temporaries and code."""
        jaxpr = self._program.pure.closed.jaxpr
        used = {v for eqn in jaxpr.eqns for v in eqn.invars}.union(jaxpr.outvars)
        arguments = [v.aval.nbytes for v in jaxpr.invars
                     if self._program.keep_unused or v in used]
        first = len(self._executable.constants)
        reused = [jaxpr.invars[place - first].aval.nbytes
                  for place in self._executable.overwritten if place is not None]
        return MemoryAnalysis(sum(arguments), sum(a.nbytes for a in jaxpr.out_avals), sum(reused),
                              self._executable.arena_size, self._executable.code.nbytes)

    @boundary
    def save(self, path: str | os.PathLike[str], *, header: str | os.PathLike[str] | None = None,
             name: str | None = None, link: Sequence[str] = ()) -> None:
        """Write a shared library that C programs call without Python.

        The library holds the machine code, for processors like this one, with its constants and its
        threads; results have the bits that they have in Python. A C compiler must be installed.

        Args:
          path: The file to write, as ``"f.so"``.
          header: The header file to write, as ``"f.h"``. It declares the C function, with the types
            of its arguments and results.
          name: The name of the C function; by default that of the Python function, or of the file
            if the function has none.
          link: Options for the linker, such as ``["-lopenblas"]`` for the LAPACK that programs with
            large decompositions of matrices call.

        Programs that call Python, foreign functions or SciPy's special functions, and those that
        hold references, raise ``NotImplementedError``.
        """
        from .._runtime.c_library import save_library  # late: few programs are saved
        from .._runtime.c_source import identifier
        program, path = self._program, os.fspath(path)
        chosen = name or identifier(program.name if program.name.isidentifier()
                                    else os.path.basename(path).partition(".")[0])
        if chosen != identifier(chosen):
            raise ValueError(explain(
                "tanx.stages.Compiled.save", f"{chosen!r} is not a name of a function in C.",
                hint="choose one by name=..."))
        if program.pure.written or program.captured:
            raise NotImplementedError(explain(
                "tanx.stages.Compiled.save", f"{program.name} holds references, which have no form "
                "in C.", hint="pass their contents as arguments, and return them."))
        if program.low is not program.closed:
            raise NotImplementedError(explain(
                "tanx.stages.Compiled.save", f"{program.name} has values of high types, which have "
                "no form in C.", hint="pass the arrays that they consist of."))
        outs = tree_unflatten(program.out_tree, [0] * len(program.closed.out_avals))
        save_library(
            program.module, chosen, program.closed.jaxpr.debug_info.arg_names,
            [f"result{keystr(p)}" for p, _ in tree_flatten_with_path(outs)[0]], path,
            None if header is None else os.fspath(header), link)

    def runtime_executable(self) -> Any:
        """The object that runs the code on buffers."""
        return self._executable

    @property
    def input_shardings(self) -> Any:
        """Where arguments are, in the structure of ``(args, kwargs)``."""
        return tree_unflatten(self.in_tree, [*map(_sharding, self._program.places[0])])

    @property
    def output_shardings(self) -> Any:
        """Where results are."""
        return tree_unflatten(self.out_tree, [*map(_sharding, self._program.places[1])])

    @property
    def input_formats(self) -> Any:
        """The memory layout of arguments, in the structure of ``(args, kwargs)``."""
        return tree_map(lambda info, place: _format(info.shape, place), self._program.args_info,
                        self.input_shardings)

    @property
    def output_formats(self) -> Any:
        """The memory layout of results."""
        return tree_map(lambda result, place: _format(result.shape, place), self.out_info,
                        self.output_shardings)


def _sharding(place: Any) -> Sharding:
    """The sharding of an array at a place: a device, a sharding, or None."""
    return place if isinstance(place, Sharding) else SingleDeviceSharding(
        place or default_device())


def _signature(aval: Any) -> Any:
    """The properties of an argument for which a program was compiled."""
    return aval if aval.is_high else (aval.shape, aval.dtype)


def _format(shape: tuple[int, ...], place: Sharding) -> Format:
    """Row-major order, as of all arrays, at a place."""
    return Format(Layout(tuple(range(len(shape))), ()), place)


def _path(key: str) -> str:
    """``[0][1]`` and ``[1]['k']`` of ``(args, kwargs)`` in the form of a call."""
    head, _, rest = key[1:].partition("]")
    return ("args" if head == "0" else "kwargs") + rest
