"""Loops and branches of the host program: code that runs other programs.

An inner program is a function like the whole one: it takes the address of an array of addresses,
which is on the stack of its caller. A carry is updated in place if the body allows it; otherwise it
has two buffers, which the steps use in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...._loops.nest import Branch, Buffer, Loop, Plan
from ...cost import nbytes
from ...flow_memory import room_of_branch, room_of_loop
from ..polling import poll
from ..values import Writer

__all__ = ["write_branch", "write_loop"]


Function = Callable[[Plan], str]
"""Returns the name of the function for a program."""


class _Lines:
    """Code being written; ``block`` is the current basic block."""

    def __init__(self, writer: Writer):
        self.writer, self.lines = writer, list[str]()

    def add(self, line: str) -> None:
        self.lines.append(line)

    def let(self, hint: str, code: str) -> str:
        """Name the result of an instruction."""
        name = "%" + self.writer.fresh(hint)
        self.add(f"{name} = {code}")
        return name

    def label(self, hint: str) -> str:
        return self.writer.fresh(hint)

    def begin(self, label: str) -> None:
        self.add(f"{label}:")

    def go(self, label: str) -> None:
        self.add(f"br label %{label}")

    def choose(self, condition: str, yes: str, no: str) -> None:
        self.add(f"br i1 {condition}, label %{yes}, label %{no}")

    def offset(self, base: str, distance: str | int) -> str:
        return base if distance == 0 else self.let(
            "place", f"getelementptr i8, ptr {base}, i64 {distance}")

    def array(self, size: int) -> str:
        """Memory for addresses, one for each argument of a program."""
        return self.let("slots", f"alloca [{max(1, size)} x ptr]")

    def put(self, array: str, number: int, address: str) -> None:
        place = self.let("slot", f"getelementptr ptr, ptr {array}, i64 {number}")
        self.add(f"store ptr {address}, ptr {place}")

    def copy(self, target: str, source: str, size: int) -> None:
        self.writer.declared["llvm.memcpy.p0.p0.i64"] = (
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.add(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, "
                 "i1 false)")


def write_loop(loop: Loop, pointers: Mapping[Buffer, str], writer: Writer, function: Function,
               ) -> list[str]:
    """The code of a loop, or of the task ``%task`` of one that has several."""
    return _LoopWriter(loop, pointers, writer, function).written()


class _LoopWriter:
    def __init__(self, loop: Loop, pointers: Mapping[Buffer, str], writer: Writer,
                 function: Function):
        self.loop, self.pointers, self.function = loop, pointers, function
        self.code = _Lines(writer)
        self.room = room_of_loop(loop.body, loop.condition, loop.carried, loop.tasks)
        self.base = pointers[loop.outputs[-1]]
        _, constants, self.carries, self.read, self.filled = loop.parts
        self.first = len(constants)  # of the carries, among the inputs of the body

    def written(self) -> list[str]:
        code, loop = self.code, self.loop
        start, head, body, again, done = map(code.label, ("start", "head", "body", "again", "done"))
        slots = self.slots()
        tests = self.test_slots()
        first, last = self.steps()
        code.go(start)
        code.begin(start)
        code.go(head)
        code.begin(head)
        step, following = code.label("step"), code.label("next")
        code.add(f"%{step} = phi i64 [ {first}, %{start} ], [ %{following}, %{again} ]")
        now = self.turns(start, again, slots, tests)
        self.row_slots(slots, f"%{step}")
        if loop.condition is None:
            goes_on = code.let("more", f"icmp ult i64 %{step}, {last}")
        else:
            goes_on = self.test(tests)
        code.choose(goes_on, body, done)
        code.begin(body)
        code.add(f"call void @{self.function(loop.body)}(ptr {slots})")
        code.add(f"%{following} = add i64 %{step}, 1")
        code.lines += poll(code.writer, again, done)[0]
        code.begin(again)
        code.go(head)
        code.begin(done)
        self.put_back(now)
        return code.lines

    def steps(self) -> tuple[str, str]:
        """The number of the first step, and that after the last one."""
        loop, code = self.loop, self.code
        if loop.count is None or loop.tasks == 1:
            return "0", str(loop.count)
        chunk = -(-loop.count // loop.tasks)
        first = code.let("first", f"mul i64 %task, {chunk}")
        end = code.let("end", f"add i64 {first}, {chunk}")
        over = code.let("over", f"icmp ugt i64 {end}, {loop.count}")
        return first, code.let("last", f"select i1 {over}, i64 {loop.count}, i64 {end}")

    def arena(self) -> str:
        """The arena of the task."""
        if self.loop.tasks == 1:
            return self.base
        skipped = self.code.let("skipped", f"mul i64 %task, {self.room.arena}")
        return self.code.offset(self.base, skipped)

    def slots(self) -> str:
        """The addresses for the body, except for those that change with the steps."""
        code, program = self.code, self.loop.body.program
        slots = code.array(len(program.inputs) + len(program.outputs) + 1)
        for n, buffer in enumerate((*self.loop.parts[1], *self.carries)):
            code.put(slots, n, self.pointers[buffer])
        for n, buffer in enumerate(self.carries):
            code.put(slots, len(program.inputs) + n, self.pointers[buffer])
        code.put(slots, len(program.inputs) + len(program.outputs), self.arena())
        return slots

    def test_slots(self) -> str:
        """The addresses for the condition; the last is that of its result."""
        condition = self.loop.condition
        if condition is None:
            return ""
        code, tests = self.code, self.loop.parts[0]
        slots = code.array(len(condition.program.inputs) + 2)
        for n, buffer in enumerate((*tests, *self.carries)):
            code.put(slots, n, self.pointers[buffer])
        self.answer = code.let("answer", "alloca i8")
        code.put(slots, len(condition.program.inputs), self.answer)
        code.put(slots, len(condition.program.inputs) + 1, self.base)
        return slots

    def turns(self, start: str, again: str, slots: str, tests: str) -> dict[int, str]:
        """Let carries that have two buffers alternate between them; their addresses at a step."""
        code, now = self.code, dict[int, str]()
        outputs = len(self.loop.body.program.inputs)
        second = {n: code.label("second") for n in self.room.places}
        names = {n: (code.label("now"), code.label("then")) for n in self.room.places}
        place = code.lines.index(f"{start}:") + 1
        code.lines[place:place] = [
            f"%{second[n]} = getelementptr i8, ptr {self.base}, i64 {offset}"
            for n, offset in self.room.places.items()]
        for n, (here, there) in names.items():
            own = self.pointers[self.carries[n]]
            code.add(f"%{here} = phi ptr [ {own}, %{start} ], [ %{there}, %{again} ]")
            code.add(f"%{there} = phi ptr [ %{second[n]}, %{start} ], [ %{here}, %{again} ]")
        for n, (here, there) in names.items():
            now[n] = f"%{here}"
            code.put(slots, self.first + n, f"%{here}")
            code.put(slots, outputs + n, f"%{there}")
            if tests:
                code.put(tests, self.loop.tests + n, f"%{here}")
        return now

    def row_slots(self, slots: str, step: str) -> None:
        """Pass the rows of a step."""
        code, loop, program = self.code, self.loop, self.loop.body.program
        if loop.reverse and (self.read or self.filled):
            step = code.let("row", f"sub i64 {(loop.count or 0) - 1}, {step}")
        every = (*program.inputs, *program.outputs)
        for place, arrays, skipped in (
                (self.first + loop.carried, self.read, loop.starts),
                (len(program.inputs) + loop.carried, self.filled, (0,) * len(self.filled))):
            for n, (buffer, before) in enumerate(zip(arrays, skipped), place):
                distance = code.let("distance", f"mul i64 {step}, {nbytes(every[n])}")
                first = code.offset(self.pointers[buffer], before * buffer.dtype.itemsize)
                code.put(slots, n, code.offset(first, distance))

    def test(self, tests: str) -> str:
        """Test whether there is another step."""
        assert self.loop.condition is not None
        self.code.add(f"call void @{self.function(self.loop.condition)}(ptr {tests})")
        said = self.code.let("said", f"load i8, ptr {self.answer}")
        return self.code.let("more", f"icmp ne i8 {said}, 0")

    def put_back(self, now: Mapping[int, str]) -> None:
        """Copy carries to their first buffer."""
        code = self.code
        for n, place in now.items():
            own = self.pointers[self.carries[n]]
            away, here = code.label("away"), code.label("here")
            code.choose(code.let("moved", f"icmp ne ptr {place}, {own}"), away, here)
            code.begin(away)
            code.copy(own, place, nbytes(self.carries[n]))
            code.go(here)
            code.begin(here)


def write_branch(branch: Branch, pointers: Mapping[Buffer, str], writer: Writer,
                 function: Function) -> list[str]:
    """The code of a branch."""
    code, room = _Lines(writer), room_of_branch(branch.bodies, branch.carried)
    choice, *given = branch.inputs
    base = pointers[branch.outputs[-1]]
    slots = code.array(len(given) + len(branch.outputs))
    for n, buffer in enumerate((*given, *branch.outputs)):
        code.put(slots, n, pointers[buffer])
    number = code.let("choice", f"load i32, ptr {pointers[choice]}")
    labels = [code.label("case") for _ in branch.bodies]
    done = code.label("done")
    cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels))
    code.add(f"switch i32 {number}, label %{labels[-1]} [ {cases} ]")
    for label, body in zip(labels, branch.bodies):
        code.begin(label)
        apart = {n: code.offset(base, place) for n, place in room.places.items()
                 if body.program.outputs[n] not in body.shared}
        for n, place in apart.items():
            code.put(slots, len(given) + n, place)
        code.add(f"call void @{function(body)}(ptr {slots})")
        for n, place in apart.items():
            code.copy(pointers[branch.outputs[n]], place, nbytes(branch.outputs[n]))
        code.go(done)
    code.begin(done)
    return code.lines
