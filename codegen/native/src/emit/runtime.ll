; What generated code does with its arena. Linked into each module, and gone where nobody uses it.
;
; The layouts are those of `abi::Context` and `abi::Arena`.

; base, bytes, top, end, peak
%arena = type { ptr, i64, ptr, ptr, ptr }
; base, bytes, peak, owned, reserved: in the context
%memory = type { ptr, i64, i64, i64, i64 }
; parallel_for, pool, workers
%threads = type { ptr, ptr, i64 }
; user, write, stack_bytes, arena, threads; the error follows
%context = type { ptr, ptr, i64, %memory, %threads }

declare i64 @sysconf(i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

; The arena of a call: what the context has, else reserved address space, which the context keeps. The
; result is 0, or the bytes that could not be had.
define i64 @lmc.open(ptr %ctx, ptr %arena) noinline {
start:
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %ask, label %look
look:
  %base_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 0
  %bytes_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 1
  %given_base = load ptr, ptr %base_field
  %given_bytes = load i64, ptr %bytes_field
  %given = icmp ne ptr %given_base, null
  br i1 %given, label %use, label %ask
ask:
  %asked = phi i64 [ 0, %start ], [ %given_bytes, %look ]
  %unsaid = icmp eq i64 %asked, 0
  br i1 %unsaid, label %measure, label %reserve
measure:
  ; A quarter of physical memory: _SC_PHYS_PAGES * _SC_PAGESIZE / 4.
  %pages = call i64 @sysconf(i32 85)
  %page = call i64 @sysconf(i32 30)
  %physical = mul i64 %pages, %page
  %quarter = lshr i64 %physical, 2
  br label %reserve
reserve:
  %size = phi i64 [ %asked, %ask ], [ %quarter, %measure ], [ %half, %smaller ]
  ; PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
  %mapped = call ptr @mmap(ptr null, i64 %size, i32 3, i32 16418, i32 -1, i64 0)
  %failed = icmp eq ptr %mapped, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %retry, label %got
retry:
  ; The process may be limited to less address space.
  %half = lshr i64 %size, 1
  %enough = icmp ugt i64 %half, 65536
  %again = and i1 %unsaid, %enough
  br i1 %again, label %smaller, label %give_up
smaller:
  br label %reserve
give_up:
  ret i64 %size
got:
  br i1 %no_context, label %use, label %remember
remember:
  %base_field_2 = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 0
  %bytes_field_2 = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 1
  %owned_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 3
  store ptr %mapped, ptr %base_field_2
  store i64 %size, ptr %bytes_field_2
  store i64 1, ptr %owned_field
  br label %use
use:
  %base = phi ptr [ %given_base, %look ], [ %mapped, %got ], [ %mapped, %remember ]
  %bytes = phi i64 [ %given_bytes, %look ], [ %size, %got ], [ %size, %remember ]
  %address = ptrtoint ptr %base to i64
  %above = add i64 %address, 15
  %first = and i64 %above, -16
  %past = add i64 %address, %bytes
  %last_aligned = and i64 %past, -16
  %fits = icmp ugt i64 %last_aligned, %first
  %last = select i1 %fits, i64 %last_aligned, i64 %first
  %top = inttoptr i64 %first to ptr
  %end = inttoptr i64 %last to ptr
  %f0 = getelementptr %arena, ptr %arena, i32 0, i32 0
  %f1 = getelementptr %arena, ptr %arena, i32 0, i32 1
  %f2 = getelementptr %arena, ptr %arena, i32 0, i32 2
  %f3 = getelementptr %arena, ptr %arena, i32 0, i32 3
  %f4 = getelementptr %arena, ptr %arena, i32 0, i32 4
  store ptr %base, ptr %f0
  store i64 %bytes, ptr %f1
  store ptr %top, ptr %f2
  store ptr %end, ptr %f3
  store ptr %top, ptr %f4
  ret i64 0
}

; The end of a call: the context learns the peak; without one, the arena goes back.
define void @lmc.close(ptr %ctx, ptr %arena) noinline {
  %f0 = getelementptr %arena, ptr %arena, i32 0, i32 0
  %f1 = getelementptr %arena, ptr %arena, i32 0, i32 1
  %f4 = getelementptr %arena, ptr %arena, i32 0, i32 4
  %base = load ptr, ptr %f0
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %unmap, label %tell
unmap:
  %bytes = load i64, ptr %f1
  %ignored = call i32 @munmap(ptr %base, i64 %bytes)
  ret void
tell:
  %peak = load ptr, ptr %f4
  %a = ptrtoint ptr %peak to i64
  %b = ptrtoint ptr %base to i64
  %most = sub i64 %a, %b
  %peak_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 2
  store i64 %most, ptr %peak_field
  ret void
}

; Gives back what the library reserved for a context.
define weak void @lmc_context_free(ptr %ctx) {
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %done, label %look
look:
  %base_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 0
  %bytes_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 1
  %owned_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 3
  %owned = load i64, ptr %owned_field
  %ours = icmp ne i64 %owned, 0
  br i1 %ours, label %unmap, label %done
unmap:
  %base = load ptr, ptr %base_field
  %bytes = load i64, ptr %bytes_field
  %ignored = call i32 @munmap(ptr %base, i64 %bytes)
  store ptr null, ptr %base_field
  store i64 0, ptr %bytes_field
  store i64 0, ptr %owned_field
  br label %done
done:
  ret void
}

; Whether a query must run again: its arena had too few addresses. Then the context asks for 64 times as many, up to
; 2^46.
define i1 @lmc.widen(ptr %ctx, i32 %status) noinline {
  %bytes_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 1
  %bytes = load i64, ptr %bytes_field
  %exhausted = icmp eq i32 %status, 9
  %small = icmp ult i64 %bytes, 70368744177664
  %again = and i1 %exhausted, %small
  br i1 %again, label %widen, label %done
widen:
  call void @lmc_context_free(ptr %ctx)
  %many = shl i64 %bytes, 6
  %large = icmp ugt i64 %many, 70368744177664
  %wider = select i1 %large, i64 70368744177664, i64 %many
  store i64 %wider, ptr %bytes_field
  ret i1 true
done:
  ret i1 false
}

declare i32 @clock_gettime(i32, ptr)

; Seconds since some moment.
define double @lmc.now() noinline {
  %time = alloca [2 x i64]
  ; CLOCK_MONOTONIC
  %ignored = call i32 @clock_gettime(i32 1, ptr %time)
  %fraction_field = getelementptr [2 x i64], ptr %time, i64 0, i64 1
  %whole = load i64, ptr %time
  %billionths = load i64, ptr %fraction_field
  %a = sitofp i64 %whole to double
  %b = sitofp i64 %billionths to double
  %c = fdiv double %b, 1.0e9
  %d = fadd double %a, %c
  ret double %d
}

; A buffer of so many elements, in units of 16 bytes; null where the arena is exhausted.
define ptr @lmc.alloc(ptr %arena, i64 %count, i64 %size) {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %end_field = getelementptr %arena, ptr %arena, i32 0, i32 3
  %peak_field = getelementptr %arena, ptr %arena, i32 0, i32 4
  ; LLVM is to see that what was taken is something.
  %top = load ptr, ptr %top_field, !nonnull !{}
  %end = load ptr, ptr %end_field
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr %top to i64
  %free = sub i64 %a, %b
  %most = udiv i64 %free, %size
  %fits = icmp ule i64 %count, %most
  br i1 %fits, label %take, label %exhausted
take:
  %bytes = mul i64 %count, %size
  %above = add i64 %bytes, 15
  %rounded = and i64 %above, -16
  %new = getelementptr inbounds i8, ptr %top, i64 %rounded
  store ptr %new, ptr %top_field
  %peak = load ptr, ptr %peak_field
  %higher = icmp ugt ptr %new, %peak
  %most_yet = select i1 %higher, ptr %new, ptr %peak
  store ptr %most_yet, ptr %peak_field
  ret ptr %top
exhausted:
  ret ptr null
}

; A context, of zeros so far, with the stack and the threads of another one.
define void @lmc.like(ptr %ctx, ptr %own) noinline {
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %done, label %copy
copy:
  %from = getelementptr %context, ptr %ctx, i32 0, i32 2
  %to = getelementptr %context, ptr %own, i32 0, i32 2
  %stack = load i64, ptr %from
  store i64 %stack, ptr %to
  %from_threads = getelementptr %context, ptr %ctx, i32 0, i32 4
  %to_threads = getelementptr %context, ptr %own, i32 0, i32 4
  %runners = load %threads, ptr %from_threads
  store %threads %runners, ptr %to_threads
  br label %done
done:
  ret void
}

; An arena of addresses that nobody has, for what takes from it and looks at nothing there: from 2^62, of 2^61 bytes.
define void @lmc.pretend(ptr %arena) noinline {
  %f0 = getelementptr %arena, ptr %arena, i32 0, i32 0
  %f1 = getelementptr %arena, ptr %arena, i32 0, i32 1
  %f2 = getelementptr %arena, ptr %arena, i32 0, i32 2
  %f3 = getelementptr %arena, ptr %arena, i32 0, i32 3
  %f4 = getelementptr %arena, ptr %arena, i32 0, i32 4
  store i64 4611686018427387904, ptr %f0
  store i64 2305843009213693952, ptr %f1
  store i64 4611686018427387904, ptr %f2
  store i64 6917529027641081856, ptr %f3
  store i64 4611686018427387904, ptr %f4
  ret void
}

; How much was in use at once.
define void @lmc.tell_use(ptr %arena, ptr %bytes) noinline {
  %f0 = getelementptr %arena, ptr %arena, i32 0, i32 0
  %f4 = getelementptr %arena, ptr %arena, i32 0, i32 4
  %base = load i64, ptr %f0
  %peak = load i64, ptr %f4
  %most = sub i64 %peak, %base
  store i64 %most, ptr %bytes
  ret void
}

; Who runs the chunks of loops where there is hardly any work in them: the caller, one after the other. As many
; workers have an arena.
define void @lmc.run_in_order(ptr %ctx) noinline {
  %function_field = getelementptr %context, ptr %ctx, i32 0, i32 4, i32 0
  %function = load ptr, ptr %function_field
  %none = icmp eq ptr %function, null
  br i1 %none, label %done, label %set
set:
  store ptr @lmc.in_order, ptr %function_field
  br label %done
done:
  ret void
}

define void @lmc.in_order(ptr %pool, ptr %body, ptr %env, i64 %chunks) {
start:
  br label %loop
loop:
  %chunk = phi i64 [ 0, %start ], [ %next, %step ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %step, label %done
step:
  call void %body(ptr %env, i64 %chunk, i64 0)
  %next = add i64 %chunk, 1
  br label %loop
done:
  ret void
}

define void @lmc.tell_peak(ptr %ctx, ptr %bytes) noinline {
  %peak_field = getelementptr %context, ptr %ctx, i32 0, i32 3, i32 2
  %peak = load i64, ptr %peak_field
  store i64 %peak, ptr %bytes
  ret void
}

; A context, of zeros so far, for a function that is implemented elsewhere: callbacks and threads of ours, and what
; is free of the arena.
define void @lmc.lend(ptr %ctx, ptr %arena, ptr %lent) noinline {
start:
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %end_field = getelementptr %arena, ptr %arena, i32 0, i32 3
  %top = load ptr, ptr %top_field
  %end = load ptr, ptr %end_field
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr %top to i64
  %free = sub i64 %a, %b
  %base_field = getelementptr %context, ptr %lent, i32 0, i32 3, i32 0
  %bytes_field = getelementptr %context, ptr %lent, i32 0, i32 3, i32 1
  store ptr %top, ptr %base_field
  store i64 %free, ptr %bytes_field
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %done, label %copy
copy:
  %user_field = getelementptr %context, ptr %ctx, i32 0, i32 0
  %write_field = getelementptr %context, ptr %ctx, i32 0, i32 1
  %user = load ptr, ptr %user_field
  %write = load ptr, ptr %write_field
  %lent_user_field = getelementptr %context, ptr %lent, i32 0, i32 0
  %lent_write_field = getelementptr %context, ptr %lent, i32 0, i32 1
  store ptr %user, ptr %lent_user_field
  store ptr %write, ptr %lent_write_field
  %threads_field = getelementptr %context, ptr %ctx, i32 0, i32 4
  %lent_threads_field = getelementptr %context, ptr %lent, i32 0, i32 4
  %runners = load %threads, ptr %threads_field
  store %threads %runners, ptr %lent_threads_field
  br label %done
done:
  ret void
}

; What was used of what was lent is in use; it cannot be more than was free.
define void @lmc.take_lent(ptr %arena, ptr %lent) noinline {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %peak_field = getelementptr %arena, ptr %arena, i32 0, i32 4
  %used_field = getelementptr %context, ptr %lent, i32 0, i32 3, i32 2
  %top = load ptr, ptr %top_field
  %peak = load ptr, ptr %peak_field
  %used = load i64, ptr %used_field
  %free = call i64 @lmc.free(ptr %arena)
  %most = call i64 @llvm.umin.i64(i64 %used, i64 %free)
  %above = add i64 %most, 15
  %rounded = and i64 %above, -16
  %new = getelementptr i8, ptr %top, i64 %rounded
  store ptr %new, ptr %top_field
  %higher = icmp ugt ptr %new, %peak
  %most_yet = select i1 %higher, ptr %new, ptr %peak
  store ptr %most_yet, ptr %peak_field
  ret void
}

declare i64 @llvm.umin.i64(i64, i64)

; The bytes that are free. Where a failure tells them, what was loaded before is not kept for it.
define i64 @lmc.free(ptr %arena) noinline {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %end_field = getelementptr %arena, ptr %arena, i32 0, i32 3
  %top = load ptr, ptr %top_field
  %end = load ptr, ptr %end_field
  %a = ptrtoint ptr %end to i64
  %b = ptrtoint ptr %top to i64
  %free = sub i64 %a, %b
  ret i64 %free
}

define ptr @lmc.mark(ptr %arena) alwaysinline {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %top = load ptr, ptr %top_field
  ret ptr %top
}

define void @lmc.release(ptr %arena, ptr %mark) alwaysinline {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  store ptr %mark, ptr %top_field
  ret void
}

define i1 @lmc.above(ptr %arena, ptr %buffer, ptr %mark) {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %top = load ptr, ptr %top_field
  %lower = icmp uge ptr %buffer, %mark
  %upper = icmp ult ptr %buffer, %top
  %inside = and i1 %lower, %upper
  ret i1 %inside
}

define void @lmc.move(ptr %to, ptr %from, i64 %bytes) {
  %stays = icmp eq ptr %to, %from
  br i1 %stays, label %done, label %move
move:
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %done
done:
  ret void
}

define i64 @lmc.slide(ptr %arena, ptr %piece, ptr %mark) {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %top = load ptr, ptr %top_field
  %a = ptrtoint ptr %top to i64
  %b = ptrtoint ptr %piece to i64
  %c = ptrtoint ptr %mark to i64
  %bytes = sub i64 %a, %b
  %distance = sub i64 %b, %c
  call void @lmc.move(ptr %mark, ptr %piece, i64 %bytes)
  %new = getelementptr i8, ptr %mark, i64 %bytes
  store ptr %new, ptr %top_field
  ret i64 %distance
}

; The same, but nothing moves: for slices that do not look at it.
define i64 @lmc.slip(ptr %arena, ptr %piece, ptr %mark) {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %top = load ptr, ptr %top_field
  %a = ptrtoint ptr %top to i64
  %b = ptrtoint ptr %piece to i64
  %c = ptrtoint ptr %mark to i64
  %bytes = sub i64 %a, %b
  %distance = sub i64 %b, %c
  %new = getelementptr i8, ptr %mark, i64 %bytes
  store ptr %new, ptr %top_field
  ret i64 %distance
}

; The piece was from its start to the top before the slide.
define ptr @lmc.slid(ptr %arena, ptr %buffer, ptr %piece, i64 %distance) {
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %top = load ptr, ptr %top_field
  %end = getelementptr i8, ptr %top, i64 %distance
  %lower = icmp uge ptr %buffer, %piece
  %upper = icmp ult ptr %buffer, %end
  %inside = and i1 %lower, %upper
  %back = sub i64 0, %distance
  %moved = getelementptr i8, ptr %buffer, i64 %back
  %now = select i1 %inside, ptr %moved, ptr %buffer
  ret ptr %now
}

; Whether a result has storage of the caller: it has data; or nobody else could have it.
define i1 @lmc.has_storage(ptr %tensor, ptr %ctx, i1 %has_data) noinline {
  %missing = icmp eq ptr %tensor, null
  br i1 %missing, label %none, label %look
none:
  ret i1 true
look:
  %data = load ptr, ptr %tensor
  %given = icmp ne ptr %data, null
  %no_context = icmp eq ptr %ctx, null
  %either = or i1 %given, %no_context
  %units = xor i1 %has_data, true
  %storage = select i1 %units, i1 %given, i1 %either
  ret i1 %storage
}

; Whether a tensor of the caller is one: { data, sizes... }, of at most 2^40 elements, as `failure::MOST_ELEMENTS`
; says, in each dimension, too. Without `given`, it is there only to be filled in.
define i1 @lmc.tensor_ok(ptr %tensor, i64 %rank, i1 %has_data, i1 %given) noinline {
start:
  %missing = icmp eq ptr %tensor, null
  br i1 %missing, label %bad, label %look
look:
  br i1 %given, label %loop, label %good
loop:
  %i = phi i64 [ 0, %look ], [ %next, %step ]
  %count = phi i64 [ 1, %look ], [ %product, %step ]
  %more = icmp slt i64 %i, %rank
  br i1 %more, label %step, label %counted
step:
  %next = add i64 %i, 1
  %field = getelementptr i64, ptr %tensor, i64 %next
  %size = load i64, ptr %field
  %unfit = icmp ugt i64 %size, 1099511627776
  %both = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %count, i64 %size)
  %product = extractvalue { i64, i1 } %both, 0
  %overflow = extractvalue { i64, i1 } %both, 1
  %wrong = or i1 %unfit, %overflow
  br i1 %wrong, label %bad, label %loop
counted:
  %large = icmp ugt i64 %count, 1099511627776
  br i1 %large, label %bad, label %sized
sized:
  %some = icmp ne i64 %count, 0
  %needs = and i1 %some, %has_data
  %data = load ptr, ptr %tensor
  %null = icmp eq ptr %data, null
  %lacks = and i1 %needs, %null
  br i1 %lacks, label %bad, label %good
good:
  ret i1 true
bad:
  ret i1 false
}

; Whether a jagged tensor of the caller is one: { data, offsets, size, sizes }; the sizes are there only where the rank
; of the elements is not 1.
define i1 @lmc.jagged_ok(ptr %tensor, i64 %rank, i1 %has_data, i1 %given) noinline {
start:
  %missing = icmp eq ptr %tensor, null
  br i1 %missing, label %bad, label %look
look:
  br i1 %given, label %sized, label %good
sized:
  %size_field = getelementptr i64, ptr %tensor, i64 2
  %offsets_field = getelementptr i64, ptr %tensor, i64 1
  %size = load i64, ptr %size_field
  %offsets = load ptr, ptr %offsets_field
  %wrong = icmp ugt i64 %size, 1099511627776
  br i1 %wrong, label %bad, label %some
some:
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %good, label %listed
listed:
  %null_offsets = icmp eq ptr %offsets, null
  br i1 %null_offsets, label %bad, label %shaped
shaped:
  %is_flat = icmp eq i64 %rank, 1
  br i1 %is_flat, label %first, label %sizes
sizes:
  %sizes_field = getelementptr i64, ptr %tensor, i64 3
  %listed_sizes = load ptr, ptr %sizes_field
  %null_sizes = icmp eq ptr %listed_sizes, null
  br i1 %null_sizes, label %bad, label %first
first:
  %shapes = phi ptr [ null, %shaped ], [ %listed_sizes, %sizes ]
  %start_offset = load i64, ptr %offsets
  %below = icmp slt i64 %start_offset, 0
  br i1 %below, label %bad, label %loop
loop:
  %i = phi i64 [ 0, %first ], [ %next, %risen ], [ %next, %whole ]
  %before = phi i64 [ %start_offset, %first ], [ %end, %risen ], [ %end, %whole ]
  %more = icmp slt i64 %i, %size
  br i1 %more, label %step, label %counted
step:
  %next = add i64 %i, 1
  %place = getelementptr i64, ptr %offsets, i64 %next
  %end = load i64, ptr %place
  %falls = icmp slt i64 %end, %before
  %far = icmp sgt i64 %end, 1099511627776
  %stray = or i1 %falls, %far
  br i1 %stray, label %bad, label %risen
risen:
  br i1 %is_flat, label %loop, label %dimensions
dimensions:
  ; The length must be the product of the sizes.
  %j = phi i64 [ 0, %risen ], [ %j_next, %dimension ]
  %count = phi i64 [ 1, %risen ], [ %product, %dimension ]
  %within = icmp slt i64 %j, %rank
  br i1 %within, label %dimension, label %whole
dimension:
  %j_next = add i64 %j, 1
  %row = mul i64 %i, %rank
  %at = add i64 %row, %j
  %shape = getelementptr i64, ptr %shapes, i64 %at
  %extent = load i64, ptr %shape
  %unfit = icmp ugt i64 %extent, 1099511627776
  %both = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %count, i64 %extent)
  %product = extractvalue { i64, i1 } %both, 0
  %overflow = extractvalue { i64, i1 } %both, 1
  %amiss = or i1 %unfit, %overflow
  br i1 %amiss, label %bad, label %dimensions
whole:
  %length = sub i64 %end, %before
  %fills = icmp eq i64 %count, %length
  br i1 %fills, label %loop, label %bad
counted:
  %any = icmp ne i64 %before, 0
  %needs = and i1 %any, %has_data
  %data = load ptr, ptr %tensor
  %null = icmp eq ptr %data, null
  %lacks = and i1 %needs, %null
  br i1 %lacks, label %bad, label %good
good:
  ret i1 true
bad:
  ret i1 false
}

declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
