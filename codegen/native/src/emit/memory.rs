//! Emits work on buffers and the arena: calls of `runtime.ll`, loads and stores.

use super::frame::Frame;
use super::{Emitter, built};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Linkage;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, CallSiteValue, FunctionValue, IntValue, PointerValue};
use lm::term::Span;
use loops::analyses::counts::Work;
use loops::ir::{Local, Memory, Operand, Scalar, Ty};

const RUNTIME: [&str; 2] = [include_str!("runtime.ll"), include_str!("chunks.ll")];

impl<'ctx> Emitter<'ctx, '_> {
    /// Puts the functions of `runtime.ll` and `chunks.ll` into the module.
    pub(super) fn link_runtime(&self) {
        for text in RUNTIME {
            let text = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "runtime");
            let runtime = self.context.create_module_from_ir(text).unwrap_or_else(|error| panic!("run time: {error}"));
            runtime.set_triple(&self.module.get_triple());
            runtime.set_data_layout(&self.module.get_data_layout());
            self.module.link_in_module(runtime).unwrap_or_else(|error| panic!("run time: {error}"));
        }
        for function in self.module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
            self.for_target(function);
            // The linker leaves out what is internal and not used yet.
            if function.get_linkage() == Linkage::External {
                function.set_linkage(Linkage::Internal);
            }
        }
    }

    /// Calls a function of the run time that gives a value.
    pub(super) fn runtime(&self, name: &str, args: &[BasicMetadataValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let function = self.module.get_function(name).expect("the run time has the function");
        self.call_apart(function, args).try_as_basic_value().unwrap_basic()
    }

    /// Calls a function of the run time for what it does.
    pub(super) fn runtime_effect(&self, name: &str, args: &[BasicMetadataValueEnum<'ctx>]) {
        let function = self.module.get_function(name).expect("the run time has the function");
        self.call_apart(function, args);
    }

    /// Returns a function of the run time is called where it runs once, unless its body is as short as a call.
    fn call_apart(&self, function: FunctionValue<'ctx>, args: &[BasicMetadataValueEnum<'ctx>]) -> CallSiteValue<'ctx> {
        let call = built(self.builder.build_call(function, args, ""));
        let always = Attribute::get_named_enum_kind_id("alwaysinline");
        if function.get_enum_attribute(AttributeLoc::Function, always).is_none() {
            self.keep_apart(call);
        }
        call
    }

    pub(super) fn emit_memory(&mut self, frame: &mut Frame<'ctx, '_>, memory: &Memory) {
        let arena = frame.arena().into();
        match memory {
            Memory::Alloc { buffer, count, span } => self.emit_alloc(frame, *buffer, count, *span),
            Memory::Stack(buffer, count) => self.on_stack(frame, *buffer, count, 1),
            Memory::Zero(b, n) => {
                let (bytes, buffer) = (self.bytes(frame, b, n), self.operand(frame, b).into_pointer_value());
                let zero = self.context.i8_type().const_zero();
                built(self.builder.build_memset(buffer, ALIGN, zero, bytes));
                self.count_bytes(&[Work::Stored], bytes);
            }
            Memory::Load(x, b, i) => {
                let (address, ty) = self.cell(frame, b, i);
                let value = built(self.builder.build_load(self.stored(ty), address, ""));
                self.place_load(frame, b, value);
                frame.set(*x, self.inward(ty, value));
            }
            Memory::View(x, b, i) => {
                let (address, _) = self.cell(frame, b, i);
                frame.set(*x, address.into());
            }
            Memory::Cast(x, b) => {
                let same = self.operand(frame, b);
                frame.set(*x, same);
            }
            Memory::Store(b, i, value) => {
                let (address, ty) = self.cell(frame, b, i);
                let value = self.operand(frame, value);
                let store = built(self.builder.build_store(address, self.outward(ty, value)));
                self.place_in_scope(frame, b, store);
            }
            Memory::Add(b, i, value) => {
                let (address, ty) = self.cell(frame, b, i);
                let (old, value) = (self.load_stored(address, ty), self.operand(frame, value));
                self.place_load(frame, b, old);
                let sum: BasicValueEnum = match ty.as_scalar() {
                    Some(Scalar::Float) => {
                        built(self.builder.build_float_add(old.into_float_value(), value.into_float_value(), "")).into()
                    }
                    _ => built(self.builder.build_int_add(old.into_int_value(), value.into_int_value(), "")).into(),
                };
                self.may_reorder(sum);
                let store = built(self.builder.build_store(address, sum));
                self.place_in_scope(frame, b, store);
            }
            Memory::Move { to, from, count } => {
                let bytes = self.bytes(frame, to, count);
                let [to, from] = [to, from].map(|b| self.operand(frame, b));
                self.count_moved(to.into_pointer_value(), from.into_pointer_value(), bytes);
                self.runtime_effect("lmc.move", &[to.into(), from.into(), bytes.into()]);
            }
            Memory::Mark(m) => {
                let mark = self.runtime("lmc.mark", &[arena]);
                frame.set(*m, mark);
            }
            Memory::Release(m) => {
                let mark = self.operand(frame, m);
                self.runtime_effect("lmc.release", &[arena, mark.into()]);
            }
            Memory::Above(x, b, m) => {
                let [b, m] = [b, m].map(|a| self.operand(frame, a).into());
                let above = self.runtime("lmc.above", &[arena, b, m]);
                frame.set(*x, above);
            }
            Memory::Before(x, b, c) => {
                let [b, c] = [b, c].map(|a| self.operand(frame, a).into_pointer_value());
                let before = built(self.builder.build_int_compare(IntPredicate::ULT, b, c, ""));
                frame.set(*x, before.into());
            }
            Memory::Slide(d, piece, m) => {
                let [piece, m] = [piece, m].map(|a| self.operand(frame, a));
                self.count_slid(frame.arena(), piece.into_pointer_value(), m.into_pointer_value());
                let [piece, m] = [piece, m].map(Into::into);
                // Where slices look at nothing that lies in the arena, nothing need move.
                let is_idle = frame.origin().is_some() && self.request.slices.is_some_and(|slices| !slices.touches);
                let slide = if is_idle { "lmc.slip" } else { "lmc.slide" };
                let distance = self.runtime(slide, &[arena, piece, m]);
                frame.set(*d, distance);
            }
            Memory::Slid { target, buffer, piece, distance } => {
                let [b, p, d] = [buffer, piece, distance].map(|a| self.operand(frame, a).into());
                let now = self.runtime("lmc.slid", &[arena, b, p, d]);
                frame.set(*target, now);
            }
        }
    }

    fn emit_alloc(&mut self, frame: &mut Frame<'ctx, '_>, buffer: Local, count: &Operand, span: Span) {
        let bytes = self.element_bytes(frame, &Operand::Local(buffer));
        let count = self.operand(frame, count).into_int_value();
        let taken = self.take(frame, count, bytes, span);
        frame.set(buffer, taken);
    }

    /// Space in the frame of the function, taken at its start.
    pub(super) fn on_stack(&mut self, frame: &mut Frame<'ctx, '_>, buffer: Local, count: &Operand, lanes: u32) {
        let element = frame.function().ty(&Operand::Local(buffer)).element().expect("loops are well-typed");
        let Operand::Integer(count) = count else { panic!("the size of what lies on the stack is a number") };
        let count = lanes * u32::try_from(*count).expect("it is small");
        let here = self.builder.get_insert_block().expect("a function is being built");
        let start = frame.llvm().get_first_basic_block().expect("the function has a body");
        match start.get_first_instruction() {
            Some(first) => self.builder.position_before(&first),
            None => self.builder.position_at_end(start),
        }
        let space = built(self.builder.build_alloca(self.stored(element).array_type(count), ""));
        let aligned = space.as_instruction().expect("it is an instruction").set_alignment(if lanes == 1 {
            ALIGN
        } else {
            super::lanes::LINE as u32
        });
        aligned.expect("it is a power of 2");
        self.builder.position_at_end(here);
        frame.set(buffer, space.into());
    }

    fn element_bytes(&self, frame: &Frame<'ctx, '_>, buffer: &Operand) -> IntValue<'ctx> {
        let element = frame.function().ty(buffer).element().expect("loops are well-typed");
        self.i64().const_int(element.bytes(), false)
    }

    fn bytes(&mut self, frame: &Frame<'ctx, '_>, buffer: &Operand, count: &Operand) -> IntValue<'ctx> {
        let count = self.operand(frame, count).into_int_value();
        built(self.builder.build_int_mul(count, self.element_bytes(frame, buffer), ""))
    }

    /// The address of an element, and its type.
    fn cell(&mut self, frame: &Frame<'ctx, '_>, buffer: &Operand, index: &Operand) -> (PointerValue<'ctx>, Ty) {
        let ty = frame.function().ty(buffer).element().expect("loops are well-typed");
        let base = self.operand(frame, buffer).into_pointer_value();
        let index = self.operand(frame, index).into_int_value();
        (llvm::element(&self.builder, self.stored(ty), base, index), ty)
    }

    /// Returns a Bool is a byte in memory and a bit elsewhere.
    pub(super) fn stored(&self, ty: Ty) -> BasicTypeEnum<'ctx> {
        if ty == Scalar::Bool.ty() { self.context.i8_type().into() } else { self.ty(ty) }
    }

    pub(super) fn load_stored(&self, from: PointerValue<'ctx>, ty: Ty) -> BasicValueEnum<'ctx> {
        let value = built(self.builder.build_load(self.stored(ty), from, ""));
        self.inward(ty, value)
    }

    pub(super) fn store_stored(&self, to: PointerValue<'ctx>, ty: Ty, value: BasicValueEnum<'ctx>) {
        built(self.builder.build_store(to, self.outward(ty, value)));
    }

    /// Any byte but 0 is true.
    pub(super) fn inward(&self, ty: Ty, value: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let ne = IntPredicate::NE;
        match value {
            _ if ty != Scalar::Bool.ty() => value,
            BasicValueEnum::VectorValue(bytes) => {
                built(self.builder.build_int_compare(ne, bytes, bytes.get_type().const_zero(), "")).into()
            }
            byte => {
                let zero = self.context.i8_type().const_zero();
                built(self.builder.build_int_compare(ne, byte.into_int_value(), zero, "")).into()
            }
        }
    }

    pub(super) fn outward(&self, ty: Ty, value: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let byte = self.context.i8_type();
        match value {
            _ if ty != Scalar::Bool.ty() => value,
            BasicValueEnum::VectorValue(bits) => {
                built(self.builder.build_int_z_extend(bits, byte.vec_type(bits.get_type().get_size()), "")).into()
            }
            bit => built(self.builder.build_int_z_extend(bit.into_int_value(), byte, "")).into(),
        }
    }
}

/// The alignment of buffers in the arena. Zeros are written there in units of 16 bytes. A caller's buffers are only
/// known to have aligned elements.
pub(super) const ALIGN: u32 = 16;
