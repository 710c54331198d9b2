; Loops on threads. Linked into each module, and gone where nobody uses it.
;
; The layouts are those of `abi::Context`, `abi::Arena` and `abi::Error`.

; base, bytes, top, end, peak
%arena = type { ptr, i64, ptr, ptr, ptr }
%memory = type { ptr, i64, i64, i64, i64 }
; parallel_for, pool, workers
%threads = type { ptr, ptr, i64 }
%error = type { i32, i32, i32, i32, i32, i32, [15 x i64], ptr, ptr }
%context = type { ptr, ptr, i64, %memory, %threads, %error }
; What the chunks of a loop share, in front of what they use from outside: the context, the first byte of the
; workers' arenas, the bytes of each, the most bytes in use in one, the first chunk that failed, its status, and a lock
; for these two and the error in the context.
%region = type { ptr, ptr, i64, i64, i64, i32, i32 }

; Runs the chunks: what is free of the arena is divided among the workers. The status is that of the first chunk that
; fails; chunks before it have run, others need not have. A function that takes nothing has no arena.
define i32 @lmc.chunks(ptr %ctx, ptr %arena, ptr %body, ptr %region, i64 %chunks) noinline {
start:
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %prepare, label %look
look:
  %function_field = getelementptr %context, ptr %ctx, i32 0, i32 4, i32 0
  %pool_field = getelementptr %context, ptr %ctx, i32 0, i32 4, i32 1
  %workers_field = getelementptr %context, ptr %ctx, i32 0, i32 4, i32 2
  %given_function = load ptr, ptr %function_field
  %given_pool = load ptr, ptr %pool_field
  %given_workers = load i64, ptr %workers_field
  %has_function = icmp ne ptr %given_function, null
  %several = icmp sgt i64 %given_workers, 1
  %divisible = icmp sgt i64 %chunks, 1
  %both = and i1 %has_function, %several
  %all = and i1 %both, %divisible
  %chosen_workers = select i1 %all, i64 %given_workers, i64 1
  br label %prepare
prepare:
  %together = phi i1 [ false, %start ], [ %all, %look ]
  %workers = phi i64 [ 1, %start ], [ %chosen_workers, %look ]
  %function = phi ptr [ null, %start ], [ %given_function, %look ]
  %pool = phi ptr [ null, %start ], [ %given_pool, %look ]
  %nothing = alloca %arena
  store %arena zeroinitializer, ptr %nothing
  %no_arena = icmp eq ptr %arena, null
  %from = select i1 %no_arena, ptr %nothing, ptr %arena
  %top_field = getelementptr %arena, ptr %from, i32 0, i32 2
  %end_field = getelementptr %arena, ptr %from, i32 0, i32 3
  %peak_field = getelementptr %arena, ptr %from, i32 0, i32 4
  %top = load ptr, ptr %top_field
  %end = load ptr, ptr %end_field
  %top_address = ptrtoint ptr %top to i64
  %end_address = ptrtoint ptr %end to i64
  %free = sub i64 %end_address, %top_address
  %share = udiv i64 %free, %workers
  %piece = and i64 %share, -16
  %f0 = getelementptr %region, ptr %region, i32 0, i32 0
  %f1 = getelementptr %region, ptr %region, i32 0, i32 1
  %f2 = getelementptr %region, ptr %region, i32 0, i32 2
  %f3 = getelementptr %region, ptr %region, i32 0, i32 3
  %f4 = getelementptr %region, ptr %region, i32 0, i32 4
  %f5 = getelementptr %region, ptr %region, i32 0, i32 5
  %f6 = getelementptr %region, ptr %region, i32 0, i32 6
  store ptr %ctx, ptr %f0
  store ptr %top, ptr %f1
  store i64 %piece, ptr %f2
  store i64 0, ptr %f3
  store i64 -1, ptr %f4
  store i32 0, ptr %f5
  store i32 0, ptr %f6
  br i1 %together, label %hand_over, label %loop
hand_over:
  call void %function(ptr %pool, ptr %body, ptr %region, i64 %chunks)
  br label %done
loop:
  %chunk = phi i64 [ 0, %prepare ], [ %next, %step ]
  %more = icmp slt i64 %chunk, %chunks
  br i1 %more, label %step, label %done
step:
  call void %body(ptr %region, i64 %chunk, i64 0)
  %next = add i64 %chunk, 1
  br label %loop
done:
  ; What each worker may need is in use, whoever had how many chunks: so the peak can be told beforehand.
  %most = load i64, ptr %f3
  %above = add i64 %most, 15
  %rounded = and i64 %above, -16
  %bytes = mul i64 %rounded, %workers
  %used = getelementptr i8, ptr %top, i64 %bytes
  %peak = load ptr, ptr %peak_field
  %higher = icmp ugt ptr %used, %peak
  %new_peak = select i1 %higher, ptr %used, ptr %peak
  store ptr %new_peak, ptr %peak_field
  %status = load i32, ptr %f5
  ret i32 %status
}

; The arena and the context of a chunk. The result is whether it is to run: not after one that has failed.
define i1 @lmc.enter(ptr %region, i64 %chunk, i64 %worker, ptr %arena, ptr %own) {
  %first_field = getelementptr %region, ptr %region, i32 0, i32 1
  %piece_field = getelementptr %region, ptr %region, i32 0, i32 2
  %failed_field = getelementptr %region, ptr %region, i32 0, i32 4
  %failed = load atomic i64, ptr %failed_field monotonic, align 8
  %first = load ptr, ptr %first_field
  %piece = load i64, ptr %piece_field
  %offset = mul i64 %worker, %piece
  %base = getelementptr i8, ptr %first, i64 %offset
  %end = getelementptr i8, ptr %base, i64 %piece
  %a0 = getelementptr %arena, ptr %arena, i32 0, i32 0
  %a1 = getelementptr %arena, ptr %arena, i32 0, i32 1
  %a2 = getelementptr %arena, ptr %arena, i32 0, i32 2
  %a3 = getelementptr %arena, ptr %arena, i32 0, i32 3
  %a4 = getelementptr %arena, ptr %arena, i32 0, i32 4
  store ptr %base, ptr %a0
  store i64 %piece, ptr %a1
  store ptr %base, ptr %a2
  store ptr %end, ptr %a3
  store ptr %base, ptr %a4
  ; Without threads: loops in a chunk are its own affair. Its error comes if there is one.
  %c0 = getelementptr %context, ptr %own, i32 0, i32 0
  %c1 = getelementptr %context, ptr %own, i32 0, i32 1
  %c2 = getelementptr %context, ptr %own, i32 0, i32 2
  %c3 = getelementptr %context, ptr %own, i32 0, i32 3
  %c4 = getelementptr %context, ptr %own, i32 0, i32 4
  store ptr null, ptr %c0
  store ptr null, ptr %c1
  store i64 0, ptr %c2
  store %memory zeroinitializer, ptr %c3
  store %threads zeroinitializer, ptr %c4
  %runs = icmp ule i64 %chunk, %failed
  ret i1 %runs
}

; The context that a chunk uses: none where the caller has none.
define ptr @lmc.own(ptr %region, ptr %own) alwaysinline {
  %ctx = load ptr, ptr %region
  %no_context = icmp eq ptr %ctx, null
  %used = select i1 %no_context, ptr null, ptr %own
  ret ptr %used
}

; The end of a chunk.
define void @lmc.leave(ptr %region, i64 %chunk, ptr %arena, ptr %own, i32 %status) {
  %base = load ptr, ptr %arena
  %top_field = getelementptr %arena, ptr %arena, i32 0, i32 2
  %peak_field = getelementptr %arena, ptr %arena, i32 0, i32 4
  %top = load ptr, ptr %top_field
  %peak = load ptr, ptr %peak_field
  %higher = icmp ugt ptr %top, %peak
  %last = select i1 %higher, ptr %top, ptr %peak
  %a = ptrtoint ptr %last to i64
  %b = ptrtoint ptr %base to i64
  %used = sub i64 %a, %b
  %most_field = getelementptr %region, ptr %region, i32 0, i32 3
  %ignored = atomicrmw umax ptr %most_field, i64 %used monotonic
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %done, label %failed
failed:
  call void @lmc.report(ptr %region, i64 %chunk, ptr %own, i32 %status)
  br label %done
done:
  ret void
}

; The error of the first chunk that failed goes to the context.
define void @lmc.report(ptr %region, i64 %chunk, ptr %own, i32 %status) noinline cold {
start:
  %lock = getelementptr %region, ptr %region, i32 0, i32 6
  br label %try
try:
  %old = atomicrmw xchg ptr %lock, i32 1 acquire
  %taken = icmp eq i32 %old, 0
  br i1 %taken, label %compare, label %try
compare:
  %failed_field = getelementptr %region, ptr %region, i32 0, i32 4
  %failed = load atomic i64, ptr %failed_field monotonic, align 8
  %earlier = icmp ult i64 %chunk, %failed
  br i1 %earlier, label %tell, label %release
tell:
  %status_field = getelementptr %region, ptr %region, i32 0, i32 5
  store atomic i64 %chunk, ptr %failed_field monotonic, align 8
  store i32 %status, ptr %status_field
  %ctx = load ptr, ptr %region
  %no_context = icmp eq ptr %ctx, null
  br i1 %no_context, label %release, label %copy
copy:
  %to = getelementptr %context, ptr %ctx, i32 0, i32 5
  %from = getelementptr %context, ptr %own, i32 0, i32 5
  %size_end = getelementptr %error, ptr null, i32 1
  %size = ptrtoint ptr %size_end to i64
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  br label %release
release:
  store atomic i32 0, ptr %lock release, align 4
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)

; How many iterations make a chunk. It depends on nothing but what is computed, and so do results.
;
;   chunks   at most 64, and none with less than `grain` units of cost, 12,500 but for tests, about 3 us; one alone
;            where there would be fewer than eight, which is 25 us in all
;   own      what each chunk adds to on its own is zeroed and added up: that is to be less than a 32nd of the work, for
;            tests of so much of it as the grain is smaller, and less than 2^22 elements in all
;   length   a multiple of 64 where there are 1024 iterations, so that chunks begin where vectors and lines of the
;            cache do; of 8 where there are 128; of the lanes of the loop, for a vector that is not full costs as one
;            that is
define i64 @lmc.chunk(i64 %n, i64 %cost, i64 %own, i64 %lanes, i64 %grain) alwaysinline {
  %both = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %n, i64 %cost)
  %product = extractvalue { i64, i1 } %both, 0
  %overflow = extractvalue { i64, i1 } %both, 1
  %work = select i1 %overflow, i64 9223372036854775807, i64 %product
  %least = shl i64 %grain, 3
  %enough = icmp sge i64 %work, %least
  br i1 %enough, label %divide, label %one
divide:
  %length = call i64 @lmc.divide(i64 %n, i64 %work, i64 %own, i64 %lanes, i64 %grain)
  ret i64 %length
one:
  %all = call i64 @llvm.smax.i64(i64 %n, i64 1)
  ret i64 %all
}

; The same of enough work.
define i64 @lmc.divide(i64 %n, i64 %work, i64 %own, i64 %lanes, i64 %grain) noinline {
start:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %weigh, label %one
weigh:
  %by_cost = udiv i64 %work, %grain
  %few = call i64 @llvm.smin.i64(i64 %by_cost, i64 64)
  %few_each = call i64 @llvm.smin.i64(i64 %few, i64 %n)
  %has_own = icmp sgt i64 %own, 0
  br i1 %has_own, label %limit, label %length
limit:
  ; An element takes about 4 units, 128 with the work that is to go with it: as 128 is to 12,500, 32 is to 3125.
  %own_work = call i64 @llvm.smin.i64(i64 %own, i64 1099511627776)
  %weighed = mul i64 %own_work, %grain
  %times_32 = shl i64 %weighed, 5
  %scaled = udiv i64 %times_32, 3125
  %dear = call i64 @llvm.smax.i64(i64 %scaled, i64 1)
  %by_own = udiv i64 %work, %dear
  %by_memory = udiv i64 4194304, %own_work
  %fewer = call i64 @llvm.smin.i64(i64 %few_each, i64 %by_own)
  %fewest = call i64 @llvm.smin.i64(i64 %fewer, i64 %by_memory)
  br label %length
length:
  %chunks = phi i64 [ %few_each, %weigh ], [ %fewest, %limit ]
  %several = icmp sgt i64 %chunks, 1
  br i1 %several, label %round, label %one
round:
  %less = sub i64 %chunks, 1
  %sum = add i64 %n, %less
  %exact = udiv i64 %sum, %chunks
  %long = icmp uge i64 %n, 1024
  %short = icmp ult i64 %n, 128
  %unit_short = select i1 %short, i64 0, i64 7
  %unit = select i1 %long, i64 63, i64 %unit_short
  %others = sub i64 %lanes, 1
  %mask = or i64 %unit, %others
  %up = add i64 %exact, %mask
  %clear = xor i64 %mask, -1
  %rounded = and i64 %up, %clear
  ret i64 %rounded
one:
  %all = call i64 @llvm.smax.i64(i64 %n, i64 1)
  ret i64 %all
}
