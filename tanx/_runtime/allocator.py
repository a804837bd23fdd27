"""The allocator's code, as text for LLVM; see ``host.py`` for what it does.

A block is a header of 64 bytes and the data. The header has: the next block in the list of its
class, the class, the capacity, the bytes asked for, where its memory begins, how long that is
(0: it is malloc's), and whether it has not been used since the system gave it, as zeros.

One lock guards the lists and the counts. It is held for some nanoseconds, never around a call of
the system, and who finds it taken lets other threads run.
"""

__all__ = ["ARGUMENTS", "COUNTS", "TEXT"]

COUNTS = ("bytes_in_use", "peak_bytes_in_use", "num_allocs", "largest_alloc_size",
          "bytes_reserved", "peak_bytes_reserved", "bytes_cached", "bytes_limit", "num_blocks")
"""What the allocator counts, in the order of its words."""

ARGUMENTS = """
declare i64 @PyLong_AsSsize_t(ptr)

; The number that is an argument of a function called from Python.
define internal i64 @number(ptr %args, i64 %i) {{
  %at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %at
  %value = call i64 @PyLong_AsSsize_t(ptr %object)
  ret i64 %value
}}

; Where the data is of the arrays that are the last arguments: writes so many addresses.
define internal void @addresses(ptr %args, i64 %first, i64 %count, ptr %into) {{
entry:
  %arrays = getelementptr ptr, ptr %args, i64 %first
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %following, %array ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %array, label %end
array:
  %argument_at = getelementptr ptr, ptr %arrays, i64 %i
  %argument = load ptr, ptr %argument_at
  %data_at = getelementptr i8, ptr %argument, i64 {data}
  %data = load ptr, ptr %data_at
  %address_at = getelementptr ptr, ptr %into, i64 %i
  store ptr %data, ptr %address_at
  %following = add i64 %i, 1
  br label %next
end:
  ret void
}}
"""
"""How functions that Python calls take their arguments."""

TEXT = ARGUMENTS + """
%header = type {{ ptr, i64, i64, i64, ptr, i64, i64, i64 }}

@lists = internal global [256 x ptr] zeroinitializer, align 128
@lock = internal global i32 0, align 128
@counts = internal global [9 x i64] zeroinitializer, align 128
@colour = internal global i64 0
@most_kept = internal global i64 0

declare ptr @PyLong_FromSsize_t(i64)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_yield()

define internal void @acquire() {{
entry:
  br label %try
try:
  %held = atomicrmw xchg ptr @lock, i32 1 acquire
  %mine = icmp eq i32 %held, 0
  br i1 %mine, label %done, label %later
later:
  %yielded = call i32 @sched_yield()
  br label %try
done:
  ret void
}}

define internal void @release() {{
  store atomic i32 0, ptr @lock release, align 4
  ret void
}}

; Adds to one of the counts; the lock is held.
define internal i64 @count(i64 %which, i64 %more) {{
  %place = getelementptr i64, ptr @counts, i64 %which
  %before = load i64, ptr %place
  %after = add i64 %before, %more
  store i64 %after, ptr %place
  ret i64 %after
}}

define internal void @raise(i64 %which, i64 %value) {{
  %place = getelementptr i64, ptr @counts, i64 %which
  %before = load i64, ptr %place
  %after = call i64 @llvm.smax.i64(i64 %before, i64 %value)
  store i64 %after, ptr %place
  ret void
}}

; Takes the first block of a class off its list, or null; the lock is held.
define internal ptr @pop(i64 %class) {{
entry:
  %list = getelementptr ptr, ptr @lists, i64 %class
  %block = load ptr, ptr %list
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %take
take:
  %next = load ptr, ptr %block
  store ptr %next, ptr %list
  %at = getelementptr %header, ptr %block, i64 0, i32 2
  %capacity = load i64, ptr %at
  %less = sub i64 0, %capacity
  %cached = call i64 @count(i64 {bytes_cached}, i64 %less)
  br label %done
done:
  ret ptr %block
}}

; Counts a block that is handed out; the lock is held.
define internal void @hand_out(ptr %block, i64 %bytes) {{
  %at = getelementptr %header, ptr %block, i64 0, i32 3
  store i64 %bytes, ptr %at
  %used = call i64 @count(i64 {bytes_in_use}, i64 %bytes)
  call void @raise(i64 {peak_bytes_in_use}, i64 %used)
  %allocs = call i64 @count(i64 {num_allocs}, i64 1)
  call void @raise(i64 {largest_alloc_size}, i64 %bytes)
  %blocks = call i64 @count(i64 {num_blocks}, i64 1)
  ret void
}}

define ptr @tanx_alloc(i64 %bytes) {{
entry:
  %absurd = icmp ugt i64 %bytes, {most}
  br i1 %absurd, label %refuse, label %classify
classify:
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 1)
  %last = sub i64 %some, 1
  %lines = lshr i64 %last, 6
  %zeros = call i64 @llvm.ctlz.i64(i64 %lines, i1 false)
  %length = sub i64 61, %zeros
  %shift = call i64 @llvm.smax.i64(i64 %length, i64 0)
  %mantissa = lshr i64 %lines, %shift
  %octave = mul i64 %shift, 4
  %class = add i64 %octave, %mantissa
  %steps = add i64 %mantissa, 1
  %scale = add i64 %shift, 6
  %capacity = shl i64 %steps, %scale
  call void @acquire()
  %kept = call ptr @pop(i64 %class)
  %miss = icmp eq ptr %kept, null
  br i1 %miss, label %slow, label %hit
hit:
  call void @hand_out(ptr %kept, i64 %bytes)
  call void @release()
  br label %done
slow:
  call void @release()
  %first = call ptr @fresh(i64 %capacity)
  %failed = icmp eq ptr %first, null
  br i1 %failed, label %again, label %made
again:
  call void @tanx_trim(i64 0)
  %second = call ptr @fresh(i64 %capacity)
  %hopeless = icmp eq ptr %second, null
  br i1 %hopeless, label %refuse, label %made
made:
  %new = phi ptr [ %first, %slow ], [ %second, %again ]
  %class_at = getelementptr %header, ptr %new, i64 0, i32 1
  store i64 %class, ptr %class_at
  %capacity_at = getelementptr %header, ptr %new, i64 0, i32 2
  store i64 %capacity, ptr %capacity_at
  call void @acquire()
  call void @hand_out(ptr %new, i64 %bytes)
  %reserved = call i64 @count(i64 {bytes_reserved}, i64 %capacity)
  call void @raise(i64 {peak_bytes_reserved}, i64 %reserved)
  call void @release()
  br label %done
done:
  %block = phi ptr [ %kept, %hit ], [ %new, %made ]
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
refuse:
  ret ptr null
}}

; A block from the system; null if the system has none or the limit would be exceeded.
; Large ones begin at different lines of a page: arrays that are
; gone through side by side would else compete for the same lines of cache. They are mapped where
; huge pages may be, and have as many as they fill half or more: to get memory by the usual ones
; takes ten times as long.
define internal ptr @fresh(i64 %capacity) {{
entry:
  %place = alloca ptr
  %large = icmp uge i64 %capacity, {large}
  br i1 %large, label %weigh, label %allocate
weigh:
  %over = call i1 @too_much(i64 %capacity)
  br i1 %over, label %none, label %map
allocate:
  %total = add i64 %capacity, 64
  %failed = call i32 @posix_memalign(ptr %place, i64 64, i64 %total)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %allocated, label %none
allocated:
  %small = load ptr, ptr %place
  br label %done
map:
  %turn = atomicrmw add ptr @colour, i64 1 monotonic
  %sixteenth = and i64 %turn, 15
  %offset = mul i64 %sixteenth, 1088
  %padded = add i64 %capacity, 20480
  %up = add i64 %padded, {less_than_huge}
  %span = and i64 %up, {whole_huge}
  %ample = add i64 %span, {huge_page}
  %mapped = call ptr @mmap(ptr null, i64 %ample, i32 {protection}, i32 {mapping}, i32 -1, i64 0)
  %refused = icmp eq ptr %mapped, inttoptr (i64 -1 to ptr)
  br i1 %refused, label %none, label %advise
advise:
  %anywhere = ptrtoint ptr %mapped to i64
  %beyond = sub i64 0, %anywhere
  %before = and i64 %beyond, {less_than_huge}
  %after = sub i64 {huge_page}, %before
  %aligned = getelementptr i8, ptr %mapped, i64 %before
  %end = getelementptr i8, ptr %aligned, i64 %span
  %cut = call i32 @munmap(ptr %mapped, i64 %before)
  %cut1 = call i32 @munmap(ptr %end, i64 %after)
  %rounded = add i64 %padded, {half_huge}
  %filled = and i64 %rounded, {whole_huge}
  %advised = call i32 @madvise(ptr %aligned, i64 %filled, i32 {huge})
  %begin = getelementptr i8, ptr %aligned, i64 %offset
  br label %done
done:
  %block = phi ptr [ %small, %allocated ], [ %begin, %advise ]
  %base = phi ptr [ %small, %allocated ], [ %aligned, %advise ]
  %length = phi i64 [ 0, %allocated ], [ %span, %advise ]
  %clean = phi i64 [ 0, %allocated ], [ 1, %advise ]
  %base_at = getelementptr %header, ptr %block, i64 0, i32 4
  store ptr %base, ptr %base_at
  %length_at = getelementptr %header, ptr %block, i64 0, i32 5
  store i64 %length, ptr %length_at
  %clean_at = getelementptr %header, ptr %block, i64 0, i32 6
  store i64 %clean, ptr %clean_at
  ret ptr %block
none:
  ret ptr null
}}

define void @tanx_free(ptr %data) {{
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %done, label %some
some:
  %block = getelementptr i8, ptr %data, i64 -64
  %class_at = getelementptr %header, ptr %block, i64 0, i32 1
  %class = load i64, ptr %class_at
  %capacity_at = getelementptr %header, ptr %block, i64 0, i32 2
  %capacity = load i64, ptr %capacity_at
  %bytes_at = getelementptr %header, ptr %block, i64 0, i32 3
  %bytes = load i64, ptr %bytes_at
  %clean_at = getelementptr %header, ptr %block, i64 0, i32 6
  store i64 0, ptr %clean_at
  %less = sub i64 0, %bytes
  %list = getelementptr ptr, ptr @lists, i64 %class
  call void @acquire()
  %used = call i64 @count(i64 {bytes_in_use}, i64 %less)
  %blocks = call i64 @count(i64 {num_blocks}, i64 -1)
  %next = load ptr, ptr %list
  store ptr %next, ptr %block
  store ptr %block, ptr %list
  %cached = call i64 @count(i64 {bytes_cached}, i64 %capacity)
  %limit = load i64, ptr @most_kept
  call void @release()
  %over = icmp sgt i64 %cached, %limit
  br i1 %over, label %trim, label %done
trim:
  %half = lshr i64 %limit, 1
  call void @tanx_trim(i64 %half)
  br label %done
done:
  ret void
}}

; Gives kept blocks back to the system until at most so many bytes are kept.
define void @tanx_trim(i64 %keep) {{
entry:
  br label %next
next:
  %class = phi i64 [ 255, %entry ], [ %class, %unmap ], [ %class, %malloced ], [ %lower, %empty ]
  call void @acquire()
  %cached = call i64 @count(i64 {bytes_cached}, i64 0)
  %enough = icmp sle i64 %cached, %keep
  br i1 %enough, label %done, label %take
take:
  %block = call ptr @pop(i64 %class)
  %none = icmp eq ptr %block, null
  br i1 %none, label %empty, label %found
empty:
  call void @release()
  %lower = sub i64 %class, 1
  %more = icmp sge i64 %lower, 0
  br i1 %more, label %next, label %end
found:
  %capacity_at = getelementptr %header, ptr %block, i64 0, i32 2
  %capacity = load i64, ptr %capacity_at
  %less = sub i64 0, %capacity
  %reserved = call i64 @count(i64 {bytes_reserved}, i64 %less)
  call void @release()
  %base_at = getelementptr %header, ptr %block, i64 0, i32 4
  %base = load ptr, ptr %base_at
  %length_at = getelementptr %header, ptr %block, i64 0, i32 5
  %length = load i64, ptr %length_at
  %mapped = icmp ne i64 %length, 0
  br i1 %mapped, label %unmap, label %malloced
unmap:
  %unmapped = call i32 @munmap(ptr %base, i64 %length)
  br label %next
malloced:
  call void @free(ptr %base)
  br label %next
done:
  call void @release()
  br label %end
end:
  ret void
}}

; Sets the limit of bytes in all blocks, and in free blocks that are kept.
define void @tanx_limit(i64 %all, i64 %kept) {{
  %place = getelementptr i64, ptr @counts, i64 {bytes_limit}
  store i64 %all, ptr %place
  store i64 %kept, ptr @most_kept
  ret void
}}

; Whether a new block would make all blocks together larger than they may be.
define internal i1 @too_much(i64 %capacity) {{
  call void @acquire()
  %reserved = call i64 @count(i64 {bytes_reserved}, i64 0)
  %limit = call i64 @count(i64 {bytes_limit}, i64 0)
  call void @release()
  %total = add i64 %reserved, %capacity
  %over = icmp sgt i64 %total, %limit
  ret i1 %over
}}

; The Python function count(bytes): counts memory that was not had from here, or goes; tells how
; much is in use.
define ptr @python_count(ptr %self, ptr %args, i64 %count) {{
  %bytes = call i64 @number(ptr %args, i64 0)
  call void @acquire()
  %used = call i64 @count(i64 {bytes_in_use}, i64 %bytes)
  call void @raise(i64 {peak_bytes_in_use}, i64 %used)
  call void @release()
  %result = call ptr @PyLong_FromSsize_t(i64 %used)
  ret ptr %result
}}

define void @tanx_statistics(ptr %out) {{
  call void @acquire()
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr @counts, i64 72, i1 false)
  call void @release()
  ret void
}}

; In the child of a fork: who held the lock is not there. Lists are whole at every moment.
define void @tanx_forked() {{
  store i32 0, ptr @lock
  ret void
}}

; -- NumPy's interface for allocators --

define ptr @numpy_malloc(ptr %context, i64 %bytes) {{
  %data = call ptr @tanx_alloc(i64 %bytes)
  ret ptr %data
}}

define ptr @numpy_calloc(ptr %context, i64 %count, i64 %size) {{
entry:
  %product = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %bytes = extractvalue {{ i64, i1 }} %product, 0
  %overflow = extractvalue {{ i64, i1 }} %product, 1
  br i1 %overflow, label %none, label %allocate
allocate:
  %data = call ptr @tanx_alloc(i64 %bytes)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %none, label %got
got:
  %block = getelementptr i8, ptr %data, i64 -64
  %clean_at = getelementptr %header, ptr %block, i64 0, i32 6
  %clean = load i64, ptr %clean_at
  %zero = icmp ne i64 %clean, 0
  br i1 %zero, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  br label %done
done:
  ret ptr %data
none:
  ret ptr null
}}

define ptr @numpy_realloc(ptr %context, ptr %data, i64 %bytes) {{
entry:
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %allocate, label %look
allocate:
  %first = call ptr @tanx_alloc(i64 %bytes)
  ret ptr %first
look:
  %block = getelementptr i8, ptr %data, i64 -64
  %capacity_at = getelementptr %header, ptr %block, i64 0, i32 2
  %capacity = load i64, ptr %capacity_at
  %fits = icmp ule i64 %bytes, %capacity
  br i1 %fits, label %same, label %move
same:
  ret ptr %data
move:
  %other = call ptr @tanx_alloc(i64 %bytes)
  %failed = icmp eq ptr %other, null
  br i1 %failed, label %none, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %other, ptr %data, i64 %capacity, i1 false)
  call void @tanx_free(ptr %data)
  ret ptr %other
none:
  ret ptr null
}}

define void @numpy_free(ptr %context, ptr %data, i64 %bytes) {{
  call void @tanx_free(ptr %data)
  ret void
}}

; -- arrays --

@array_type = internal global ptr null
@new_array = internal global ptr null
@handler = internal global ptr null
@none = internal global ptr null
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Occurred()
declare void @Py_IncRef(ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)

; Tells where NumPy's type and function for new arrays are, the allocator for NumPy, and None.
define void @tanx_setup(ptr %array_type, ptr %new_array, ptr %handler, ptr %none) {{
  store ptr %array_type, ptr @array_type
  store ptr %new_array, ptr @new_array
  store ptr %handler, ptr @handler
  store ptr %none, ptr @none
  ret void
}}

define ptr @tanx_array(ptr %dtype, i32 %ndim, ptr %shape) {{
entry:
  %size_at = getelementptr i8, ptr %dtype, i64 {itemsize}
  %itemsize = load i64, ptr %size_at
  %rank = sext i32 %ndim to i64
  br label %axis
axis:
  %i = phi i64 [ 0, %entry ], [ %following, %extent ]
  %bytes = phi i64 [ %itemsize, %entry ], [ %larger, %extent ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %extent, label %allocate
extent:
  %extent_at = getelementptr i64, ptr %shape, i64 %i
  %n = load i64, ptr %extent_at
  %product = call {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64 %bytes, i64 %n)
  %larger = extractvalue {{ i64, i1 }} %product, 0
  %overflow = extractvalue {{ i64, i1 }} %product, 1
  %following = add i64 %i, 1
  br i1 %overflow, label %none, label %axis
allocate:
  %data = call ptr @tanx_alloc(i64 %bytes)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %none, label %wrap
wrap:
  call void @Py_IncRef(ptr %dtype)
  %type = load ptr, ptr @array_type
  %new = load ptr, ptr @new_array
  %array = call ptr %new(ptr %type, ptr %dtype, i32 %ndim, ptr %shape, ptr null, ptr %data,
                         i32 {carray}, ptr null)
  %refused = icmp eq ptr %array, null
  br i1 %refused, label %drop, label %own
own:
  %flags_at = getelementptr i8, ptr %array, i64 {flags}
  %flags = load i32, ptr %flags_at
  %owned = or i32 %flags, {owndata}
  store i32 %owned, ptr %flags_at
  %handler = load ptr, ptr @handler
  call void @Py_IncRef(ptr %handler)
  %handler_at = getelementptr i8, ptr %array, i64 {mem_handler}
  store ptr %handler, ptr %handler_at
  ret ptr %array
drop:
  call void @tanx_free(ptr %data)
  ret ptr null
none:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
}}

; The Python function empty(shape, dtype).
define ptr @python_empty(ptr %self, ptr %args, i64 %count) {{
entry:
  %extents = alloca [64 x i64]
  %shape = load ptr, ptr %args
  %dtype_at = getelementptr ptr, ptr %args, i64 1
  %dtype = load ptr, ptr %dtype_at
  %ndim = call i64 @PyTuple_Size(ptr %shape)
  %bad = icmp ugt i64 %ndim, 64
  br i1 %bad, label %error, label %axis
axis:
  %i = phi i64 [ 0, %entry ], [ %following, %extent ]
  %more = icmp slt i64 %i, %ndim
  br i1 %more, label %extent, label %make
extent:
  %item = call ptr @PyTuple_GetItem(ptr %shape, i64 %i)
  %n = call i64 @PyLong_AsSsize_t(ptr %item)
  %place = getelementptr i64, ptr %extents, i64 %i
  store i64 %n, ptr %place
  %following = add i64 %i, 1
  %negative = icmp slt i64 %n, 0
  br i1 %negative, label %error, label %axis
make:
  %rank = trunc i64 %ndim to i32
  %array = call ptr @tanx_array(ptr %dtype, i32 %rank, ptr %extents)
  ret ptr %array
error:
  %already = call ptr @PyErr_Occurred()
  %said = icmp ne ptr %already, null
  br i1 %said, label %end, label %say
say:
  %memory = call ptr @PyErr_NoMemory()
  br label %end
end:
  ret ptr null
}}

; The Python function run(program, arena, *arrays): calls a program with the addresses of arrays and
; of an arena of so many bytes; the GIL is released meanwhile.
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define ptr @python_run(ptr %self, ptr %args, i64 %count) {{
entry:
  %program_number = call i64 @number(ptr %args, i64 0)
  %program = inttoptr i64 %program_number to ptr
  %bytes = call i64 @number(ptr %args, i64 1)
  %addresses = alloca ptr, i64 %count
  %arrays = sub i64 %count, 2
  call void @addresses(ptr %args, i64 2, i64 %arrays, ptr %addresses)
  %temporaries = call ptr @tanx_alloc(i64 %bytes)
  %failed = icmp eq ptr %temporaries, null
  br i1 %failed, label %refuse, label %go
go:
  %last = getelementptr ptr, ptr %addresses, i64 %arrays
  store ptr %temporaries, ptr %last
  %state = call ptr @PyEval_SaveThread()
  call void %program(ptr %addresses)
  call void @PyEval_RestoreThread(ptr %state)
  call void @tanx_free(ptr %temporaries)
  %result = load ptr, ptr @none
  call void @Py_IncRef(ptr %result)
  ret ptr %result
refuse:
  %error = call ptr @PyErr_NoMemory()
  ret ptr null
}}
"""
