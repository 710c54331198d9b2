//! Runs the random tests again and again, each time with another seed, and the long tests once: `./setup campaign`.
//!
//! Each test runs in a process of its own, so that a crash of native code is a finding, too, and only ends that test.
//! The report counts programs, and holds for each disagreement the command that repeats it and what the test printed,
//! with the smallest program found. It is written after each round, so that a campaign may be ended at any time.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A random test: its name, how many programs it draws in a round, and what it compares.
type Draw = (&'static str, u32, &'static str);

const DRAWS: &[Draw] = &[
    ("derivatives::of_random_programs", 300, "numbers: forward, reverse, differences, every stage, native code"),
    ("derivatives_of_arrays::of_random_programs", 60, "arrays: the same, of second order, and costs"),
    ("derivations::of_random_programs", 60, "functions of a size: all derivations"),
    ("dual_arrays::of_random_programs", 100, "all kinds: derivatives of whole arrays beside those of elements"),
    ("whole_arrays::random_programs", 400, "functions of a size: whole arrays, and how many elements they write"),
    // One of 400 may be above the bound, so a round has many.
    ("bound::gradients_of_random_programs_are_cheap", 1_600, "functions of a size: the cheap-gradient bound"),
    ("category::of_random_programs", 300, "numbers and arrays: through the category language and back"),
    ("recorded::random_programs_on_arrays_agree", 60, "arrays: derivations that record, and their costs"),
    ("recorded::random_programs_on_numbers_agree", 150, "numbers: derivations that record"),
    ("recorded::second_derivatives_agree_with_finite_differences", 60, "arrays: second order of these"),
    ("nested::second_derivatives_of_random_programs", 80, "numbers: all four second derivatives"),
    // Of fewer programs fewer than 50 second derivatives may differ from zero, which the test asks for.
    ("nested::second_derivatives_of_random_programs_on_arrays", 60, "arrays: all four second derivatives"),
    ("oracle::random_programs_agree", 60, "all kinds: interpreter and native code with the naive evaluator"),
    ("loops_agree::random_programs_agree_after_each_pass", 40, "arrays: loops after each pass"),
    ("all_ways::random_programs_agree_in_some_ways", 40, "arrays: native code in any of all ways to compile"),
    ("all_ways::hard_programs_agree_in_drawn_ways", 30, "functions of cases/ways: the same"),
    ("all_ways::demos_agree_in_drawn_ways", 10, "demos: the same"),
    ("passes::on_random_programs", 30, "arrays: native code with passes and without"),
    ("lanes::on_random_programs", 40, "arrays: loops in lanes"),
    ("lanes::on_random_nests", 30, "nests of loops: lanes, threads, iterations side by side"),
    ("traces::of_random_programs", 60, "functions of a size: each step of their derivations"),
    ("workspace::of_random_programs", 40, "arrays: memory as it is told before a call"),
];

/// Counts of a test's runs.
#[derive(Default)]
struct Counts {
    rounds: u32,
    failed: u32,
    time: Duration,
    longest: Duration,
}

/// A round of a test that failed.
struct Finding {
    name: &'static str,
    seed: u64,
    cases: u32,
    output: Output,
}

/// The options of the command line.
struct Request {
    seed: u64,
    /// The campaign ends after so long ..
    minutes: Option<u64>,
    /// .. or with so many programs.
    programs: Option<u64>,
    /// The tests whose names contain it.
    only: String,
}

/// Runs a campaign: `--seed 1 --minutes 10 --programs 100000 --only NAME`. Fails where there is a disagreement.
pub fn run(args: &[String]) -> ExitCode {
    let request = match request(args) {
        Ok(request) => request,
        Err(why) => {
            eprintln!("{why}\ncampaign [--seed N] [--minutes N] [--programs N] [--only NAME]");
            return ExitCode::from(2);
        }
    };
    let draws: Vec<&Draw> = DRAWS.iter().filter(|(name, ..)| name.contains(&request.only)).collect();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("campaign.md");
    let record = run_rounds(&request, &draws, |record| {
        let text = told(&request, &draws, record);
        std::fs::write(&path, text).unwrap_or_else(|error| eprintln!("{}: {error}", path.display()));
    });
    println!("{}", told(&request, &draws, &record));
    println!("{} disagreements; this report is {}", record.findings.len(), path.display());
    if record.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Errors: what is wrong with the command line.
fn request(args: &[String]) -> Result<Request, String> {
    let mut request = Request { seed: 1, minutes: None, programs: None, only: String::new() };
    for pair in args.chunks(2) {
        let [option, value] = pair else { return Err(format!("{} lacks its value", pair[0])) };
        let number = || value.parse().map_err(|_| format!("{option} takes a number, not {value}"));
        match option.as_str() {
            "--seed" => request.seed = number()?,
            "--minutes" => request.minutes = Some(number()?),
            "--programs" => request.programs = Some(number()?),
            "--only" => request.only = value.clone(),
            _ => return Err(format!("there is no option {option}")),
        }
    }
    if request.programs.is_none() {
        request.minutes.get_or_insert(10);
    }
    Ok(request)
}

/// What has been seen.
struct Record {
    /// Of each test.
    counts: Vec<Counts>,
    findings: Vec<Finding>,
}

/// The rounds that have been started.
#[derive(Default)]
struct Started {
    rounds: usize,
    programs: u64,
}

/// Runs rounds of all tests on all processors until the time is over or there have been enough programs.
///
/// After each round `save` gets what has been seen.
fn run_rounds(request: &Request, draws: &[&Draw], save: impl Fn(&Record) + Sync) -> Record {
    let end = request.minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let started = Mutex::new(Started::default());
    let counts = draws.iter().map(|_| Counts::default()).collect();
    let record = Mutex::new(Record { counts, findings: vec![] });
    let work = || {
        while let Some(number) = next(&started, request, end, draws) {
            let (i, seed) = (number % draws.len(), request.seed + (number / draws.len()) as u64);
            let (name, cases, _) = *draws[i];
            let start = Instant::now();
            let output = round(name, cases, seed);
            let mut record = record.lock().expect("no worker panics");
            let counts = &mut record.counts[i];
            counts.rounds += 1;
            counts.time += start.elapsed();
            counts.longest = counts.longest.max(start.elapsed());
            if !output.status.success() {
                eprintln!("{name} disagrees with seed {seed}");
                counts.failed += 1;
                record.findings.push(Finding { name, seed, cases, output });
            }
            save(&record);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    record.into_inner().expect("all ended")
}

/// Returns the number of the next round; `None` where the campaign is over.
fn next(started: &Mutex<Started>, request: &Request, end: Option<Instant>, draws: &[&Draw]) -> Option<usize> {
    let mut started = started.lock().expect("no worker panics");
    let is_late = end.is_some_and(|end| Instant::now() >= end);
    if draws.is_empty() || is_late || request.programs.is_some_and(|programs| started.programs >= programs) {
        return None;
    }
    let number = started.rounds;
    started.rounds += 1;
    started.programs += u64::from(draws[number % draws.len()].1);
    Some(number)
}

fn round(name: &str, cases: u32, seed: u64) -> Output {
    let mut test = Command::new(std::env::current_exe().expect("this program has a path"));
    test.args(["--exact", name, "--nocapture"]).env("LMC_LARGE", "1");
    test.env("LMC_SEED", seed.to_string()).env("LMC_CASES", cases.to_string());
    test.output().expect("this program starts")
}

/// The report.
fn told(request: &Request, draws: &[&Draw], Record { counts, findings }: &Record) -> String {
    let total: u64 = draws.iter().zip(counts).map(|((_, cases, _), counts)| u64::from(counts.rounds * cases)).sum();
    let mut text = format!("# Campaign, from seed {}: {total} programs\n\n", request.seed);
    text += "| test | compares | rounds | programs | seconds | longest round, s | rounds that disagree |\n";
    text += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for ((name, cases, compares), Counts { rounds, failed, time, longest }) in draws.iter().zip(counts) {
        let (programs, seconds, longest) = (rounds * cases, time.as_secs(), longest.as_secs_f64());
        let _ =
            writeln!(text, "| `{name}` | {compares} | {rounds} | {programs} | {seconds} | {longest:.1} | {failed} |");
    }
    for Finding { name, seed, cases, output } in findings {
        let repeat = format!(
            "LMC_LARGE=1 LMC_SEED={seed} LMC_CASES={cases} cargo test --release --test files -- --exact {name} \
             --nocapture"
        );
        let _ = writeln!(text, "\n## `{name}`, seed {seed}\n\n    {repeat}\n\nEnds with {}.", output.status);
        for (way, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
            let _ = writeln!(text, "\nThe end of its {way}:\n\n```text\n{}\n```", end(bytes));
        }
    }
    text
}

/// The last lines of a text.
fn end(bytes: &[u8]) -> String {
    const LINES: usize = 80;
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
