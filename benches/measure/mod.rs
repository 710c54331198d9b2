//! The parts shared by benches of whole demos: native code of a function and its reverse derivative, arguments
//! given as KS, and medians.

mod arguments;
mod units;

use criterion::{BenchmarkGroup, Criterion, SamplingMode, measurement::WallTime};
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, Prepared, SourceInfo};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use arguments::ARGUMENTS;
pub use units::shown;

/// A demo as native code, with arguments.
pub struct Native {
    jit: Jit,
    function: FunName,
    arguments: Vec<Value>,
    has_reverse: bool,
}

pub fn demo(name: &str) -> &'static Demo {
    DEMOS.iter().find(|demo| demo.name == name).expect("it is a demo")
}

impl Native {
    /// `arguments` is an expression for them all: a tuple where there are several.
    pub fn new(demo: &Demo, arguments: &str) -> Native {
        Native::with(Derivation::default(), demo, arguments, &native::Options::default())
    }

    /// Does the same as [`Native::new`], with the reverse derivative by a derivation.
    pub fn by(derivation: Derivation, demo: &Demo, arguments: &str) -> Native {
        Native::with(derivation, demo, arguments, &native::Options::default())
    }

    /// The same, by a derivation, compiled as the options say.
    pub fn with(derivation: Derivation, demo: &Demo, arguments: &str, options: &native::Options) -> Native {
        let function = FunName::base(demo.fun);
        let types = front::load(&Source::new("demo.ks", demo.text)).expect("the demo is right").program;
        let ty = types.defs[&function].fun.argument();
        let text = format!("{}\n(def benchmark_arguments {ty} () {arguments})\n", demo.text);
        let source = Source::new("demo.ks", text.as_str());
        let checked = front::load_for(&source, derivation, &Timings::default());
        let mut pipeline = Pipeline::new(checked.unwrap_or_else(|e| panic!("{}: {e:?}", demo.name)));
        let reverse = function.derived(Derivative::Rev);
        let mut entries = vec![function.clone(), FunName::base("benchmark_arguments"), reverse.clone()];
        entries.iter().for_each(|name| pipeline.require(name).expect("it derives"));
        let info = SourceInfo::new("demo.ks", &text);
        let jit = |entries: &[FunName]| Jit::new(pipeline.program(), entries, &info, options);
        let jit = jit(&entries).or_else(|_| {
            entries.pop();
            jit(&entries)
        });
        let jit = jit.unwrap_or_else(|e| panic!("{}: {e}", demo.name));
        let value = jit.call(&FunName::base("benchmark_arguments"), &[]).expect("there are arguments");
        let several = types.defs[&function].fun.params.len() > 1;
        let arguments = if several { value.as_tuple().expect("several").to_vec() } else { vec![value] };
        Native { jit, function, arguments, has_reverse: entries.contains(&reverse) }
    }

    pub fn arguments(&self) -> &[Value] {
        &self.arguments
    }

    pub fn value(&self) -> Value {
        self.jit.call(&self.function, &self.arguments).expect("the call goes well")
    }

    pub fn prepare(&self) -> Prepared<'_> {
        self.jit.prepare(&self.function, &self.arguments)
    }

    /// The reverse derivative, its point and a cotangent: 1, or the value where that is no number. None where it
    /// has no native code.
    pub fn prepare_reverse(&self) -> Option<Prepared<'_>> {
        self.has_reverse.then(|| self.jit.prepare(&self.function.derived(Derivative::Rev), &self.reverse_arguments()))
    }

    /// Returns the result of the reverse derivative.
    pub fn gradient(&self) -> Value {
        self.jit.call(&self.function.derived(Derivative::Rev), &self.reverse_arguments()).expect("the call goes well")
    }

    fn reverse_arguments(&self) -> [Value; 2] {
        let point = match &self.arguments[..] {
            [one] => one.clone(),
            several => Value::Tuple(several.to_vec()),
        };
        let cotangent = match self.value() {
            Value::Float(_) => Value::Float(1.0),
            value => value,
        };
        [point, cotangent]
    }
}

/// The directory in which criterion keeps its measurements, for [`median`].
fn folder(bench: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("criterion-{bench}"))
}

pub fn criterion(bench: &str) -> Criterion {
    Criterion::default().output_directory(&folder(bench)).configure_from_args()
}

pub fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(2));
    group
}

/// The median of a benchmark's last run, in seconds; None where it has not run.
pub fn median(bench: &str, group: &str, name: &str) -> Option<f64> {
    let path = folder(bench).join(group).join(name).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).expect("JSON");
    Some(estimates["median"]["point_estimate"].as_f64().expect("a number") * 1e-9)
}

/// The medians of the times of calls, in seconds, for `seconds` in all. The calls take turns, so that what else the
/// machine does touches all of them.
pub fn in_turns(calls: &mut [Prepared], seconds: f64) -> Vec<f64> {
    let mut times = vec![Vec::new(); calls.len()];
    let start = Instant::now();
    while times[0].len() < 5 || start.elapsed().as_secs_f64() < seconds {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let start = Instant::now();
            call.call().expect("goes well");
            times.push(start.elapsed().as_secs_f64());
        }
    }
    times.into_iter().map(median_of).collect()
}

fn median_of(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    a.zip(b).map_or("-".to_string(), |(a, b)| format!("{:.2}", a / b))
}
