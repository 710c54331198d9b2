//! Loops in lanes, of whole programs: the interpreter's values, and errors where it has errors, at every width, with
//! every way of checking, exact and fast; on programs whose loops part, gather and keep memory, on random ones and on
//! the demos.

use super::each::{self, Outcome, alone};
use common::native::{Case, Way, unoptimised};
use common::nests::nest;
use common::{draw, files};
use libtest_mimic::Trial;
use lm::random::SplitMix;
use lmc::gradcheck::NATIVE_FAST;
use lmc::with_large_stack;
use loops::Checks;
use native::{Lanes, Math};
use std::path::Path;
use std::process::{Command, Stdio};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("lanes::programs_agree", "tests/cases/lanes", check);
    tests.extend(alone!(
        "lanes": sums_of_dear_terms_in_several_blocks, sums_of_iterations_side_by_side_keep_their_order,
        on_random_programs, on_random_nests, lanes_and_math_are_chosen_on_the_command_line,
    ));
    tests
}

/// In lanes, which lane's error comes first differs.
fn way(options: native::Options) -> Way {
    let native::Options { lanes, checks, math, opt_level, .. } = &options;
    let name = format!("{lanes:?}, {checks:?}, {math:?}, O{opt_level}");
    Way { same_errors: false, ..Way::new(&name, options) }
}

fn width(lanes: u32, checks: Checks, math: Math, opt_level: u8) -> Way {
    way(native::Options { lanes: Lanes::Width(lanes), checks, math, opt_level, ..native::Options::default() })
}

/// Every width, every way of checking, exact and fast.
fn ways() -> Vec<Way> {
    vec![
        width(2, Checks::Full, Math::Exact, 0),
        width(4, Checks::Hoisted, Math::Fast, 0),
        width(8, Checks::None, Math::Exact, 1),
        width(8, Checks::Full, Math::Fast, 0),
        width(16, Checks::Hoisted, Math::Exact, 0),
        way(native::Options::default()),
    ]
}

/// Arguments of one size throughout, and of sizes that do not fit. The program has loops in lanes.
fn check(path: &Path) -> Outcome {
    let text = &files::text(path);
    let mut case = Case::new(text, "f", &ways());
    assert!(case.loops_in_lanes() > 0, "nothing runs in lanes: {text}");
    for size in [0, 1, 2, 7, 8, 9, 16, 17, 37] {
        (0..2).for_each(|seed| case.agrees_sized(&[size], false, seed));
    }
    for sizes in [&[1, 2][..], &[7, 8], &[8, 9, 17], &[0, 1, 5]] {
        (0..6).for_each(|seed| case.agrees_sized(sizes, true, seed));
    }
    Ok(())
}

fn sums_of_dear_terms_in_several_blocks() {
    let random = "(def random (Tensor 2 Float) ((seed : Integer) (rows : Integer) (columns : Integer))
      (build (tuple rows columns) (lam (ij : Tuple Integer Integer)
        (let ((i j) ij) ($ranhashdoub (add seed (add (mul i columns) j)))))))";
    for (number, second) in [(1, "5 17"), (2, "17 5")] {
        let text = files::text(&files::path(&format!("tests/cases/lanes/sums_of_dear_terms_{number}.ks")));
        let example = format!(
            "(def example (Tuple (Tensor 2 Float) (Tensor 2 Float) (Tensor 2 Float)) ()
               (tuple (random 1 1003 5) (random 2 {second}) (random 3 1003 17)))"
        );
        with_large_stack(|| {
            let mut case = Case::new(&format!("{random}\n{text}\n{example}"), "f", &ways());
            let args = case.example();
            case.agrees(&args);
        });
    }
}

fn sums_of_iterations_side_by_side_keep_their_order() {
    let way = Way { limit: 0.0, same_errors: false, ..Way::new("exact", unoptimised()) };
    let mut side_by_side = 0;
    for number in 1..=5 {
        let path = files::path(&format!("tests/cases/lanes/sums_over_rows_columns_and_windows_{number}.ks"));
        let text = files::text(&path);
        // Terms that are rounded, so that their order tells.
        let weighed = text.replace("(mul ", "(weigh ");
        let text = format!("(def weigh Float ((x : Float) (y : Float)) (mul (div x 3.0) y))\n{weighed}");
        side_by_side += with_large_stack(|| {
            let mut case = Case::new(&text, "f", std::slice::from_ref(&way));
            for size in [0, 1, 3, 4, 6, 9] {
                case.agrees_sized(&[size], false, 1);
            }
            (0..8).for_each(|seed| case.agrees_sized(&[2, 5, 7, 13], true, seed));
            case.loops_side_by_side()
        });
    }
    assert!(side_by_side > 0, "nothing runs side by side");
}

fn on_random_programs() {
    let checks = [Checks::Hoisted, Checks::Full, Checks::Hoisted];
    let ways: Vec<_> = [2, 4, 8].into_iter().zip(checks).map(|(w, c)| width(w, c, Math::Exact, 0)).collect();
    let (cases, in_lanes) = draw::programs(25, |generated, random| {
        let last = generated.functions.last().expect("there is a function");
        let mut case = Case::new(&generated.text, &last.name, &ways);
        for sizes in [[0, 2], [2, 0], [1, 1], [2, 3], [3, 2], [7, 8], [9, 1], [17, 2]] {
            case.agrees_at(last, sizes, random);
        }
        for sizes in [&[1, 2][..], &[2, 3], &[3, 7, 8]] {
            case.agrees_sized(sizes, true, random.draw());
        }
        case.loops_in_lanes()
    });
    println!("{in_lanes} loops in lanes");
    assert!(in_lanes > 0 || cases < 5, "nothing ran in lanes");
}

/// Loops that are nested, which run in lanes, side by side and on threads, all at once.
fn nests_agree(cases: u32, each: usize) {
    let (seed, cases) = (common::random::seed(), common::random::cases(cases));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let widths = [Lanes::Width(2), Lanes::Width(4), Lanes::Width(8), Lanes::Width(16), Lanes::Auto, Lanes::Off];
    let ways: Vec<Way> = widths
        .into_iter()
        .flat_map(|lanes| [Math::Fast, Math::Exact].map(|math| (lanes, math)))
        .map(|(lanes, math)| {
            let options = native::Options { lanes, math, opt_level: 0, grain: 1, ..native::Options::default() };
            // Hundreds of terms of up to a hundred may cancel.
            let floor = if math == Math::Fast { 1e-3 } else { 0.0 };
            Way { limit: NATIVE_FAST, floor, threads: vec![2, 4], ..way(options) }
        })
        .collect();
    let mut random = SplitMix::new(seed);
    let (mut in_lanes, mut side_by_side, mut divided, mut number) = (0, 0, 0, 0);
    for _ in 0..cases {
        let text = nest(&mut random);
        let ways: Vec<Way> = (0..each).map(|i| ways[(number + i) % ways.len()].clone()).collect();
        number += each;
        println!("{text}{}", ways.iter().map(|way| format!("{}; ", way.name)).collect::<String>());
        with_large_stack(|| {
            let mut case = Case::new(&text, "f", &ways);
            [1, 2, 5, 8, 9, 19].iter().for_each(|size| case.agrees_sized(&[*size], false, number as u64));
            in_lanes += case.loops_in_lanes();
            side_by_side += case.loops_side_by_side();
            divided += case.divided();
        });
    }
    println!("{in_lanes} loops in lanes, {side_by_side} side by side, in {divided} programs some on threads");
    assert!(cases < 10 || in_lanes > 0 && side_by_side > 0 && divided > 0);
}

fn on_random_nests() {
    nests_agree(24, 3);
}

/// The command line: what it prints, and its status.
fn lmc(args: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(args).stderr(Stdio::null()).output().expect("lmc runs");
    (String::from_utf8(output.stdout).expect("lmc prints text"), output.status.code())
}

fn lanes_and_math_are_chosen_on_the_command_line() {
    let loops = |lanes| lmc(&["compile", "demos/gmm.ks", "--rev", "--emit", "loops=-", "--lanes", lanes]).0;
    assert!(!loops("off").contains(" lanes "));
    assert!(loops("4").contains(" lanes 4") && !loops("4").contains(" lanes 8"));
    for wrong in ["3", "1", "128", "some"] {
        assert_eq!(lmc(&["run", "demos/gmm.ks", "--lanes", wrong]).1, Some(2), "{wrong}");
    }
    // Vector functions and fused products are there with fast Floats only.
    let ir =
        |math| lmc(&["compile", "demos/lse.ks", "--emit", "llvm-ir=-", "--math", math, "--target-cpu", "x86-64-v3"]).0;
    let flags = |text: &str| text.contains("fadd reassoc") || text.contains("fadd contract");
    assert!(flags(&ir("fast")) && !flags(&ir("exact")));
    assert!(!ir("exact").contains("_ZGV"));
}
