//! Checks and measures all contenders of a program.

use super::clock::Clock;
use super::contender::{Contender, Kind, Selection, Way};
use super::inputs::Array;
use super::machine::Cores;
use super::process::{InPython, Process};
use super::program::{Native, Program, Task};
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

impl Effort {
    /// Only compares results.
    pub const CHECK: Effort = Effort { rounds: 0, sample: Duration::ZERO, clock: Clock::Wall };
}

/// The largest difference to the first contender's result, relative to its largest number, that is no failure.
pub const TOLERANCE: f64 = 1e-8;

/// A task of a program, by a contender: what was found.
pub struct Cell {
    /// Its row among the contenders.
    pub contender: usize,
    /// The task.
    pub task: Task,
    /// The difference to the first contender's result.
    pub error: f64,
    /// The median of the times of a call, in seconds, if it was measured.
    pub seconds: Option<f64>,
}

struct Entry<'a> {
    contender: usize,
    task: Task,
    run: Box<dyn Run + 'a>,
    error: f64,
    calls: u64,
    samples: Vec<f64>,
}

/// The contenders of a bench, ready to run.
pub struct Contest {
    contenders: &'static [Contender],
    /// The processes of contenders in Python, by row of `contenders`: none where they do not start.
    processes: Vec<Option<Rc<RefCell<Process>>>>,
    cores: Cores,
    selection: Selection,
    effort: Effort,
}

/// A program with all that contenders need.
struct Prepared<'a> {
    contest: &'a Contest,
    program: &'a Program,
    /// By row of the contenders; rows with the same way and threads have the same code.
    natives: Vec<Option<Rc<Native>>>,
    arguments: Vec<Value>,
    /// The value of the function, where a task takes it as cotangent.
    values: Value,
}

impl Contest {
    /// Starts the contenders in Python. Those that do not start are told, and left out.
    pub fn start(contenders: &'static [Contender], selection: Selection, effort: Effort) -> Contest {
        let cores = Cores::choose(2);
        let process = |row: &Contender| {
            let Kind::Python(script, arguments) = row.kind else { return None };
            if !selection.has(row) {
                return None;
            }
            let process = Process::start(script, arguments, cores.for_threads(row.threads));
            let missing = |error: &String| eprintln!("without {}: {error}; see benches/compare/setup", row.name);
            process.inspect_err(missing).ok().map(|process| Rc::new(RefCell::new(process)))
        };
        let processes = contenders.iter().map(process).collect();
        Contest { contenders, processes, cores, selection, effort }
    }

    /// Compares the results of a program's tasks, then measures. What fails is told in `failures`.
    pub fn measure(&self, program: &Program, failures: &mut Vec<String>) -> Vec<Cell> {
        let prepared = Prepared::new(self, program);
        let mut entries = prepared.entries(failures);
        for entry in entries.iter_mut().filter(|_| self.effort.rounds > 0) {
            self.cores.pin(self.contenders[entry.contender].threads);
            entry.calls = calls(&mut *entry.run, self.effort);
        }
        for _ in 0..self.effort.rounds {
            for entry in &mut entries {
                self.cores.pin(self.contenders[entry.contender].threads);
                entry.sample(self.effort.clock);
            }
        }
        entries.into_iter().map(Entry::cell).collect()
    }

    /// Returns the versions of what the contenders in Python use.
    pub fn versions(&self) -> Vec<String> {
        let running = self.processes.iter().flatten();
        let mut versions: Vec<String> = running.map(|process| process.borrow().version.clone()).collect();
        versions.sort();
        versions.dedup();
        versions
    }

    /// The contenders of a program that are chosen, by row.
    fn chosen(&self, program: &Program) -> impl Iterator<Item = (usize, &'static Contender)> {
        self.contenders.iter().enumerate().filter(|(_, row)| self.selection.has(row) && program.is_for(row))
    }
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
    fn new(contest: &'a Contest, program: &'a Program) -> Prepared<'a> {
        let mut compiled: Vec<(&Way, usize, Rc<Native>)> = Vec::new();
        let mut natives: Vec<Option<Rc<Native>>> = contest.contenders.iter().map(|_| None).collect();
        for (contender, row) in contest.chosen(program) {
            let Kind::Lmc(way) = &row.kind else { continue };
            let known = compiled.iter().find(|(known, threads, _)| known.is(way) && *threads == row.threads);
            let native = known.map(|(.., native)| native.clone()).unwrap_or_else(|| {
                // Threads of a pool stay where the one that starts them is.
                contest.cores.pin(row.threads);
                Rc::new(program.compile(way, row.threads))
            });
            compiled.push((way, row.threads, native.clone()));
            natives[contender] = Some(native);
        }
        let first = natives.iter().flatten().next().expect("lmc is a contender");
        let arguments = first.arguments();
        let value = || first.jit().call(first.entry(program, Task::Value), &arguments).expect("the call goes well");
        let values = if program.tasks.contains(&Task::Gradient) { value() } else { Value::Float(1.0) };
        Prepared { contest, program, natives, arguments, values }
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
        if !matches!(self.values, Value::Float(_)) {
            arrays.push(Array::of(&self.values));
        }
        arrays
    }

    /// All that give the right result, task by task.
    fn entries(&self, failures: &mut Vec<String>) -> Vec<Entry<'_>> {
        let arrays = Rc::new(self.arrays());
        let folder = self.save(&arrays);
        let mut entries = Vec::new();
        for &task in self.program.tasks {
            let mut expected: Option<Vec<f64>> = None;
            for (contender, row) in self.contest.chosen(self.program) {
                self.contest.cores.pin(row.threads);
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
        let Contender { threads, kind, .. } = &self.contest.contenders[contender];
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
            Kind::Python(..) => match &self.contest.processes[contender] {
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
