//! Emits what code does with its context: reports errors, hands on printed values.
//!
//! Both are functions of the module itself, out of the way of the code that calls them; the layout is
//! that of `abi`.

use super::{Emitter, built};
use crate::abi::{DEFAULT_STACK, Kind};
use crate::llvm;
use inkwell::module::Linkage;
use inkwell::types::{ArrayType, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use lm::term::Span;
use loops::ir::{Failure, MOST_NUMBERS, Scalar};

/// Fields of `abi::Context`.
const USER: u32 = 0;
const WRITE: u32 = 1;
const STACK_BYTES: u32 = 2;
const ERROR: u32 = 5;
/// The numbers in `abi::Error`.
const NUMBER: u32 = 6;
/// The alignment of both.
const ALIGN: u32 = 8;

/// An error at a place of the source, and the parameter of the C function that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cause {
    pub(super) failure: Failure,
    pub(super) span: Span,
    pub(super) parameter: Option<String>,
}

impl Cause {
    pub(super) fn new(failure: Failure, span: Span) -> Cause {
        Cause { failure, span, parameter: None }
    }
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Reports an error; gives its status.
    pub(super) fn fail(
        &mut self,
        ctx: PointerValue<'ctx>,
        cause: &Cause,
        numbers: &[IntValue<'ctx>],
    ) -> IntValue<'ctx> {
        let site = self.site(cause, numbers.len());
        self.tell(ctx, site, numbers);
        self.i32().const_int(cause.failure as u64, false)
    }

    /// Reports the error of a site.
    pub(super) fn tell(&self, ctx: PointerValue<'ctx>, site: PointerValue<'ctx>, numbers: &[IntValue<'ctx>]) {
        let name = format!("lmc.fail.{}", numbers.len());
        let report = self.module.get_function(&name).unwrap_or_else(|| self.define_fail(&name, numbers.len()));
        let mut args: Vec<BasicMetadataValueEnum> = vec![ctx.into(), site.into()];
        args.extend(numbers.iter().map(|number| BasicMetadataValueEnum::from(*number)));
        built(self.builder.build_call(report, &args, ""));
    }

    /// Returns the number, but LLVM does not know that; in a register, so that calls can still become loops.
    pub(super) fn hidden(&self, x: IntValue<'ctx>) -> IntValue<'ctx> {
        let ty = x.get_type().fn_type(&[x.get_type().into()], false);
        let nothing = self.context.create_inline_asm(ty, "".into(), "=r,0".into(), false, false, None, false);
        let call = built(self.builder.build_indirect_call(ty, nothing, &[x.into()], ""));
        call.try_as_basic_value().unwrap_basic().into_int_value()
    }

    /// Hands a value to the context's `write`, if there is one.
    pub(super) fn write(&mut self, ctx: PointerValue<'ctx>, ty: Scalar, value: BasicValueEnum<'ctx>) {
        let mut number = self.context.f64_type().const_zero().into();
        let mut integer = self.i64().const_zero().into();
        let mut text = self.ptr().const_null().into();
        let kind = match ty {
            Scalar::Float => {
                number = value;
                Kind::Float
            }
            Scalar::Integer => {
                integer = value;
                Kind::Integer
            }
            Scalar::Bool => {
                integer = built(self.builder.build_int_z_extend(value.into_int_value(), self.i64(), "")).into();
                Kind::Bool
            }
            Scalar::Text => {
                text = value;
                Kind::Text
            }
            Scalar::Mark => panic!("marks are not written"),
        };
        let kind = self.i32().const_int(kind as u64, false);
        let write = self.module.get_function("lmc.write").unwrap_or_else(|| self.define_write());
        let args = [ctx.into(), kind.into(), number.into(), integer.into(), text.into()];
        built(self.builder.build_call(write, &args, ""));
    }

    /// Returns the lowest address that the stack of a call may reach: so far below the frame at hand.
    pub(super) fn stack_limit(&self, function: FunctionValue<'ctx>, ctx: PointerValue<'ctx>) -> PointerValue<'ctx> {
        let default = self.i64().const_int(DEFAULT_STACK, false);
        let blocks = [(); 3].map(|()| self.context.append_basic_block(function, ""));
        let [start, given, join] = blocks;
        built(self.builder.build_unconditional_branch(start));
        self.builder.position_at_end(start);
        let absent = built(self.builder.build_is_null(ctx, ""));
        built(self.builder.build_conditional_branch(absent, join, given));
        self.builder.position_at_end(given);
        let bytes = self.load(self.i64().into(), self.context_field(ctx, STACK_BYTES)).into_int_value();
        let zero = built(self.builder.build_int_compare(inkwell::IntPredicate::EQ, bytes, self.i64().const_zero(), ""));
        let asked = built(self.builder.build_select(zero, default, bytes, ""));
        built(self.builder.build_unconditional_branch(join));
        self.builder.position_at_end(join);
        let bytes = built(self.builder.build_phi(self.i64(), ""));
        bytes.add_incoming(&[(&default, start), (&asked, given)]);
        let here = built(self.builder.build_ptr_to_int(self.frame_address(), self.i64(), ""));
        let bytes = bytes.as_basic_value();
        let limit = self.intrinsic("llvm.usub.sat", &[here.into(), bytes], &[self.i64().into()]).into_int_value();
        built(self.builder.build_int_to_ptr(limit, self.ptr(), ""))
    }

    /// An error as it is at one place of the source: a constant, but for the numbers.
    pub(super) fn site(&mut self, cause: &Cause, numbers: usize) -> PointerValue<'ctx> {
        let Cause { failure, span, parameter } = cause;
        let key = (cause.clone(), numbers);
        if let Some(site) = self.sites.get(&key) {
            return *site;
        }
        let known = *span != Span::default();
        let source = self.request.source;
        let (file, line, column) = if known { source.position(span.start) } else { (source.name(), 0, 0) };
        let places = [*failure as u32, line as u32, column as u32, span.start, span.end, numbers as u32];
        let mut fields: Vec<BasicValueEnum> =
            places.iter().map(|place| self.i32().const_int(u64::from(*place), false).into()).collect();
        fields.push(self.numbers_type().const_zero().into());
        let message = parameter.as_ref().map_or(failure.message().into(), |name| failure.message_about(name));
        fields.push(self.text(&message.into()).into());
        fields.push(self.text(file).into());
        let site = self.module.add_global(self.error_type(), None, "lmc.site");
        site.set_initializer(&self.context.const_struct(&fields, false));
        site.set_linkage(Linkage::Private);
        site.set_constant(true);
        site.set_unnamed_addr(true);
        self.sites.insert(key, site.as_pointer_value());
        site.as_pointer_value()
    }

    /// `lmc.fail.N(ctx, site, n1, .., nN)`.
    fn define_fail(&self, name: &str, numbers: usize) -> FunctionValue<'ctx> {
        let (ptr, i64) = (self.ptr().into(), self.i64().into());
        let params: Vec<_> = [ptr, ptr].into_iter().chain(std::iter::repeat_n(i64, numbers)).collect();
        let ty = self.context.void_type().fn_type(&params, false);
        self.outlined(name, ty, |emitter, function| {
            let param = |i| function.get_nth_param(i).expect("the function has so many parameters");
            let error = emitter.context_field(param(0).into_pointer_value(), ERROR);
            let size = emitter.error_type().size_of().expect("the structure is sized");
            let site = param(1).into_pointer_value();
            built(emitter.builder.build_memcpy(error, ALIGN, site, ALIGN, size));
            let all = built(emitter.builder.build_struct_gep(emitter.error_type(), error, NUMBER, ""));
            for i in 0..numbers {
                let place = emitter.i64().const_int(i as u64, false);
                let number = llvm::element(&emitter.builder, emitter.i64(), all, place);
                built(emitter.builder.build_store(number, param(2 + i as u32)));
            }
        })
    }

    /// `lmc.write(ctx, kind, number, integer, text)`.
    fn define_write(&self) -> FunctionValue<'ctx> {
        let (ptr, i32, i64) = (self.ptr().into(), self.i32().into(), self.i64().into());
        let values = [i32, self.context.f64_type().into(), i64, ptr];
        let void = self.context.void_type();
        let params: Vec<_> = [ptr].into_iter().chain(values).collect();
        let callback = void.fn_type(&params, false);
        self.outlined("lmc.write", callback, |emitter, function| {
            let param = |i| function.get_nth_param(i).expect("the function has five parameters");
            let ctx = param(0).into_pointer_value();
            let write = emitter.load(emitter.ptr().into(), emitter.context_field(ctx, WRITE)).into_pointer_value();
            let user = emitter.load(emitter.ptr().into(), emitter.context_field(ctx, USER));
            let absent = built(emitter.builder.build_is_null(write, ""));
            emitter.unless(function, absent, |emitter| {
                let args: Vec<_> = [user].into_iter().chain((1..5).map(param)).map(Into::into).collect();
                built(emitter.builder.build_indirect_call(callback, write, &args, ""));
            });
        })
    }

    /// Returns a function that is never inlined, and whose body is skipped when its first argument is null.
    fn outlined(
        &self,
        name: &str,
        ty: inkwell::types::FunctionType<'ctx>,
        body: impl FnOnce(&Self, FunctionValue<'ctx>),
    ) -> FunctionValue<'ctx> {
        let function = self.add_function(name, ty, Linkage::Internal);
        self.add_flags(function, &["noinline", "cold"]);
        let caller = self.builder.get_insert_block().expect("the builder stands in a block");
        self.builder.position_at_end(self.context.append_basic_block(function, ""));
        let ctx = function.get_nth_param(0).expect("a context comes first").into_pointer_value();
        let absent = built(self.builder.build_is_null(ctx, ""));
        self.unless(function, absent, |emitter| body(emitter, function));
        built(self.builder.build_return(None));
        self.builder.position_at_end(caller);
        function
    }

    pub(super) fn unless(&self, function: FunctionValue<'ctx>, condition: IntValue<'ctx>, body: impl FnOnce(&Self)) {
        let [run, join] = [(); 2].map(|()| self.context.append_basic_block(function, ""));
        built(self.builder.build_conditional_branch(condition, join, run));
        self.builder.position_at_end(run);
        body(self);
        built(self.builder.build_unconditional_branch(join));
        self.builder.position_at_end(join);
    }

    /// Copies the error of a context into another one.
    pub(super) fn copy_error(&self, to: PointerValue<'ctx>, from: PointerValue<'ctx>) {
        let [to, from] = [to, from].map(|ctx| self.context_field(ctx, ERROR));
        let size = self.error_type().size_of().expect("the structure is sized");
        built(self.builder.build_memcpy(to, ALIGN, from, ALIGN, size));
    }

    fn load(&self, ty: inkwell::types::BasicTypeEnum<'ctx>, from: PointerValue<'ctx>) -> BasicValueEnum<'ctx> {
        built(self.builder.build_load(ty, from, ""))
    }

    fn context_field(&self, ctx: PointerValue<'ctx>, field: u32) -> PointerValue<'ctx> {
        built(self.builder.build_struct_gep(self.context_type(), ctx, field, ""))
    }

    pub(super) fn context_type(&self) -> StructType<'ctx> {
        let ptr = self.ptr();
        let arena = self.i64().array_type(5);
        let threads = self.context.struct_type(&[ptr.into(), ptr.into(), self.i64().into()], false);
        let fields =
            [ptr.into(), ptr.into(), self.i64().into(), arena.into(), threads.into(), self.error_type().into()];
        self.context.struct_type(&fields, false)
    }

    fn error_type(&self) -> StructType<'ctx> {
        let (i32, ptr) = (self.i32().into(), self.ptr().into());
        let numbers = self.numbers_type().into();
        self.context.struct_type(&[i32, i32, i32, i32, i32, i32, numbers, ptr, ptr], false)
    }

    fn numbers_type(&self) -> ArrayType<'ctx> {
        self.i64().array_type(MOST_NUMBERS as u32)
    }
}
