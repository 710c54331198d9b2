//! Runs: a task of a program, by a contender.

use super::clock::Clock;
use super::inputs::{Array, Input};
use super::program::{Native, Program, Task};
use libloading::Library;
use lm::value::Value;
use native::Prepared;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// A task of a program, by a contender, ready to run.
pub trait Run {
    /// All numbers of the result, in order.
    fn result(&mut self) -> Result<Vec<f64>, String>;

    /// The time of that many calls.
    fn time(&mut self, calls: u64, clock: Clock) -> Result<Duration, String>;
}

/// Native code of lmc.
pub struct ByLmc<'a> {
    native: &'a Native,
    entry: &'a lm::term::FunName,
    arguments: Vec<Value>,
    prepared: Prepared<'a>,
}

impl<'a> ByLmc<'a> {
    /// `arguments` are those of the program's function, `cotangent` is that of its value.
    pub fn new(native: &'a Native, program: &Program, task: Task, arguments: &[Value], cotangent: &Value) -> Self {
        let entry = native.entry(program, task);
        let arguments = match (task, arguments) {
            (Task::Value | Task::Other(..), all) => all.to_vec(),
            (_, [one]) => vec![one.clone(), cotangent.clone()],
            (_, several) => vec![Value::Tuple(several.to_vec()), cotangent.clone()],
        };
        let prepared = native.jit().prepare(entry, &arguments);
        ByLmc { native, entry, arguments, prepared }
    }
}

impl Run for ByLmc<'_> {
    fn result(&mut self) -> Result<Vec<f64>, String> {
        let value = self.native.jit().call(self.entry, &self.arguments).map_err(|error| error.kind.to_string())?;
        Ok(value.floats())
    }

    fn time(&mut self, calls: u64, clock: Clock) -> Result<Duration, String> {
        clock.time(|| (0..calls).try_for_each(|_| self.prepared.call().map_err(|error| error.kind.to_string())))
    }
}

type ByHandFunction = unsafe extern "C" fn(*const Input, *mut f64);

/// A function in C++, and the arrays that it is called with.
pub struct ByHand {
    function: ByHandFunction,
    inputs: Vec<Input>,
    out: Vec<f64>,
    // The memory that the fields above point into.
    _library: Rc<Library>,
    _arrays: Rc<Vec<Array>>,
}

impl ByHand {
    /// None where the library has not that task. `length` is how many numbers the result has.
    pub fn new(library: &Rc<Library>, symbol: &str, arrays: &Rc<Vec<Array>>, length: usize) -> Option<ByHand> {
        // SAFETY: all functions of `benches/` that have such names have that type.
        let function = unsafe { *library.get::<ByHandFunction>(symbol.as_bytes()).ok()? };
        let inputs = arrays.iter().map(Array::input).collect();
        let (_library, _arrays) = (library.clone(), arrays.clone());
        Some(ByHand { function, inputs, out: vec![0.0; length], _library, _arrays })
    }

    fn call(&mut self) {
        // SAFETY: the arrays are those that the function is written for, and the result has room.
        unsafe { (self.function)(self.inputs.as_ptr(), self.out.as_mut_ptr()) }
    }
}

impl Run for ByHand {
    fn result(&mut self) -> Result<Vec<f64>, String> {
        self.call();
        Ok(self.out.clone())
    }

    fn time(&mut self, calls: u64, clock: Clock) -> Result<Duration, String> {
        clock.time(|| {
            (0..calls).for_each(|_| self.call());
            Ok(())
        })
    }
}

/// Loads a file of `benches/` in C++, compiled anew if it has changed; None where there is no such file.
///
/// Errors: the compiler's.
pub fn library(file: &str, variant: &str, options: &[&str], threads: usize) -> Result<Option<Rc<Library>>, String> {
    let file = if variant.is_empty() { file.to_string() } else { format!("{file}_{variant}") };
    let source = benches().join(format!("{file}.cc"));
    if !source.exists() {
        return Ok(None);
    }
    let path = folder().join(format!("{}{}-{threads}.so", file.replace('/', "-"), options.concat()));
    if !is_newer(&path, &source) {
        compile(&source, options, &path)?;
    }
    // SAFETY: the library has no constructors but those of C++.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    // SAFETY: the type is that of OpenMP.
    if let Ok(set) = unsafe { library.get::<unsafe extern "C" fn(i32)>(b"omp_set_num_threads") } {
        unsafe { set(threads as i32) };
    }
    let library = Rc::new(library);
    // The threads of OpenMP wait for work as long as the process runs, so their code must stay.
    std::mem::forget(library.clone());
    Ok(Some(library))
}

fn benches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches")
}

/// The directory of headers.
fn headers() -> PathBuf {
    benches().join("compare/cc")
}

/// Returns whether a library is newer than its source and all headers, shared ones and those beside the source.
fn is_newer(library: &Path, source: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let own = source.parent().expect("it is in a folder").to_path_buf();
    let files = [headers(), own].into_iter().flat_map(|folder| std::fs::read_dir(folder).expect("it can be read"));
    let paths = files.map(|file| file.expect("it can be read").path());
    let headers = paths.filter(|path| path.extension().is_some_and(|ending| ending == "h"));
    headers.chain([source.to_path_buf()]).all(|path| changed(library) > changed(&path))
}

fn compile(source: &Path, options: &[&str], library: &Path) -> Result<(), String> {
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++20", "-march=native", "-shared", "-fPIC", "-I"]).arg(headers()).args(options);
    compiler.arg(source).arg("-o").arg(library);
    let output = compiler.output().map_err(|error| format!("g++: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// The directory of libraries and inputs.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compare");
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    folder
}
