//! Measures what one core of this machine can do at most, with two kernels that are compiled as programs are.
//!
//! ```text
//! arithmetic   x = x * a + b on independent chains of vectors, nothing loaded or stored
//! memory       a[i] = b[i] + s * c[i] on arrays that are larger than the caches (the triad of STREAM); and again on
//!              arrays that the first cache holds
//! ```
//!
//! Source of the triad: McCalpin, Memory bandwidth and machine balance in current high performance computers, 1995. As
//! there, its bytes are those that the program names, 24 for each i; that a processor may read a before it writes to it
//! is not counted.

use crate::error::Error;
use crate::llvm::{self, Linked};
use crate::target::Target;
use inkwell::AddressSpace;
use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;
use inkwell::types::VectorType;
use inkwell::values::{FunctionValue, IntValue, PhiValue, VectorValue};
use std::time::Instant;

/// The most that was seen of one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Floating-point operations in a second; a fused multiplication and addition is two.
    pub operations: f64,
    /// How many Floats there were in the vectors that this was measured with.
    pub lanes: u32,
    /// Bytes in a second, from and to memory.
    pub bytes: f64,
    /// The bytes of the three arrays that this was measured with.
    pub arrays: usize,
    /// The same from and to the first cache.
    pub cached_bytes: f64,
}

/// Elements of arrays that a first cache of 32 KiB holds, all three.
const CACHED: usize = 1_000;

type Arithmetic = unsafe extern "C" fn(rounds: u64, a: f64, b: f64) -> f64;

type Triad = unsafe extern "C" fn(count: u64, s: f64, a: *mut f64, b: *const f64, c: *const f64);

/// The widths of vectors that are tried: those of SSE2, AVX and AVX-512.
const LANES: [u32; 3] = [2, 4, 8];

/// Chains of operations that do not wait for each other. They are enough for what a core has under way (two units, four
/// to eight cycles each), and few enough for sixteen registers.
const CHAINS: u32 = 12;

/// Measures, in about half a second. `cpu` is as in [`crate::Options::target_cpu`].
///
/// Errors: the processor is unknown; LLVM has no code generator.
pub fn peaks(cpu: Option<&str>) -> Result<Peaks, Error> {
    let linked = Linked::new(&object(&Target::new(cpu, 3)?)?).map_err(Error::Llvm)?;
    let address = |name: &str| linked.address(name).map_err(Error::Llvm);
    let mut best = (0.0, 0);
    for lanes in LANES {
        // SAFETY: `arithmetic` gave the function of that name this type.
        let kernel = unsafe { std::mem::transmute::<usize, Arithmetic>(address(&arithmetic_name(lanes))?) };
        let speed = operations(kernel, lanes);
        best = if speed > best.0 { (speed, lanes) } else { best };
    }
    // SAFETY: as above, of `triad`.
    let triad = unsafe { std::mem::transmute::<usize, Triad>(address(TRIAD)?) };
    let count = triad_length();
    let (bytes, cached_bytes) = (bytes(triad, count, 1), bytes(triad, CACHED, 20_000));
    Ok(Peaks { operations: best.0, lanes: best.1, bytes, arrays: 24 * count, cached_bytes })
}

/// Returns the best of several runs: what else the machine does only makes a run slower.
fn best(runs: usize, work: f64, mut run: impl FnMut()) -> f64 {
    let one = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        work / start.elapsed().as_secs_f64()
    };
    (0..runs).map(|_| one(&mut run)).fold(0.0, f64::max)
}

fn operations(kernel: Arithmetic, lanes: u32) -> f64 {
    const ROUNDS: u64 = 200_000;
    const RUNS: usize = 20;
    let work = ROUNDS as f64 * f64::from(2 * CHAINS * lanes);
    // The chains go to a fixed point: no number becomes so small or large that it would be slow.
    // SAFETY: the kernel touches no memory.
    best(RUNS, work, || {
        std::hint::black_box(unsafe { kernel(ROUNDS, 0.5, 0.25) });
    })
}

/// Measures the rate of a kernel on arrays of `count` elements. A run goes over them `times` times.
fn bytes(kernel: Triad, count: usize, times: usize) -> f64 {
    const RUNS: usize = 8;
    let [mut a, mut b, mut c] = [(); 3].map(|()| vec![0.0; count]);
    // SAFETY: the arrays have so many elements.
    let run = |a: &mut [f64], b: &[f64], c: &[f64]| unsafe {
        kernel(count as u64, 0.5, a.as_mut_ptr(), b.as_ptr(), c.as_ptr());
    };
    // An array of zeros has no memory before it is written to; that is no part of what is measured.
    run(&mut b, &a, &c);
    run(&mut c, &a, &b);
    run(&mut a, &b, &c);
    best(RUNS, (24 * count * times) as f64, || (0..times).for_each(|_| run(&mut a, &b, &c)))
}

/// Returns the elements of an array. The three arrays are four times as large as the largest cache and at least 128
/// MiB, but take at most an eighth of the memory.
fn triad_length() -> usize {
    const LEAST: usize = 128 << 20;
    let wanted = LEAST.max(4 * largest_cache().unwrap_or(0));
    wanted.min(memory().map_or(LEAST, |bytes| bytes / 8)) / 24
}

/// Returns the size in bytes, if Linux tells it.
fn largest_cache() -> Option<usize> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("size")).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok().map(|kib| kib << 10)
    };
    caches.filter_map(|entry| size(entry.ok()?.path())).max()
}

/// Returns the size in bytes, if Linux tells it.
fn memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kib| kib << 10)
}

const TRIAD: &str = "lmc.peak.triad";

fn arithmetic_name(lanes: u32) -> String {
    format!("lmc.peak.arithmetic.{lanes}")
}

fn object(target: &Target) -> Result<Vec<u8>, Error> {
    let context = Context::create();
    let module = context.create_module("lmc.peaks");
    module.set_triple(&target.machine().get_triple());
    module.set_data_layout(&target.machine().get_target_data().get_data_layout());
    let kernels = Kernels { context: &context, module, builder: context.create_builder() };
    LANES.iter().for_each(|lanes| kernels.emit_arithmetic(*lanes));
    kernels.emit_triad();
    for function in kernels.module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
        for (key, value) in [("target-cpu", target.cpu()), ("target-features", target.features())] {
            function.add_attribute(AttributeLoc::Function, context.create_string_attribute(key, value));
        }
    }
    let llvm = |error: inkwell::support::LLVMString| Error::Llvm(error.to_string());
    kernels.module.verify().unwrap_or_else(|violation| panic!("the kernels break a rule of LLVM: {violation}"));
    kernels.module.run_passes("default<O3>", target.machine(), PassBuilderOptions::create()).map_err(llvm)?;
    let object = target.machine().write_to_memory_buffer(&kernels.module, FileType::Object).map_err(llvm)?;
    Ok(object.as_slice().to_vec())
}

/// The kernels under construction.
struct Kernels<'ctx> {
    context: &'ctx Context,
    module: Module<'ctx>,
    builder: Builder<'ctx>,
}

impl<'ctx> Kernels<'ctx> {
    /// `double arithmetic(rounds, a, b)`: the sum of all chains, so that none can be left out.
    fn emit_arithmetic(&self, lanes: u32) {
        let float = self.context.f64_type();
        let ty = float.fn_type(&[self.context.i64_type().into(), float.into(), float.into()], false);
        let function = self.module.add_function(&arithmetic_name(lanes), ty, None);
        let vector = float.vec_type(lanes);
        let fma = Intrinsic::find("llvm.fmuladd").expect("LLVM has the intrinsic");
        let fma = fma.get_declaration(&self.module, &[vector.into()]).expect("it is made for vectors");
        // They start with different values: LLVM would make one of chains that are the same.
        let start = |i: u32| VectorType::const_vector(&vec![float.const_float(f64::from(i + 1)); lanes as usize]);
        let starts: Vec<VectorValue> = (0..CHAINS).map(start).collect();
        let sums = self.emit_loop(function, &starts, |_, chains| {
            let [a, b] = [1, 2].map(|i| self.splat(vector, function, i));
            let step = |x: &PhiValue<'ctx>| {
                let args = [x.as_basic_value().into(), a.into(), b.into()];
                built(self.builder.build_call(fma, &args, "")).try_as_basic_value().unwrap_basic().into_vector_value()
            };
            chains.iter().map(step).collect()
        });
        let add = |a, b: &VectorValue<'ctx>| built(self.builder.build_float_add(a, *b, ""));
        let sum = sums[1..].iter().fold(sums[0], add);
        let part = |i: u32| {
            let i = self.context.i32_type().const_int(u64::from(i), false);
            built(self.builder.build_extract_element(sum, i, "")).into_float_value()
        };
        let total = (1..lanes).fold(part(0), |total, i| built(self.builder.build_float_add(total, part(i), "")));
        built(self.builder.build_return(Some(&total)));
    }

    /// `void triad(count, s, a, b, c)`.
    fn emit_triad(&self) {
        let float = self.context.f64_type();
        let ptr = self.context.ptr_type(AddressSpace::default()).into();
        let params = [self.context.i64_type().into(), float.into(), ptr, ptr, ptr];
        let function = self.module.add_function(TRIAD, self.context.void_type().fn_type(&params, false), None);
        let noalias = self.context.create_enum_attribute(Attribute::get_named_enum_kind_id("noalias"), 0);
        (2..5).for_each(|i| function.add_attribute(AttributeLoc::Param(i), noalias));
        self.emit_loop(function, &[], |i, _| {
            let params = function.get_params();
            let place = |array: usize| llvm::element(&self.builder, float, params[array].into_pointer_value(), i);
            let load = |array| built(self.builder.build_load(float, place(array), "")).into_float_value();
            let scaled = built(self.builder.build_float_mul(params[1].into_float_value(), load(4), ""));
            let sum = built(self.builder.build_float_add(load(3), scaled, ""));
            built(self.builder.build_store(place(2), sum));
            vec![]
        });
        built(self.builder.build_return(None));
    }

    /// `for i in 0..n carrying (x = start ..)`, n the first parameter; leaves the builder behind the loop.
    fn emit_loop(
        &self,
        function: FunctionValue<'ctx>,
        starts: &[VectorValue<'ctx>],
        body: impl FnOnce(IntValue<'ctx>, &[PhiValue<'ctx>]) -> Vec<VectorValue<'ctx>>,
    ) -> Vec<VectorValue<'ctx>> {
        let i64 = self.context.i64_type();
        let [before, inside, after] = [(); 3].map(|()| self.context.append_basic_block(function, ""));
        self.builder.position_at_end(before);
        built(self.builder.build_unconditional_branch(inside));
        self.builder.position_at_end(inside);
        let index = built(self.builder.build_phi(i64, ""));
        let carried: Vec<_> = starts.iter().map(|x| built(self.builder.build_phi(x.get_type(), ""))).collect();
        let i = index.as_basic_value().into_int_value();
        let next = body(i, &carried);
        let following = built(self.builder.build_int_nuw_add(i, i64.const_int(1, false), ""));
        let count = function.get_first_param().expect("the count comes first").into_int_value();
        let more = built(self.builder.build_int_compare(IntPredicate::ULT, following, count, ""));
        built(self.builder.build_conditional_branch(more, inside, after));
        index.add_incoming(&[(&i64.const_zero(), before), (&following, inside)]);
        for ((phi, start), next) in carried.iter().zip(starts).zip(&next) {
            phi.add_incoming(&[(start, before), (next, inside)]);
        }
        self.builder.position_at_end(after);
        next
    }

    /// Returns a vector of one parameter.
    fn splat(&self, ty: VectorType<'ctx>, function: FunctionValue<'ctx>, param: u32) -> VectorValue<'ctx> {
        let value = function.get_nth_param(param).expect("the kernel has that parameter");
        let zero = self.context.i32_type().const_zero();
        let first = built(self.builder.build_insert_element(ty.get_undef(), value, zero, ""));
        let everywhere = self.context.i32_type().vec_type(ty.get_size()).const_zero();
        built(self.builder.build_shuffle_vector(first, ty.get_undef(), everywhere, ""))
    }
}

/// Returns the result of a builder. It fails only without a position or for clashing types, and both are bugs of lmc.
fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("the kernels are well-typed and the builder stands in a block")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels compute what they say, also on a processor without fused operations.
    #[test]
    fn kernels_compute() {
        for cpu in [None, Some("x86-64")] {
            let object = object(&Target::new(cpu, 3).expect("the target is known")).expect("they compile");
            let linked = Linked::new(&object).expect("they link");
            for lanes in LANES {
                let address = linked.address(&arithmetic_name(lanes)).expect("it is there");
                // SAFETY: the function has this type and touches no memory.
                let kernel = unsafe { std::mem::transmute::<usize, Arithmetic>(address) };
                let sum = |rounds| unsafe { kernel(rounds, 0.5, 0.25) };
                // 1 + 2 + .. + 12 = 78 becomes 78 / 2 + 12 / 4 = 42; in the end each chain is 1/2.
                assert_eq!(sum(1), f64::from(lanes) * 42.0);
                assert_eq!(sum(1_000), f64::from(lanes * CHAINS) * 0.5);
            }
            let address = linked.address(TRIAD).expect("it is there");
            // SAFETY: the function has this type; the arrays have 101 elements.
            let triad = unsafe { std::mem::transmute::<usize, Triad>(address) };
            let b: Vec<f64> = (0..101).map(f64::from).collect();
            let (mut a, c) = (vec![0.0; 101], vec![2.0; 101]);
            unsafe { triad(100, 0.5, a.as_mut_ptr(), b.as_ptr(), c.as_ptr()) };
            let expected: Vec<f64> = (0..100).map(|i| f64::from(i) + 1.0).chain([0.0]).collect();
            assert_eq!(a, expected);
        }
    }

    #[test]
    fn something_is_measured() {
        let peaks = peaks(None).expect("the machine is known");
        assert!(peaks.operations.is_finite() && peaks.operations > 0.0, "{peaks:?}");
        assert!([peaks.bytes, peaks.cached_bytes].iter().all(|x| x.is_finite() && *x > 0.0), "{peaks:?}");
        assert!(LANES.contains(&peaks.lanes) && peaks.arrays > 0, "{peaks:?}");
    }
}
