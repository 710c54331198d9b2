//! Emits LLVM IR from loops.
//!
//! ```text
//! fun f(x..) -> (r..)   @"lmc.f"(ptr ctx, ptr limit, i64 depth, ptr arena, x..), internal; see `results`
//! an entry              i32 @f(ptr ctx, x.., ptr r..), 0 when all went well
//! ```
//!
//! `limit` is the lowest address that the stack may reach, and `depth` the number of calls. Only recursive functions
//! read them, and LLVM drops them elsewhere. It also drops the arena from functions that take nothing from it. Internal
//! names begin with `lmc.`, and no exported symbol does. So no user's name is taken for one of libm, libc or an
//! intrinsic.
//!
//! [`Emitter`] holds the module under construction, and [`frame::Frame`] the function. The methods of `Emitter` are
//! divided over the files of this folder, by what they emit. No file calls methods of another one's private parts:
//!
//! | files | emit |
//! | --- | --- |
//! | `function`, `ops`, `math`, `sums` | bodies, scalar operations, functions of libm, Floats in any order |
//! | `memory`, `scopes` | buffers, the arena, what LLVM is told of aliases |
//! | `results`, `tail`, `failures` | how functions return, call themselves last, and fail |
//! | `lanes/`, `shape` | loops in lanes of vectors |
//! | `chunks` | loops on threads |
//! | `entry`, `external`, `support` | what C calls, calls of C, the context |
//! | `query`, `workspace` | queries of the workspace |
//! | `counters`, `timing_loop` | code that counts or measures |
//! | `hotness` | how often code runs, and so what it is worth |

mod chunks;
mod counters;
mod entry;
mod external;
mod failures;
mod frame;
mod function;
mod hotness;
mod lanes;
mod math;
mod memory;
mod ops;
mod query;
mod results;
mod scopes;
mod shape;
mod sums;
mod support;
mod tail;
mod timing_loop;
mod workspace;

pub(crate) use counters::{COUNTERS, Telling};

use crate::header::parameter_names;
use crate::options::Math;
use crate::partition::BETWEEN;
use crate::source::SourceInfo;
use crate::target::Target;
use hotness::Hotness;
use indexmap::IndexMap;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicTypeEnum, IntType, PointerType};
use inkwell::values::{FunctionValue, PointerValue};
use lm::term::FunName;
use loops::analyses::jam;
use loops::analyses::slices::Slices;
use loops::ir;
use loops::ir::{FunId, Scalar, Ty};
use loops::lower::Outside;
use loops::symbol::Symbol;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use support::Cause;

/// The module to emit, and the options for it.
pub(crate) struct Request<'a> {
    /// The functions, entries first.
    pub module: &'a ir::Module,
    /// The symbols of the entries.
    pub symbols: &'a [Symbol],
    /// The entries as C calls them; those without a form in C are not exported.
    pub interfaces: &'a [Outside],
    /// The source that errors point to.
    pub source: &'a SourceInfo,
    /// The machine.
    pub target: &'a Target,
    /// How Floats are computed.
    pub math: Math,
    /// The least work of a chunk.
    pub grain: u64,
    /// Whether entries get a second form, `lmc.packed.<symbol>(ctx, in, out)`, with every argument
    /// and result a 64-bit word in an array: that is what the JIT calls.
    pub packed: bool,
    /// What the code tells of itself: see `counters`.
    pub telling: Telling,
    /// The slices that tell workspaces, where entries get queries for them; then `module` is theirs.
    pub slices: Option<&'a Slices>,
}

/// Returns the name of an entry's packed form.
pub(crate) fn packed_name(symbol: &Symbol) -> String {
    format!("lmc.packed.{}", symbol.name)
}

/// Returns the name of the query of an entry's workspace, in the packed form.
pub(crate) fn query_name(symbol: &Symbol) -> String {
    format!("lmc.workspace.{}", symbol.name)
}

/// Returns the LLVM module, not yet optimised.
pub(crate) fn emit<'ctx>(context: &'ctx Context, request: &Request) -> Module<'ctx> {
    let module = context.create_module("lmc");
    module.set_source_file_name(request.source.name());
    module.set_triple(&request.target.machine().get_triple());
    module.set_data_layout(&request.target.machine().get_target_data().get_data_layout());
    let mut emitter = Emitter::new(context, module, request);
    emitter.link_runtime();
    emitter.declare_counters();
    emitter.declare();
    for (i, function) in request.module.functions.iter().enumerate() {
        emitter.define_function(i, &jam::expanded(function, request.module.vectors.floats));
    }
    emitter.hotness = Hotness::default();
    request.symbols.iter().enumerate().for_each(|(i, symbol)| emitter.export(i, symbol));
    emitter.keep_variants();
    emitter.module
}

/// The flags of a function that is compiled for size, and never into another one.
const FOR_SIZE: [&str; 4] = ["cold", "noinline", "minsize", "optsize"];

struct Emitter<'ctx, 'a> {
    context: &'ctx Context,
    module: Module<'ctx>,
    builder: Builder<'ctx>,
    request: &'a Request<'a>,
    functions: Vec<FunctionValue<'ctx>>,
    texts: IndexMap<Arc<str>, PointerValue<'ctx>>,
    /// For each function of the module, the parameters that it writes to.
    summaries: Vec<loops::analyses::alias::Summary>,
    /// How many alias scopes there are.
    scopes: usize,
    /// The errors that may be reported, by what they are and where they point.
    sites: IndexMap<(Cause, usize), PointerValue<'ctx>>,
    /// The names of the parameters in C, of each function that C calls.
    parameter_names: FxHashMap<FunName, Vec<String>>,
    /// Which functions may run more than once in a call of an entry.
    repeated: Vec<bool>,
    /// How often the code at hand runs.
    hotness: Hotness,
    /// Which buffers may share memory, in functions of which there are slices with loops in lanes.
    aliases: FxHashMap<usize, Rc<loops::analyses::alias::Aliases>>,
}

impl<'ctx, 'a> Emitter<'ctx, 'a> {
    fn new(context: &'ctx Context, module: Module<'ctx>, request: &'a Request<'a>) -> Emitter<'ctx, 'a> {
        let builder = context.create_builder();
        let name_of = |function: FunId| request.module.functions[function.0].name.clone();
        let called = request.interfaces.iter().flatten();
        let names = called.map(|interface| (name_of(interface.function), parameter_names(interface)));
        Emitter {
            context,
            module,
            builder,
            request,
            functions: vec![],
            texts: IndexMap::new(),
            summaries: loops::analyses::cache::summaries(request.module),
            scopes: 0,
            sites: IndexMap::new(),
            parameter_names: names.collect(),
            repeated: request.module.repeated(),
            hotness: Hotness::default(),
            aliases: FxHashMap::default(),
        }
    }

    fn declare(&mut self) {
        for function in &self.request.module.functions {
            let ty = self.signature(function);
            let declared = self.add_function(&format!("lmc.{}", function.name), ty, Linkage::Internal);
            self.mark_buffers(function, declared);
            self.spare(declared, function, self.is_slice(self.functions.len()));
            if !function.cold && function.body.has_lanes() {
                self.align_stack(declared);
            }
            if function.c_wrapper {
                self.mark_between(declared);
            }
            if function.recursive {
                self.copy_in_line(declared);
            }
            self.functions.push(declared);
        }
    }

    fn is_slice(&self, function: usize) -> bool {
        self.request.slices.is_some_and(|slices| slices.origins.contains_key(&function))
    }

    /// Spares LLVM's time where it buys nothing. What is not likely to run is compiled for size. A slice has little to
    /// do, and is asked once where the function is called often: it is not optimised at all.
    fn spare(&self, declared: FunctionValue<'ctx>, function: &ir::Function, is_slice: bool) {
        let flags: &[&str] = match (is_slice, function.cold) {
            (true, _) => &["cold", "noinline", "optnone"],
            (false, true) => &FOR_SIZE,
            (false, false) => &[],
        };
        self.add_flags(declared, flags);
    }

    fn add_flags(&self, function: FunctionValue<'ctx>, flags: &[&str]) {
        flags.iter().for_each(|flag| function.add_attribute(AttributeLoc::Function, self.flag(flag)));
    }

    /// Lets vectors on the stack lie at multiples of their size. Around a call of libm all of them are there, and one that
    /// crosses a line of the cache takes twice the time.
    fn align_stack(&self, function: FunctionValue<'ctx>) {
        let bytes = 8 * u64::from(self.request.target.doubles());
        function.add_attribute(AttributeLoc::Function, self.attribute("alignstack", bytes));
    }

    /// Says of a function between C and the rest that it does little beside what it calls.
    fn mark_between(&self, function: FunctionValue<'ctx>) {
        function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(BETWEEN, ""));
    }

    /// Loops that copy stay loops. Most calls of a recursion have little left to copy, for which a call of `memcpy`
    /// takes several times as long; a loop over much runs on vectors.
    fn copy_in_line(&self, function: FunctionValue<'ctx>) {
        for name in ["no-builtin-memcpy", "no-builtin-memmove"] {
            function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(name, ""));
        }
    }

    /// Marks the buffer parameters of a function for alias analysis. While the function runs, a buffer changes only
    /// through its parameter. Inputs do not change, and destinations of sums have no other owner.
    fn mark_buffers(&self, function: &ir::Function, declared: FunctionValue<'ctx>) {
        if function.c_wrapper {
            return;
        }
        for (i, x) in function.params.iter().enumerate() {
            if function.locals[x.0 as usize].ty.as_scalar().is_none() {
                let place = AttributeLoc::Param((frame::HIDDEN + i) as u32);
                declared.add_attribute(place, self.flag("noalias"));
            }
        }
    }

    /// Returns a new function for the target.
    fn add_function(
        &self,
        name: &str,
        ty: inkwell::types::FunctionType<'ctx>,
        linkage: Linkage,
    ) -> FunctionValue<'ctx> {
        let function = self.module.add_function(name, ty, Some(linkage));
        self.for_target(function);
        function
    }

    fn for_target(&self, function: FunctionValue<'ctx>) {
        let target = self.request.target;
        let width = (64 * target.doubles()).to_string();
        let width = ("prefer-vector-width", width.as_str());
        for (key, value) in [("target-cpu", target.cpu()), ("target-features", target.features()), width] {
            function.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(key, value));
        }
        function.add_attribute(AttributeLoc::Function, self.flag("nounwind"));
    }

    fn flag(&self, name: &str) -> Attribute {
        self.attribute(name, 0)
    }

    fn attribute(&self, name: &str, value: u64) -> Attribute {
        self.context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), value)
    }

    /// The address of a constant text.
    fn text(&mut self, text: &Arc<str>) -> PointerValue<'ctx> {
        if let Some(address) = self.texts.get(text) {
            return *address;
        }
        let address = built(self.builder.build_global_string_ptr(text, "lmc.text")).as_pointer_value();
        self.texts.insert(text.clone(), address);
        address
    }

    fn ty(&self, ty: Ty) -> BasicTypeEnum<'ctx> {
        match ty.as_scalar() {
            Some(Scalar::Float) => self.context.f64_type().into(),
            Some(Scalar::Integer) => self.i64().into(),
            Some(Scalar::Bool) => self.context.bool_type().into(),
            Some(Scalar::Text | Scalar::Mark) | None => self.ptr().into(),
        }
    }

    fn ptr(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    fn i32(&self) -> IntType<'ctx> {
        self.context.i32_type()
    }

    fn i64(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }
}

/// Returns the result of a builder. It fails only without a position or for clashing types, and both are bugs of lmc.
fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("loops are well-typed and the builder stands in a block")
}
