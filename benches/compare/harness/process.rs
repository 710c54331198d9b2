//! Contenders in Python: processes that stay, and read and write lines (`python/protocol.py`).

use super::clock::Clock;
use super::run::Run;
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

/// A process. It ends when its input does.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The versions of the libraries that it uses.
    pub version: String,
}

impl Process {
    /// Starts a script on some cores, one thread for each. Errors: there is no such Python, or not what the script
    /// imports.
    pub fn start(script: &str, arguments: &[&str], cores: &[usize]) -> Result<Process, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/compare/python").join(script);
        let list: Vec<String> = cores.iter().map(usize::to_string).collect();
        let threads = cores.len().to_string();
        let mut command = Command::new("taskset");
        command.args(["-c", &list.join(",")]).arg(python()).arg(script).arg(&threads).args(arguments);
        command.env("PYTHONDONTWRITEBYTECODE", "1"); // the folder of the scripts stays as it is
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("taskset: {error}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        // Warnings of libraries must not fill the pipe.
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let last = std::thread::spawn(move || {
            let (mut last, mut line) = (String::new(), Vec::new());
            while errors.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                last = String::from_utf8_lossy(&line).trim().to_string();
                line.clear();
            }
            last
        });
        let mut process = Process { child, input, output, version: String::new() };
        match process.line() {
            Ok(version) => process.version = version,
            Err(_) => return Err(last.join().expect("the thread only reads")),
        }
        Ok(process)
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(n) if n > 0 => Ok(line.trim().to_string()),
            _ => Err("the process has ended".to_string()),
        }
    }

    /// A command and its answer. Errors: those that the process tells.
    fn ask(&mut self, command: &[&str]) -> Result<String, String> {
        let input = self.input.as_mut().expect("open until dropped");
        writeln!(input, "{}", command.join("\t")).and_then(|()| input.flush()).map_err(|error| error.to_string())?;
        let answer = self.line()?;
        match answer.strip_prefix("error ") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn python() -> PathBuf {
    match std::env::var_os("COMPARE_PYTHON") {
        Some(python) => python.into(),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("../compare-venv/bin/python"),
    }
}

/// A task in such a process.
pub struct InPython {
    process: Rc<RefCell<Process>>,
    key: String,
    result: PathBuf,
}

impl InPython {
    /// None where the process has not that task. `inputs` is the folder of the arguments.
    pub fn new(
        process: &Rc<RefCell<Process>>,
        program: &str,
        task: &str,
        inputs: &Path,
    ) -> Result<Option<InPython>, String> {
        let inputs = inputs.to_str().expect("the target directory has a name in UTF-8");
        let key = process.borrow_mut().ask(&["open", program, task, inputs])?;
        let result = Path::new(inputs).join(format!("{task}.result"));
        Ok((key != "none").then(|| InPython { process: process.clone(), key, result }))
    }
}

impl Run for InPython {
    fn result(&mut self) -> Result<Vec<f64>, String> {
        let path = self.result.to_str().expect("as above");
        self.process.borrow_mut().ask(&["result", &self.key, path])?;
        let bytes = std::fs::read(&self.result).map_err(|error| error.to_string())?;
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight of them"));
        Ok(bytes.chunks_exact(8).map(number).collect())
    }

    fn time(&mut self, calls: u64, clock: Clock) -> Result<Duration, String> {
        let answer = self.process.borrow_mut().ask(&[clock.name(), &self.key, &calls.to_string()])?;
        answer.parse().map(Duration::from_nanos).map_err(|_| format!("no time: {answer}"))
    }
}
