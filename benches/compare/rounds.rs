//! Checks and measures all contenders of a program.

use super::clock::Clock;
use super::contenders::{CONTENDERS, Contender, Kind, MakeOptions, Selection};
use super::inputs::Array;
use super::machine::Cores;
use super::process::{InPython, Process};
use super::programs::{Native, Program, Task};
use super::run::{ByHand, ByLmc, Run, folder, library};
use lm::value::Value;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// The time to measure.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Samples of each contender at each task; none where only results are compared.
    pub rounds: usize,
    /// The time of a sample, if one call is not longer.
    pub sample: Duration,
    /// The clock.
    pub clock: Clock,
}

/// The largest difference to the first contender's result, relative to its largest number, that is no failure.
pub const TOLERANCE: f64 = 1e-8;

/// A task of a program, by a contender: what was found.
pub struct Cell {
    /// Its row in [`CONTENDERS`].
    pub contender: usize,
    /// The task.
    pub task: Task,
    /// The difference to the first contender's result.
    pub error: f64,
    /// The median of the times of a call, in seconds, if it was measured.
    pub seconds: Option<f64>,
}

/// The processes of contenders in Python, by row of [`CONTENDERS`]: none where they do not start.
pub type Processes = Vec<Option<Rc<RefCell<Process>>>>;

struct Entry<'a> {
    contender: usize,
    task: Task,
    run: Box<dyn Run + 'a>,
    error: f64,
    calls: u64,
    samples: Vec<f64>,
}

/// A program with all that contenders need.
struct Prepared<'a> {
    program: &'a Program,
    /// By row of [`CONTENDERS`]; rows with the same options and threads have the same code.
    natives: Vec<Option<Rc<Native>>>,
    arguments: Vec<Value>,
    values: Value,
    processes: &'a Processes,
}

/// Compares the results of a program's tasks, then measures. What fails is told in `failures`.
pub fn measure(
    program: &Program,
    processes: &Processes,
    cores: &Cores,
    selection: &Selection,
    effort: Effort,
    failures: &mut Vec<String>,
) -> Vec<Cell> {
    let prepared = Prepared::new(program, processes, cores, selection);
    let mut entries = prepared.entries(cores, selection, failures);
    for entry in entries.iter_mut().filter(|_| effort.rounds > 0) {
        cores.pin(CONTENDERS[entry.contender].threads);
        entry.calls = calls(&mut *entry.run, effort);
    }
    for _ in 0..effort.rounds {
        for entry in &mut entries {
            cores.pin(CONTENDERS[entry.contender].threads);
            entry.sample(effort.clock);
        }
    }
    entries.into_iter().map(Entry::cell).collect()
}

/// Returns the number of calls in a sample.
fn calls(run: &mut dyn Run, Effort { sample, clock, .. }: Effort) -> u64 {
    let mut calls = 1;
    loop {
        let time = run.time(calls, clock).expect("it went well before");
        if time * 4 > sample {
            return ((calls as f64 * sample.as_secs_f64() / time.as_secs_f64()) as u64).max(1);
        }
        calls *= 4;
    }
}

impl Entry<'_> {
    /// Measures, after a pause in which threads of others stop to wait for work, and a call that fills the caches.
    fn sample(&mut self, clock: Clock) {
        std::thread::sleep(Duration::from_millis(2));
        let mut time = |calls| self.run.time(calls, clock).expect("it went well before");
        time(1);
        self.samples.push(time(self.calls).as_secs_f64() / self.calls as f64);
    }

    fn cell(mut self) -> Cell {
        self.samples.sort_by(f64::total_cmp);
        let seconds = self.samples.get(self.samples.len() / 2).copied();
        Cell { contender: self.contender, task: self.task, error: self.error, seconds }
    }
}

impl<'a> Prepared<'a> {
    fn new(program: &'a Program, processes: &'a Processes, cores: &Cores, selection: &Selection) -> Prepared<'a> {
        let mut compiled: Vec<(MakeOptions, usize, Rc<Native>)> = Vec::new();
        let native = |contender: usize| {
            let Contender { threads, kind: Kind::Lmc(options), .. } = CONTENDERS[contender] else { return None };
            if !selection.has(contender) {
                return None;
            }
            let same = |known: MakeOptions, of: usize| std::ptr::fn_addr_eq(known, options) && of == threads;
            if let Some((.., native)) = compiled.iter().find(|(known, of, _)| same(*known, *of)) {
                return Some(native.clone());
            }
            // Threads of a pool stay where the one that starts them is.
            cores.pin(threads);
            let native = Rc::new(program.compile(&options(), threads));
            compiled.push((options, threads, native.clone()));
            Some(native)
        };
        let natives: Vec<Option<Rc<Native>>> = (0..CONTENDERS.len()).map(native).collect();
        let first = natives.iter().flatten().next().expect("lmc is a contender");
        let arguments = first.arguments(program);
        let values = first.jit().call(first.entry(program, Task::Value), &arguments).expect("the call goes well");
        Prepared { program, natives, arguments, values, processes }
    }

    fn cotangent(&self) -> Value {
        match &self.values {
            Value::Float(_) => Value::Float(1.0),
            values => values.clone(),
        }
    }

    /// The directory of the input files.
    fn save(&self, arrays: &[Array]) -> PathBuf {
        let folder = folder().join(self.program.key());
        std::fs::create_dir_all(&folder).expect("the target directory can be written");
        let count = self.arguments.len();
        for (i, array) in arrays.iter().enumerate() {
            let name = if i < count { format!("{i}.npy") } else { "cotangent.npy".to_string() };
            array.save(&folder.join(name)).expect("the target directory can be written");
        }
        folder
    }

    /// Returns the arrays for contenders other than lmc: the arguments, then the cotangent if it is no number.
    fn arrays(&self) -> Vec<Array> {
        let mut arrays: Vec<Array> = self.arguments.iter().map(Array::of).collect();
        if !matches!(self.values, Value::Float(_)) && self.program.tasks.contains(&Task::Gradient) {
            arrays.push(Array::of(&self.values));
        }
        arrays
    }

    /// All that give the right result, task by task.
    fn entries(&self, cores: &Cores, selection: &Selection, failures: &mut Vec<String>) -> Vec<Entry<'_>> {
        let arrays = Rc::new(self.arrays());
        let folder = self.save(&arrays);
        let mut entries = Vec::new();
        for &task in self.program.tasks {
            let mut expected: Option<Vec<f64>> = None;
            for (contender, row) in CONTENDERS.iter().enumerate().filter(|(i, _)| selection.has(*i)) {
                cores.pin(row.threads);
                let length = expected.as_ref().map_or(0, Vec::len);
                let made = self.run(contender, task, &arrays, &folder, length);
                let checked = made.and_then(|run| run.map(|run| checked(run, expected.as_deref())).transpose());
                match checked {
                    Ok(Some((run, result, error))) => {
                        expected.get_or_insert(result);
                        entries.push(Entry { contender, task, run, error, calls: 1, samples: Vec::new() });
                    }
                    Ok(None) => {}
                    Err(error) => {
                        let (name, threads) = (row.name, row.threads);
                        let place = format!("{} {} by {name}, threads: {threads}", self.program.key(), task.name());
                        failures.push(format!("{place}: {error}"));
                    }
                }
                // The others are compared with lmc, which comes first.
                if expected.is_none() {
                    break;
                }
            }
        }
        entries
    }

    fn run<'b>(
        &'b self,
        contender: usize,
        task: Task,
        arrays: &Rc<Vec<Array>>,
        folder: &Path,
        length: usize,
    ) -> Result<Option<Box<dyn Run + 'b>>, String> {
        let Contender { threads, kind, .. } = &CONTENDERS[contender];
        match kind {
            Kind::Lmc(_) => {
                let native = self.natives[contender].as_ref().expect("it is compiled");
                let run = ByLmc::new(native, self.program, task, &self.arguments, &self.cotangent());
                Ok(Some(boxed(run)))
            }
            Kind::ByHand(variant, options) => {
                let symbol = format!("{}_{}", self.program.name, task.name());
                let Some(library) = library(self.program.by_hand, variant, options, *threads)? else { return Ok(None) };
                Ok(ByHand::new(&library, &symbol, arrays, length).map(boxed))
            }
            Kind::Python(..) => match &self.processes[contender] {
                Some(process) => Ok(InPython::new(process, self.program.name, task.name(), folder)?.map(boxed)),
                None => Ok(None),
            },
        }
    }
}

fn boxed<'a>(run: impl Run + 'a) -> Box<dyn Run + 'a> {
    Box::new(run)
}

type Checked<'a> = (Box<dyn Run + 'a>, Vec<f64>, f64);

/// The result, and its difference to what is expected. Errors: it is too large.
fn checked<'a>(mut run: Box<dyn Run + 'a>, expected: Option<&[f64]>) -> Result<Checked<'a>, String> {
    let result = run.result()?;
    let error = expected.map_or(0.0, |expected| difference(&result, expected));
    if error <= TOLERANCE { Ok((run, result, error)) } else { Err(format!("the result differs by {error:.1e}")) }
}

/// The largest difference, relative to the largest number that is expected; NaN where there is any, infinite where
/// there are not as many.
fn difference(result: &[f64], expected: &[f64]) -> f64 {
    if result.len() != expected.len() {
        return f64::INFINITY;
    }
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |scale, x| scale.max(x.abs()));
    let differences = result.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale);
    differences.fold(0.0, |largest, x| if x > largest || x.is_nan() { x } else { largest })
}
