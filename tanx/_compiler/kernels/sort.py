"""Library calls that sort lines of integers, written into the module that needs them.

An element is an unsigned integer, or a pair of two with the key in the second; its key is in its
highest bits. Long lines are sorted by radix: digit by digit, the lowest first, skipping digits that
all elements share. Short ones are sorted by insertion. Both are stable. ``_loops/library.py``
defines what the calls mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from string import Template

from ..._loops.names import LEAST_OF_LINES, SORT_LINES
from ..._loops.nest import Buffer, Extern
from ..cost import nbytes
from ..emit.values import Writer, in_parallel

__all__ = ["CALLS"]

_INSERTION = Template("""\
define internal void @$name(ptr %out, ptr %spare, ptr %in, i64 %n) {
entry:
br label %each
each:
%i = phi i64 [ 0, %entry ], [ %next, %placed ]
%from = getelementptr $unit, ptr %in, i64 %i
%x = load $unit, ptr %from, align $align
$key_x
br label %move
move:
%j = phi i64 [ %i, %each ], [ %before, %shift ]
%first = icmp eq i64 %j, 0
br i1 %first, label %placed, label %compare
compare:
%before = sub i64 %j, 1
%at = getelementptr $unit, ptr %out, i64 %before
%y = load $unit, ptr %at, align $align
$key_y
%greater = icmp ugt i64 %key.y, %key.x
br i1 %greater, label %shift, label %placed
shift:
%up = getelementptr $unit, ptr %out, i64 %j
store $unit %y, ptr %up, align $align
br label %move
placed:
%to = getelementptr $unit, ptr %out, i64 %j
store $unit %x, ptr %to, align $align
%next = add i64 %i, 1
%more = icmp ult i64 %next, %n
br i1 %more, label %each, label %done
done:
ret void
}""")

_RADIX = Template("""\
define internal void @$name(ptr %out, ptr %spare, ptr %in, i64 %n) {
entry:
%counts = alloca [$passes x [$digits x i32]]
call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 $table_bytes, i1 false)
%n32 = trunc i64 %n to i32
br label %count
count: ; how often each digit occurs, for all passes at once
%i = phi i64 [ 0, %entry ], [ %i.next, %count ]
%from = getelementptr $unit, ptr %in, i64 %i
%x = load $unit, ptr %from, align $align
$key_x
$count_digits
%i.next = add i64 %i, 1
%i.more = icmp ult i64 %i.next, %n
br i1 %i.more, label %count, label %plan
plan: ; the passes that move something, of which the last one fills the result
%x0 = load $unit, ptr %in, align $align
$key_x0
br label %ask
ask:
%q = phi i64 [ 0, %plan ], [ %q.next, %ask ]
%useful = phi i1 [ false, %plan ], [ %useful.next, %ask ]
%q.shift = mul i64 %q, $digit_bits
%q.high = lshr i64 %key.x0, %q.shift
%q.digit = and i64 %q.high, $mask
%q.place = getelementptr [$digits x i32], ptr %counts, i64 %q, i64 %q.digit
%q.count = load i32, ptr %q.place
%q.moves = icmp ne i32 %q.count, %n32
%useful.next = xor i1 %useful, %q.moves
%q.next = add i64 %q, 1
%q.more = icmp ult i64 %q.next, $passes
br i1 %q.more, label %ask, label %start
start:
%target.0 = select i1 %useful.next, ptr %out, ptr %spare
br label %pass
pass:
%p = phi i64 [ 0, %start ], [ %p.next, %passed ]
%source = phi ptr [ %in, %start ], [ %source.next, %passed ]
%target = phi ptr [ %target.0, %start ], [ %target.next, %passed ]
%shift = mul i64 %p, $digit_bits
%p.high = lshr i64 %key.x0, %shift
%p.digit = and i64 %p.high, $mask
%table = getelementptr [$digits x i32], ptr %counts, i64 %p
%p.place = getelementptr i32, ptr %table, i64 %p.digit
%p.count = load i32, ptr %p.place
%p.still = icmp eq i32 %p.count, %n32
br i1 %p.still, label %passed, label %sum
sum: ; counts become places
%d = phi i64 [ 0, %pass ], [ %d.next, %sum ]
%total = phi i32 [ 0, %pass ], [ %total.next, %sum ]
%d.place = getelementptr i32, ptr %table, i64 %d
%d.count = load i32, ptr %d.place
store i32 %total, ptr %d.place
%total.next = add i32 %total, %d.count
%d.next = add i64 %d, 1
%d.more = icmp ult i64 %d.next, $digits
br i1 %d.more, label %sum, label %scatter
scatter:
%k = phi i64 [ 0, %sum ], [ %k.next, %scatter ]
%k.from = getelementptr $unit, ptr %source, i64 %k
%y = load $unit, ptr %k.from, align $align
$key_y
%k.high = lshr i64 %key.y, %shift
%k.digit = and i64 %k.high, $mask
%k.place = getelementptr i32, ptr %table, i64 %k.digit
%place = load i32, ptr %k.place
%place.next = add i32 %place, 1
store i32 %place.next, ptr %k.place
%place.wide = zext i32 %place to i64
%k.to = getelementptr $unit, ptr %target, i64 %place.wide
store $unit %y, ptr %k.to, align $align
%k.next = add i64 %k, 1
%k.more = icmp ult i64 %k.next, %n
br i1 %k.more, label %scatter, label %moved
moved:
%is.out = icmp eq ptr %target, %out
%other = select i1 %is.out, ptr %spare, ptr %out
br label %passed
passed:
%source.next = phi ptr [ %source, %pass ], [ %target, %moved ]
%target.next = phi ptr [ %target, %pass ], [ %other, %moved ]
%p.next = add i64 %p, 1
%p.more = icmp ult i64 %p.next, $passes
br i1 %p.more, label %pass, label %finish
finish: ; nothing was moved if all keys are equal
%unmoved = icmp eq ptr %source.next, %in
br i1 %unmoved, label %copy, label %done
copy:
%bytes = mul i64 %n, $align
call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 %bytes, i1 false)
br label %done
done:
ret void
}""")

_LINES = Template("""\
define internal void @$name(ptr %out, ptr %spare, ptr %in, i64 %lines, i64 %n) {
entry:
br label %each
each:
%line = phi i64 [ 0, %entry ], [ %next, %each ]
%start = mul i64 %line, %n
%to = getelementptr $unit, ptr %out, i64 %start
%from = getelementptr $unit, ptr %in, i64 %start
call void @$sort(ptr %to, ptr %spare, ptr %from, i64 %n)
%next = add i64 %line, 1
%more = icmp ult i64 %next, %lines
br i1 %more, label %each, label %done
done:
ret void
}""")

_TASK = Template("""\
define internal void @$name(ptr %context, i64 %task) {
%spare.place = getelementptr ptr, ptr %context, i64 1
%in.place = getelementptr ptr, ptr %context, i64 2
%out = load ptr, ptr %context
%spare = load ptr, ptr %spare.place
%in = load ptr, ptr %in.place
%out.start = mul i64 %task, $out_stride
%spare.start = mul i64 %task, $spare_stride
%in.start = mul i64 %task, $in_stride
%out.at = getelementptr i8, ptr %out, i64 %out.start
%spare.at = getelementptr i8, ptr %spare, i64 %spare.start
%in.at = getelementptr i8, ptr %in, i64 %in.start
%done = mul i64 %task, $chunk
%left = sub i64 $lines, %done
%count = call i64 @llvm.smin.i64(i64 %left, i64 $chunk)
call void @$function(ptr %out.at, ptr %spare.at, ptr %in.at, i64 %count, i64 $n)
ret void
}""")

_LEAST = Template("""\
define internal void @$name(ptr %out, ptr %spare, ptr %in, i64 %lines, i64 %n) {
entry:
%second = getelementptr i64, ptr %spare, i64 $room
%third = getelementptr i64, ptr %second, i64 $room
br label %each
each:
%line = phi i64 [ 0, %entry ], [ %line.next, %done ]
%start = mul i64 %line, %n
%keys = getelementptr $unit, ptr %in, i64 %start
br label %begin
begin: ; the first elements are candidates, whatever they are
%b = phi i64 [ 0, %each ], [ %b.next, %begin ]
%b.from = getelementptr $unit, ptr %keys, i64 %b
%b.key = load $unit, ptr %b.from, align $align
$widen_b
%b.high = shl i64 %b.wide, 32
%b.element = or i64 %b.high, %b
%b.to = getelementptr i64, ptr %spare, i64 %b
store i64 %b.element, ptr %b.to
%b.next = add i64 %b, 1
%b.more = icmp ult i64 %b.next, $room
br i1 %b.more, label %begin, label %cut
cut: ; of all candidates the best are kept, and the last of these is to be beaten
%c.held = phi ptr [ %spare, %begin ], [ %held, %append ]
%c.free = phi ptr [ %second, %begin ], [ %free, %append ]
%c.at = phi i64 [ $room, %begin ], [ %at.next, %append ]
call void @$sort(ptr %c.free, ptr %third, ptr %c.held, i64 $room)
%c.place = getelementptr i64, ptr %c.free, i64 $last
%c.worst = load i64, ptr %c.place
%c.high = lshr i64 %c.worst, 32
%c.limit = trunc i64 %c.high to $unit
br label %scan
scan:
%s.held = phi ptr [ %c.free, %cut ], [ %s.held, %skip ], [ %held, %looked ]
%s.free = phi ptr [ %c.held, %cut ], [ %s.free, %skip ], [ %free, %looked ]
%s.count = phi i64 [ $count, %cut ], [ %s.count, %skip ], [ %l.count, %looked ]
%s.limit = phi $unit [ %c.limit, %cut ], [ %s.limit, %skip ], [ %limit, %looked ]
%s.at = phi i64 [ %c.at, %cut ], [ %s.after, %skip ], [ %at.next, %looked ]
%s.after = add i64 %s.at, $width
%s.fits = icmp ule i64 %s.after, %n
br i1 %s.fits, label %several, label %rest
several: ; most vectors hold nothing that is good enough
%v.from = getelementptr $unit, ptr %keys, i64 %s.at
%v = load <$width x $unit>, ptr %v.from, align $align
%l.first = insertelement <$width x $unit> poison, $unit %s.limit, i64 0
%l.all = shufflevector <$width x $unit> %l.first, <$width x $unit> poison, $zeros
%better = icmp ult <$width x $unit> %v, %l.all
%some = call i1 @llvm.vector.reduce.or.v${width}i1(<$width x i1> %better)
br i1 %some, label %look, label %skip
skip:
br label %scan
rest:
%r.more = icmp ult i64 %s.at, %n
br i1 %r.more, label %look, label %finish
look: ; one by one
%held = phi ptr [ %s.held, %several ], [ %s.held, %rest ], [ %held, %looked ]
%free = phi ptr [ %s.free, %several ], [ %s.free, %rest ], [ %free, %looked ]
%count = phi i64 [ %s.count, %several ], [ %s.count, %rest ], [ %l.count, %looked ]
%limit = phi $unit [ %s.limit, %several ], [ %s.limit, %rest ], [ %limit, %looked ]
%at = phi i64 [ %s.at, %several ], [ %s.at, %rest ], [ %at.next, %looked ]
%stop = phi i64 [ %s.after, %several ], [ %n, %rest ], [ %stop, %looked ]
%at.from = getelementptr $unit, ptr %keys, i64 %at
%key = load $unit, ptr %at.from, align $align
%at.next = add i64 %at, 1
%beats = icmp ult $unit %key, %limit
br i1 %beats, label %append, label %looked
append:
$widen_key
%high = shl i64 %key.wide, 32
%element = or i64 %high, %at
%to = getelementptr i64, ptr %held, i64 %count
store i64 %element, ptr %to
%count.next = add i64 %count, 1
%full = icmp eq i64 %count.next, $room
br i1 %full, label %cut, label %looked
looked:
%l.count = phi i64 [ %count, %look ], [ %count.next, %append ]
%l.more = icmp ult i64 %at.next, %stop
br i1 %l.more, label %look, label %scan
finish:
call void @$sort(ptr %s.free, ptr %third, ptr %s.held, i64 %s.count)
%result = mul i64 %line, $count
%result.at = getelementptr i64, ptr %out, i64 %result
call void @llvm.memcpy.p0.p0.i64(ptr %result.at, ptr %s.free, i64 $result_bytes, i1 false)
br label %done
done:
%line.next = add i64 %line, 1
%line.more = icmp ult i64 %line.next, %lines
br i1 %line.more, label %each, label %end
end:
ret void
}""")


_LEAST_FEW = Template("""\
define internal void @$name(ptr %out, ptr %spare, ptr %in, i64 %lines, i64 %n) {
entry:
br label %each
each:
%line = phi i64 [ 0, %entry ], [ %line.next, %finish ]
%start = mul i64 %line, %n
%keys = getelementptr $unit, ptr %in, i64 %start
br label %begin
begin: ; the first elements, whatever they are
%b.at = phi i64 [ 0, %each ], [ %b.next, %begin ]
%b.best = phi $best [ splat (i64 -1), %each ], [ %b.better, %begin ]
$insert_b
%b.next = add i64 %b.at, 1
%b.more = icmp ult i64 %b.next, $held
br i1 %b.more, label %begin, label %limit
limit: ; what is to be beaten
%l.best = phi $best [ %b.better, %begin ], [ %t.better, %take ]
%l.at = phi i64 [ $held, %begin ], [ %s.after, %take ]
%worst = extractelement $best %l.best, i64 $last
%high = lshr i64 %worst, 32
%limit.key = trunc i64 %high to $unit
%limit.first = insertelement <$width x $unit> poison, $unit %limit.key, i64 0
%limits = shufflevector <$width x $unit> %limit.first, <$width x $unit> poison, $zeros
br label %scan
scan:
%s.at = phi i64 [ %l.at, %limit ], [ %s.after, %several ]
%s.after = add i64 %s.at, $width
%s.fits = icmp ule i64 %s.after, %n
br i1 %s.fits, label %several, label %rest
several: ; most vectors hold nothing that is good enough
%v.from = getelementptr $unit, ptr %keys, i64 %s.at
%v = load <$width x $unit>, ptr %v.from, align $align
%beat = icmp ult <$width x $unit> %v, %limits
%some = call i1 @llvm.vector.reduce.or.v${width}i1(<$width x i1> %beat)
br i1 %some, label %look, label %scan
look:
%found = bitcast <$width x i1> %beat to i$width
br label %take
take:
%t.left = phi i$width [ %found, %look ], [ %t.others, %take ]
%t.best = phi $best [ %l.best, %look ], [ %t.better, %take ]
%t.lane = call i$width @llvm.cttz.i$width(i$width %t.left, i1 true)
$widen_lane
%t.at = add i64 %s.at, %t.number
$insert_t
%t.less = sub i$width %t.left, 1
%t.others = and i$width %t.left, %t.less
%t.more = icmp ne i$width %t.others, 0
br i1 %t.more, label %take, label %limit
rest:
%r.at = phi i64 [ %s.at, %scan ], [ %r.next, %one ]
%r.best = phi $best [ %l.best, %scan ], [ %r.better, %one ]
%r.more = icmp ult i64 %r.at, %n
br i1 %r.more, label %one, label %finish
one:
$insert_r
%r.next = add i64 %r.at, 1
br label %rest
finish:
%result = mul i64 %line, $count
%result.at = getelementptr i64, ptr %out, i64 %result
%kept = shufflevector $best %r.best, $best poison, <$count x i32> <$first>
store <$count x i64> %kept, ptr %result.at, align 8
%line.next = add i64 %line, 1
%line.more = icmp ult i64 %line.next, %lines
br i1 %line.more, label %each, label %end
end:
ret void
}""")

_INSERT = Template("""\
%$x.from = getelementptr $unit, ptr %keys, i64 %$x.at
%$x.key = load $unit, ptr %$x.from, align $align
%$x.wide = zext $unit %$x.key to i64
%$x.high = shl i64 %$x.wide, 32
%$x.element = or i64 %$x.high, %$x.at
%$x.one = insertelement $best poison, i64 %$x.element, i64 0
%$x.all = shufflevector $best %$x.one, $best poison, $zeros
%$x.low = call $best @llvm.umin.v${held}i64($best %$x.best, $best %$x.all)
%$x.moved = shufflevector $best %$x.best, $best zeroinitializer, <$held x i32> <$before>
%$x.better = call $best @llvm.umax.v${held}i64($best %$x.low, $best %$x.moved)""")
"""Puts an element among the best, in order: each is the lesser of itself and the new one, unless
that one comes before its neighbour as well, which then moves up."""


def _helper(writer: Writer, name: str, template: Template, **parts) -> str:
    """The name of a function that is written into the module unless it has it."""
    if name not in writer.helpers:
        writer.helpers[name] = template.substitute(name=name, **parts)
    return name


def _sort_function(writer: Writer, bits: int, pair: bool, key_bits: int, n: int) -> str:
    """The function that sorts a line of ``n`` elements of ``bits`` bits, or of pairs."""
    word, unit = f"i{bits}", f"<2 x i{bits}>" if pair else f"i{bits}"

    def key(x: str) -> str:
        get = f"lshr {word} %{x}, {bits - key_bits}"
        if pair:
            get = f"extractelement {unit} %{x}, i64 1"
        if bits == 64:
            return f"%key.{x} = {get}"
        return f"%word.{x} = {get}\n%key.{x} = zext {word} %word.{x} to i64"

    common = {"unit": unit, "align": (2 if pair else 1) * bits // 8, "key_x": key("x"),
              "key_y": key("y")}
    kind = f"{bits}{'pair' if pair else ''}.{key_bits}"
    tuning = writer.machine.tuning.sort
    if n <= tuning.short:
        return _helper(writer, f"insertion.{kind}", _INSERTION, **common)
    passes = -(-key_bits // (tuning.digit if n < tuning.long else tuning.long_digit))
    digit_bits = -(-key_bits // passes)
    for name, text in (("memset", "ptr, i8, i64, i1"), ("memcpy", "ptr, ptr, i64, i1")):
        name = f"llvm.{name}.p0.{'p0.' if name == 'memcpy' else ''}i64"
        writer.declared[name] = f"declare void @{name}({text})"
    mask = (1 << digit_bits) - 1
    counting = "\n".join(
        f"%high.{p} = lshr i64 %key.x, {p * digit_bits}\n%digit.{p} = and i64 %high.{p}, {mask}\n"
        f"%place.{p} = getelementptr [{mask + 1} x i32], ptr %counts, i64 {p}, i64 %digit.{p}\n"
        f"%count.{p} = load i32, ptr %place.{p}\n%more.{p} = add i32 %count.{p}, 1\n"
        f"store i32 %more.{p}, ptr %place.{p}" for p in range(passes))
    return _helper(writer, f"radix{digit_bits}.{kind}", _RADIX, passes=passes, mask=mask,
                   digits=mask + 1, table_bytes=4 * passes * (mask + 1), digit_bits=digit_bits,
                   count_digits=counting, key_x0=key("x0"), **common)


def _sort_lines(call: Extern, pointers: Mapping[Buffer, str], writer: Writer) -> str:
    (given,), params = call.inputs, dict(call.params)
    bits = 8 * given.dtype.itemsize
    *lines, n = given.shape[:-1] if params["pairs"] else given.shape
    sort = _sort_function(writer, bits, params["pairs"], params["bits"], n)
    unit = f"<2 x i{bits}>" if params["pairs"] else f"i{bits}"
    name = _helper(writer, f"lines.{sort}", _LINES, unit=unit, sort=sort)
    return _call(name, call, pointers, writer, prod(lines), n)


def _least_of_lines(call: Extern, pointers: Mapping[Buffer, str], writer: Writer) -> str:
    (out, spare), (given,) = call.outputs, call.inputs
    *lines, n = given.shape
    count, bits = out.shape[-1], 8 * given.dtype.itemsize
    if count <= writer.machine.tuning.sort.few:
        return _call(_least_few(writer, count, bits), call, pointers, writer, prod(lines), n)
    room, width = spare.shape[-1], 512 // bits
    sort = _sort_function(writer, 64, False, 32, room)
    reduce = f"llvm.vector.reduce.or.v{width}i1"
    writer.declared[reduce] = f"declare i1 @{reduce}(<{width} x i1>)"
    memcpy = "llvm.memcpy.p0.p0.i64"
    writer.declared[memcpy] = f"declare void @{memcpy}(ptr, ptr, i64, i1)"
    widen = {f"widen_{x}": f"%{name}.wide = zext i{bits} %{value} to i64"
             for x, name, value in (("b", "b", "b.key"), ("key", "key", "key"))}
    name = _helper(
        writer, f"least{count}.{bits}.{sort}", _LEAST, unit=f"i{bits}", align=bits // 8, room=room,
        last=count - 1, count=count, width=width, sort=sort, result_bytes=8 * count,
        zeros=f"<{width} x i32> zeroinitializer", **widen)
    return _call(name, call, pointers, writer, prod(lines), n)


def _least_few(writer: Writer, count: int, bits: int) -> str:
    """The function that keeps the best elements of each line in registers."""
    held, width, unit = max(2, 1 << (count - 1).bit_length()), 512 // bits, f"i{bits}"
    best = f"<{held} x i64>"
    for name, result, args in (
            (f"vector.reduce.or.v{width}i1", "i1", f"<{width} x i1>"),
            (f"cttz.i{width}", f"i{width}", f"i{width}, i1"),
            (f"umin.v{held}i64", best, f"{best}, {best}"),
            (f"umax.v{held}i64", best, f"{best}, {best}")):
        writer.declared[f"llvm.{name}"] = f"declare {result} @llvm.{name}({args})"
    common = {"unit": unit, "align": bits // 8, "best": best, "held": held}
    lanes = lambda numbers: ", ".join(f"i32 {n}" for n in numbers)
    inserts = {f"insert_{x}": _INSERT.substitute(
        x=x, zeros=f"<{held} x i32> zeroinitializer", before=lanes([held, *range(held - 1)]),
        **common) for x in "btr"}
    widen = "%t.number = " + ("or i64 %t.lane, 0" if width == 64 else
                              f"zext i{width} %t.lane to i64")
    return _helper(writer, f"least{count}.{bits}", _LEAST_FEW, width=width, last=held - 1,
                   count=count, zeros=f"<{width} x i32> zeroinitializer", widen_lane=widen,
                   first=lanes(range(count)), **common, **inserts)


def _call(name: str, call: Extern, pointers: Mapping[Buffer, str], writer: Writer, lines: int,
          n: int) -> str:
    """The call of a function for all lines; in tasks where there is spare room for several."""
    out, spare = call.outputs
    tasks = spare.shape[0]
    addresses = [pointers[buffer] for buffer in (out, spare, *call.inputs)]
    if tasks == 1:
        return f"call void @{name}(ptr {', ptr '.join(addresses)}, i64 {lines}, i64 {n})"
    chunk = -(-lines // tasks)
    strides = [chunk * nbytes(out) // lines, nbytes(spare) // tasks,
               chunk * nbytes(call.inputs[0]) // lines]
    task = _helper(writer, f"task{'x'.join(map(str, (lines, n, *strides)))}.{name}", _TASK,
                   function=name, lines=lines, n=n, chunk=chunk, **dict(zip(
                       ("out_stride", "spare_stride", "in_stride"), strides)))
    return in_parallel(writer, task, addresses, -(-lines // chunk))


CALLS: Mapping[str, Callable[[Extern, Mapping[Buffer, str], Writer], str]] = {
    SORT_LINES: _sort_lines, LEAST_OF_LINES: _least_of_lines}
"""Writes the call of a library function, and the function; by its name."""
