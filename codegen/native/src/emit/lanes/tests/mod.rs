//! Loops in lanes and one iteration after the other: the same values, buffers and errors. The texts are loops, called
//! in memory; `lanes W` in them becomes several widths, and `jam R` the fewer iterations side by side the more lanes
//! there are. All is asked at several numbers of iterations: none, one, around W, several times W, a prime.

use crate::abi::Context;
use crate::emit::{Request, Telling, packed_name};
use crate::llvm::Linked;
use crate::llvm_codegen::{OutputForm, generate};
use crate::options::{Lanes, Math, Options};
use crate::source::SourceInfo;
use crate::target::Target;
use lm::types::Type;
use loops::analyses::divergence::Layout;
use loops::analyses::verify::verify;
use loops::ir::parse::parse;
use loops::ir::{Module, Scalar};
use loops::symbol::Symbol;

mod exp;
mod parting;
mod rows;
mod shapes;
mod side_by_side;
mod values;

/// An argument: scalars, or buffers, which are compared after the call.
#[derive(Clone, Debug)]
enum Arg {
    I(i64),
    F(f64),
    Floats(Vec<f64>),
    Integers(Vec<i64>),
    Bools(Vec<u8>),
    Rows(Vec<Vec<f64>>),
}

/// The outcome of a call: its status with the numbers of the error, or its results; and the buffers.
#[derive(Debug)]
struct Outcome {
    results: Result<Vec<u64>, (i32, Vec<i64>)>,
    args: Vec<Arg>,
}

/// A first function, compiled.
struct Native {
    linked: Linked,
    results: Vec<bool>,
}

impl Native {
    fn new(text: &str, options: &Options) -> Native {
        let module: Module = parse(text);
        verify(&module).unwrap_or_else(|violation| panic!("{violation}\n{text}"));
        let target = Target::new(options.target_cpu.as_deref(), options.opt_level).expect("the target is known");
        let symbol = Symbol { name: "f".into(), alias: None, workspace: vec![] };
        let request = Request {
            module: &module,
            symbols: &[symbol],
            interfaces: &[Err(Type::Float)],
            source: &SourceInfo::default(),
            target: &target,
            math: options.math,
            grain: options.grain,
            packed: true,
            telling: Telling::Nothing,
            slices: None,
        };
        let object = generate(&request, OutputForm::Object, options).expect("LLVM makes an object");
        let linked = Linked::new(&object).expect("the object links");
        let is_float = |ty: &loops::ir::Ty| ty.as_scalar() == Some(Scalar::Float);
        Native { linked, results: module.functions[0].results.iter().map(is_float).collect() }
    }

    fn call(&self, args: &[Arg]) -> Outcome {
        let symbol = Symbol { name: "f".into(), alias: None, workspace: vec![] };
        let address = self.linked.address(&packed_name(&symbol)).expect("the entry is there");
        let free = self.linked.address("lmc_context_free").expect("the runtime is there");
        // SAFETY: the emitter gave the functions of these names these types.
        let (function, free) = unsafe {
            (
                std::mem::transmute::<usize, extern "C" fn(*mut Context, *const u64, *mut u64) -> i32>(address),
                std::mem::transmute::<usize, extern "C" fn(*mut Context)>(free),
            )
        };
        let mut args = args.to_vec();
        let mut tables: Vec<Vec<u64>> = vec![];
        let words: Vec<u64> = args.iter_mut().map(|arg| word(arg, &mut tables)).collect();
        let mut results = vec![0u64; self.results.len()];
        let mut context = Context::new();
        let status = function(&mut context, words.as_ptr(), results.as_mut_ptr());
        let numbers = context.error.number[..context.error.count as usize].to_vec();
        free(&mut context);
        let results = if status == 0 { Ok(results) } else { Err((status, numbers)) };
        Outcome { results, args }
    }
}

fn word(arg: &mut Arg, tables: &mut Vec<Vec<u64>>) -> u64 {
    match arg {
        Arg::I(i) => *i as u64,
        Arg::F(x) => x.to_bits(),
        Arg::Floats(v) => v.as_mut_ptr() as u64,
        Arg::Integers(v) => v.as_mut_ptr() as u64,
        Arg::Bools(v) => v.as_mut_ptr() as u64,
        Arg::Rows(rows) => {
            tables.push(rows.iter_mut().map(|row| row.as_mut_ptr() as u64).collect());
            tables[tables.len() - 1].as_ptr() as u64
        }
    }
}

fn near(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-12 * x.abs().max(y.abs()).max(1e-3)
}

fn all_near(xs: &[f64], ys: &[f64]) -> bool {
    xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| near(*x, *y))
}

fn same_arg(a: &Arg, b: &Arg) -> bool {
    match (a, b) {
        (Arg::I(a), Arg::I(b)) => a == b,
        (Arg::F(a), Arg::F(b)) => near(*a, *b),
        (Arg::Floats(a), Arg::Floats(b)) => all_near(a, b),
        (Arg::Integers(a), Arg::Integers(b)) => a == b,
        (Arg::Bools(a), Arg::Bools(b)) => a == b,
        (Arg::Rows(a), Arg::Rows(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| all_near(a, b)),
        _ => false,
    }
}

impl Native {
    /// Returns whether two outcomes agree; after an error, buffers do not count.
    fn agree(&self, a: &Outcome, b: &Outcome) -> bool {
        match (&a.results, &b.results) {
            (Ok(xs), Ok(ys)) => {
                let same = |((x, y), is_float): ((&u64, &u64), &bool)| match is_float {
                    true => near(f64::from_bits(*x), f64::from_bits(*y)),
                    false => x == y,
                };
                let results = xs.iter().zip(ys).zip(&self.results).all(same);
                results && a.args.iter().zip(&b.args).all(|(a, b)| same_arg(a, b))
            }
            (Err(a), Err(b)) => a == b,
            _ => false,
        }
    }
}

/// Returns the numbers of iterations that matter to W lanes.
fn counts(width: i64) -> Vec<i64> {
    vec![0, 1, width - 1, width, width + 1, 3 * width, 37]
}

/// Runs a text in lanes and without them. The lanes replace `lanes W` in the text. The arguments are for a number of
/// iterations.
fn check(text: &str, args: impl Fn(i64) -> Vec<Arg>) {
    check_with(text, args, |plain| assert!(plain.results.is_ok(), "{:?}\n{text}", plain.results));
}

/// Returns the same; the outcome without lanes is looked at.
fn check_with(text: &str, args: impl Fn(i64) -> Vec<Arg>, look: impl Fn(&Outcome)) {
    assert!(text.contains("lanes W"), "{text}");
    let plain =
        Native::new(&text.replace(" lanes W", "").replace(" jam R", ""), &Options { opt_level: 1, ..Options::exact() });
    for width in [2, 4, 8, 16] {
        let in_lanes = text.replace("lanes W", &format!("lanes {width}"));
        let in_lanes = in_lanes.replace("jam R", &format!("jam {}", (16 / width).max(2)));
        for options in ways(width) {
            let native = Native::new(&in_lanes, &options);
            for n in counts(width) {
                let [wanted, found] = [&plain, &native].map(|native| native.call(&args(n)));
                look(&wanted);
                let Options { opt_level, math, target_cpu, .. } = &options;
                let agree = plain.agree(&wanted, &found);
                assert!(
                    agree,
                    "{width} lanes, n = {n}, O{opt_level}, {math:?}, {target_cpu:?}:\nplain {wanted:?}\nlanes {found:?}\n{text}"
                );
            }
        }
    }
}

/// Levels, both kinds of Floats, and processors with other vectors.
fn ways(width: i64) -> Vec<Options> {
    let exact = Options { lanes: Lanes::Width(width as u32), ..Options::exact() };
    let mut ways = vec![Options { opt_level: 0, ..exact.clone() }, Options { math: Math::Fast, ..exact.clone() }];
    ways.push(match width {
        2 | 8 => Options { target_cpu: Some("x86-64".into()), opt_level: 1, math: Math::Fast, ..exact },
        _ => Options { opt_level: 1, ..exact },
    });
    ways
}

/// Floats between -1 and 1.
fn floats(seed: i64, n: i64) -> Vec<f64> {
    let value = |i: i64| ((seed * 7919 + i * 104_729) % 2003) as f64 / 1001.5 - 1.0;
    (0..n).map(value).collect()
}

/// Integers from 0 to m - 1.
fn integers(seed: i64, n: i64, m: i64) -> Vec<i64> {
    (0..n).map(|i| (seed * 31 + i * i * 17 + i * 5) % m).collect()
}

/// Returns the layouts of the buffers in a text.
fn layouts(text: &str) -> Vec<Layout> {
    use loops::analyses::alias::Aliases;
    use loops::analyses::cache::summaries;
    use loops::ir::{Operand, Stmt};
    let module = parse(&text.replace("lanes W", "lanes 4"));
    let function = &module.functions[0];
    let aliases = Aliases::of(function, &summaries(&module));
    let mut found = vec![];
    function.body.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt
            && looped.lanes > 1
        {
            let spread =
                loops::analyses::divergence::Divergence::of(function, &aliases, looped).expect("it runs in lanes");
            looped.body.visit(&mut |stmt| {
                if let Stmt::Memory(loops::ir::Memory::Alloc { buffer, .. }) = stmt {
                    found.push(spread.layout(&Operand::Local(*buffer)));
                }
            });
        }
    });
    found
}
