//! Emits statements on memory in lanes.
//!
//! ```text
//! x = alloc n         shared: n; each: W n, for the largest n; rows: the sum of the n, one row after the other
//! zero, move          as ever where the address is uniform, of W times as much for `each`; else lane by lane, or
//!                     element by element under the mask
//! the rest            as ever where nothing varies
//! ```

use crate::emit::frame::{ActiveLanes, Frame};
use crate::emit::memory::ALIGN;
use crate::emit::{Emitter, built};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use lm::term::Span;
use loops::analyses::divergence::{AllocForm, Layout};
use loops::ir::{Local, Memory, Op, Operand, Ty};

impl<'ctx> Emitter<'ctx, '_> {
    /// A statement on memory of a loop in lanes.
    pub(super) fn emit_memory_in_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        memory: &Memory,
    ) {
        match memory {
            Memory::Load(x, b, i) => {
                let cells = self.cells(frame, lanes, b, i);
                let value = self.read(frame, lanes, b, &cells);
                frame.set(*x, value);
            }
            Memory::Store(b, i, a) => {
                let (cells, value) = (self.cells(frame, lanes, b, i), self.operand(frame, a));
                self.write_cells(frame, lanes, b, &cells, value);
            }
            Memory::Add(b, i, a) => {
                let (cells, value) = (self.cells(frame, lanes, b, i), self.operand(frame, a));
                self.add_to_cells(frame, lanes, b, &cells, value);
            }
            Memory::Stack(buffer, count) => match lanes.spread.form(*buffer) {
                AllocForm::Each => self.on_stack(frame, *buffer, count, lanes.width),
                AllocForm::Shared | AllocForm::Rows => self.emit_memory(frame, memory),
            },
            Memory::Alloc { buffer, count, span } => match lanes.spread.form(*buffer) {
                AllocForm::Shared => self.emit_memory(frame, memory),
                AllocForm::Each => self.alloc_each(frame, lanes, *buffer, count, *span),
                AllocForm::Rows => self.alloc_rows(frame, lanes, *buffer, count, *span),
            },
            Memory::View(x, b, i) => self.emit_view_in_lanes(frame, lanes, *x, b, i),
            Memory::Zero(b, n) => self.emit_zero_in_lanes(frame, lanes, memory, (b, n)),
            Memory::Move { to, from, count } => self.emit_move_in_lanes(frame, lanes, memory, [to, from, count]),
            Memory::Cast(..) | Memory::Mark(_) | Memory::Release(_) | Memory::Above(..) => {
                self.emit_memory(frame, memory);
            }
            Memory::Before(..) | Memory::Slide(..) | Memory::Slid { .. } => {
                panic!("a statement that does not run in lanes")
            }
        }
    }

    fn emit_view_in_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        x: Local,
        b: &Operand,
        i: &Operand,
    ) {
        let ty = self.element_of(frame, b);
        let (base, i) = (self.operand(frame, b), self.operand(frame, i));
        let i = if lanes.spread.layout(b) == Layout::Each { self.of_each(lanes, i) } else { i };
        let address = match (base, i) {
            (BasicValueEnum::PointerValue(base), BasicValueEnum::IntValue(i)) => {
                llvm::any_element(&self.builder, self.stored(ty), base, i).into()
            }
            (base, i) => llvm::elements(&self.builder, self.stored(ty), base, i).into(),
        };
        frame.set(x, address);
    }

    fn element_of(&self, frame: &Frame<'ctx, '_>, buffer: &Operand) -> Ty {
        frame.function().ty(buffer).element().expect("loops are well-typed")
    }

    /// Returns the largest of what the lanes that are on count.
    fn largest(&self, lanes: &ActiveLanes<'ctx>, count: BasicValueEnum<'ctx>) -> IntValue<'ctx> {
        match count {
            BasicValueEnum::VectorValue(counts) => {
                let counts = self.of_on(lanes, counts);
                let ty = counts.get_type().into();
                self.intrinsic("llvm.vector.reduce.smax", &[counts.into()], &[ty]).into_int_value()
            }
            count => count.into_int_value(),
        }
    }

    /// Returns what the lanes that are on count; 0 in the others.
    fn of_on(&self, lanes: &ActiveLanes<'ctx>, counts: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let zeros = counts.get_type().const_zero();
        lanes.mask.on.map_or(counts, |on| self.select(on, counts.into(), zeros.into()).into_vector_value())
    }

    /// At a multiple of the bytes of a vector, so that no load of one touches more of the cache than it must.
    fn alloc_each(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: Local,
        count: &Operand,
        span: Span,
    ) {
        let bytes = self.element_of(frame, &Operand::Local(buffer)).bytes();
        let count = self.operand(frame, count);
        let most = self.largest(lanes, count);
        let all = self.of_each(lanes, most.into()).into_int_value();
        let gap = self.i64().const_int(LINE / bytes, false);
        let padded = built(self.builder.build_int_add(all, gap, ""));
        let taken = self.take(frame, padded, self.i64().const_int(bytes, false), span);
        let gap = self.i64().const_int(LINE - 1, false);
        let above = llvm::any_element(&self.builder, self.context.i8_type(), taken.into_pointer_value(), gap);
        let mask = self.i64().const_int(LINE.wrapping_neg(), false);
        let aligned =
            self.intrinsic("llvm.ptrmask", &[above.into(), mask.into()], &[self.ptr().into(), self.i64().into()]);
        frame.set(buffer, aligned);
    }

    fn alloc_rows(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: Local,
        count: &Operand,
        span: Span,
    ) {
        let bytes = self.element_of(frame, &Operand::Local(buffer)).bytes();
        let counts = self.operand(frame, count);
        let counts = self.spread(counts, lanes.width);
        // Each row lies as a buffer of its own would.
        let unit = u64::from(ALIGN) / bytes;
        let like = |word: u64| self.constant_like(counts.into(), self.i64().const_int(word, false).into());
        let above = self.op(Op::AddI, &[counts.into(), like(unit - 1)]).into_vector_value();
        let rounded = self.both(above, like(unit.wrapping_neg()).into_vector_value());
        let sizes = self.of_on(lanes, rounded);
        let before = self.sums_before(Op::AddI, sizes);
        let total = self.total(Op::AddI, sizes).into_int_value();
        let base = self.take(frame, total, self.i64().const_int(bytes, false), span);
        let ty = self.stored(self.element_of(frame, &Operand::Local(buffer)));
        frame.set(buffer, llvm::elements(&self.builder, ty, base, before.into()).into());
    }

    pub(in crate::emit) fn take(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        count: IntValue<'ctx>,
        bytes: IntValue<'ctx>,
        span: Span,
    ) -> BasicValueEnum<'ctx> {
        let taken = self.runtime("lmc.alloc", &[frame.arena().into(), count.into(), bytes.into()]);
        self.check_memory(frame, taken.into_pointer_value(), [count, bytes], span);
        taken
    }

    fn emit_zero_in_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        memory: &Memory,
        (b, n): (&Operand, &Operand),
    ) {
        let (base, count) = (self.operand(frame, b), self.operand(frame, n));
        let is_uniform = !base.is_vector_value() && !count.is_vector_value();
        match lanes.spread.layout(b) {
            Layout::Each if is_uniform && !lanes.mask.parted => {
                let all = self.of_each(lanes, count).into_int_value();
                let bytes = self.i64().const_int(self.element_of(frame, b).bytes(), false);
                let bytes = built(self.builder.build_int_mul(all, bytes, ""));
                let zero = self.context.i8_type().const_zero();
                built(self.builder.build_memset(base.into_pointer_value(), ALIGN, zero, bytes));
            }
            Layout::Each => {
                let ty = self.ty(self.element_of(frame, b));
                self.for_elements(frame, lanes, count, |emitter, frame, lanes, k| {
                    let cells = emitter.cells_at(frame, lanes, b, (base, k.into()), None);
                    emitter.write_cells(frame, lanes, b, &cells, ty.const_zero());
                });
            }
            Layout::Plain | Layout::Shared if is_uniform => self.emit_memory(frame, memory),
            Layout::Plain | Layout::Shared => {
                let bytes = self.bytes_of(frame, lanes, b, count);
                self.for_lanes(frame, lanes, &[base, bytes], |emitter, args| {
                    let zero = emitter.context.i8_type().const_zero();
                    built(emitter.builder.build_memset(
                        args[0].into_pointer_value(),
                        ALIGN,
                        zero,
                        args[1].into_int_value(),
                    ));
                });
            }
        }
    }

    fn bytes_of(
        &self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        b: &Operand,
        count: BasicValueEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        let bytes = self.i64().const_int(self.element_of(frame, b).bytes(), false);
        let bytes = self.constant_like(count, bytes.into());
        self.spread(self.op(Op::MulI, &[count, bytes]), lanes.width).into()
    }

    fn emit_move_in_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        memory: &Memory,
        [to, from, count]: [&Operand; 3],
    ) {
        let [target, source, n] = [to, from, count].map(|a| self.operand(frame, a));
        let is_uniform = [target, source, n].iter().all(|a| !a.is_vector_value());
        let is_each = [to, from].map(|b| lanes.spread.layout(b) == Layout::Each);
        match is_each {
            [false, false] if is_uniform => self.emit_memory(frame, memory),
            [false, false] => {
                let bytes = self.bytes_of(frame, lanes, to, n);
                self.for_lanes(frame, lanes, &[target, source, bytes], |emitter, args| {
                    emitter.runtime_effect("lmc.move", &[args[0].into(), args[1].into(), args[2].into()]);
                });
            }
            [true, true] if is_uniform && !lanes.mask.parted => {
                let all = self.of_each(lanes, n).into_int_value();
                let bytes = self.i64().const_int(self.element_of(frame, to).bytes(), false);
                let bytes = built(self.builder.build_int_mul(all, bytes, ""));
                self.runtime_effect("lmc.move", &[target.into(), source.into(), bytes.into()]);
            }
            _ => self.move_elements(frame, lanes, [to, from], [target, source, n]),
        }
    }

    /// Element by element: upwards, unless the target lies above the source, for the two may overlap.
    fn move_elements(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        [to, from]: [&Operand; 2],
        [target, source, n]: [BasicValueEnum<'ctx>; 3],
    ) {
        let [a, b] = [target, source].map(|v| self.spread(v, lanes.width));
        let down = built(self.builder.build_int_compare(IntPredicate::UGT, a, b, ""));
        self.for_elements(frame, lanes, n, |emitter, frame, lanes, k| {
            let k = emitter.spread(k.into(), lanes.width).into();
            let n = emitter.spread(n, lanes.width).into();
            let left = emitter.op(Op::SubI, &[n, k]);
            let one = emitter.constant_like(k, emitter.i64().const_int(1, false).into());
            let place = emitter.select(down, emitter.op(Op::SubI, &[left, one]), k);
            let source = emitter.cells_at(frame, lanes, from, (source, place), None);
            let value = emitter.read(frame, lanes, from, &source);
            let target = emitter.cells_at(frame, lanes, to, (target, place), None);
            emitter.write_cells(frame, lanes, to, &target, value);
        });
    }

    /// Does something for each k below a count, in the lanes where it is.
    fn for_elements(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        count: BasicValueEnum<'ctx>,
        body: impl FnOnce(&mut Self, &mut Frame<'ctx, '_>, &ActiveLanes<'ctx>, IntValue<'ctx>),
    ) {
        let most = self.largest(lanes, count);
        let header = self.context.append_basic_block(frame.llvm(), "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let index = built(self.builder.build_phi(self.i64(), ""));
        let k = index.as_basic_value().into_int_value();
        let goes_on = built(self.builder.build_int_compare(IntPredicate::SLT, k, most, ""));
        let [run, exit] = self.branch(frame, goes_on);
        self.builder.position_at_end(run);
        let mut inner = lanes.clone();
        if let BasicValueEnum::VectorValue(counts) = count {
            let k = self.splat(k.into(), lanes.width);
            let within = built(self.builder.build_int_compare(IntPredicate::SLT, k, counts, ""));
            inner.mask.on = Some(lanes.mask.on.map_or(within, |on| self.both(on, within)));
            inner.mask.parted = true;
        }
        body(self, frame, &inner, k);
        let after = built(self.builder.build_int_nsw_add(k, self.i64().const_int(1, false), ""));
        let last = self.branch_to(header);
        index.add_incoming(&[(&self.i64().const_zero(), before), (&after, last)]);
        self.builder.position_at_end(exit);
    }

    /// Does something with scalars, once for each lane that is on.
    fn for_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        args: &[BasicValueEnum<'ctx>],
        body: impl Fn(&mut Self, &[BasicValueEnum<'ctx>]),
    ) {
        let args: Vec<VectorValue> = args.iter().map(|a| self.spread(*a, lanes.width)).collect();
        for lane in 0..lanes.width {
            let of_lane: Vec<_> = args.iter().map(|a| self.lane(*a, lane)).collect();
            let Some(on) = lanes.mask.on else {
                body(self, &of_lane);
                continue;
            };
            let on = self.lane(on, lane).into_int_value();
            let [run, skip] = self.branch(frame, on);
            self.builder.position_at_end(run);
            body(self, &of_lane);
            self.branch_to(skip);
            self.builder.position_at_end(skip);
        }
    }
}

/// The bytes of a line of the cache, and of the widest vector.
pub(in crate::emit) const LINE: u64 = 64;
