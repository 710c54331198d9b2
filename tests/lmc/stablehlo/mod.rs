//! StableHLO: what `lmc compile --emit stablehlo` writes, refuses, and what XLA makes of it.
//!
//! Without `LMC_PYTHON`, the path of a Python with jax, XLA is not run.

mod xla;

use super::directory::with_program;
use bulk::emit::stablehlo::Options;
use common::files::expect;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName, Span};
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::ks::source::{Position, Source};
use lmc::with_large_stack;
use std::path::Path;
use std::process::Command;
use xla::{Call, Wanted, calls, pipeline, python, run, text};

#[test]
fn xla_agrees_on_demos() {
    let Some(python) = python() else { return };
    with_large_stack(|| {
        let of = |demo: &Demo| {
            calls(demo.name, &mut pipeline(demo.name, demo.text), demo.fun, "example", &Options::default())
        };
        let calls: Vec<Call> = DEMOS.iter().flat_map(of).collect();
        assert!(calls.len() >= 38, "the demos without a form are det and minors: {}", calls.len());
        let errors = run(&python, &calls, "demos", 1);
        assert!(errors.is_empty(), "{}", errors.join("\n\n"));
    });
}

#[test]
fn xla_agrees_on_cases() {
    let Some(python) = python() else { return };
    with_large_stack(|| {
        let mut pipeline = pipeline("cases.ks", include_str!("../../stablehlo/cases.ks"));
        let names: Vec<String> = pipeline.program().defs.keys().map(|name| name.to_string()).collect();
        let points = names.iter().filter_map(|at| Some((at, at.split_once("_at")?.0)));
        let calls: Vec<Call> =
            points.flat_map(|(at, fun)| calls(at, &mut pipeline, fun, at, &Options::default())).collect();
        let stops = calls.iter().filter(|call| matches!(call.wanted, Wanted::Stop(_))).count();
        println!("{} calls, of which {stops} stop", calls.len());
        let errors = run(&python, &calls, "cases", 1);
        assert!(errors.is_empty(), "{}", errors.join("\n\n"));
    });
}

/// Data lies along four devices: each has its part of the sum and of the gradient, and they are added up once.
#[test]
fn xla_agrees_on_devices() {
    let Some(python) = python() else { return };
    with_large_stack(|| {
        let mut cases = pipeline("cases.ks", include_str!("../../stablehlo/cases.ks"));
        let shards = ["x=data,-", "y=data"].map(|shard| shard.parse().expect("a shard"));
        let mesh = "data=4".parse().expect("a mesh");
        let options = Options { mesh, shards: shards.to_vec(), ..Options::default() };
        let fits = calls("fit", &mut cases, "fit", "fit_at", &options);
        assert_eq!(fits.len(), 2, "the value, and the value with the gradient");
        let errors = run(&python, &fits, "devices", 4);
        assert!(errors.is_empty(), "{}", errors.join("\n\n"));
    });
}

/// The functions of `cases.ks` whose text is in `tests/stablehlo`, each at a point.
const TEXTS: [&str; 7] = ["one_at", "pick_at", "third_at_2", "walk_at", "largest_at", "window_at", "products_at"];

#[test]
fn texts_of_derivatives() {
    with_large_stack(|| {
        let source = Source::new("cases.ks", include_str!("../../stablehlo/cases.ks"));
        let mut pipeline = pipeline("cases.ks", include_str!("../../stablehlo/cases.ks"));
        for at in TEXTS {
            let (fun, _) = at.split_once("_at").expect("the name of a point");
            let f = FunName::base(fun);
            let vjp = f.derived(Derivative::Vjp);
            pipeline.require(&vjp).expect("it derives");
            let program = pipeline.program();
            let point = Interpreter::new(program).call(&FunName::base(at), &[]).expect("a point");
            let name = if fun == "largest" { &f } else { &vjp };
            let place = |span: Span| {
                let (file, Position { line, column }) = source.place(span.start);
                (span != Span::default()).then(|| format!("{file}:{line}:{column}"))
            };
            let args = if name == &f { vec![point] } else { vec![point, Value::Float(1.0)] };
            let text = text(program, name, &args, &place, &Options::default()).expect("it has a form");
            let file = format!("{}/tests/stablehlo/{at}.mlir", env!("CARGO_MANIFEST_DIR"));
            expect(&text, Path::new(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        }
    });
}

/// Compiles a file, and returns the exit code and the text of errors, or of the output.
fn compile(file: &str, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["compile", file, "--emit", "stablehlo=-"]).args(options);
    let output = command.output().expect("lmc starts");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(text).expect("it is text"))
}

const CASES: &str = "tests/stablehlo/cases.ks";

#[test]
fn what_has_no_form_is_said() {
    let sums = ["--fun", "sums", "--specialise"];
    let (det, gmm) = (["--fun", "det", "--specialise"], ["--fun", "gmm", "--specialise"]);
    for (file, options, given, code, message) in [
        (CASES, sums, "v.size=2,w.size=3", 1, "error[E318]: sizes differ (in `sums`)"),
        (CASES, sums, "u.size=2", 1, "no function that is compiled as an entry has a parameter `u`"),
        (CASES, sums, "v.size.2=2", 1, "`v.size.2` is no Integer and no size: the parameter is of type (Vec Float)"),
        (CASES, sums, "v.size=2,v.size=3", 1, "`v.size` is to be 2 and 3"),
        (CASES, sums, "v.size=-1", 2, "says that a size is less than 0"),
        (
            "demos/det.ks",
            det,
            "a.size.1=3",
            1,
            "a size is unknown, and StableHLO takes known sizes: add `--specialise a.size.2=..`",
        ),
        (
            "demos/det.ks",
            det,
            "a.size.1=3,a.size.2=3",
            1,
            "error[E316]: a size depends on data, and StableHLO takes known sizes",
        ),
        ("demos/gmm.ks", gmm, "x.size=3", 1, "add `--specialise alphas.size=..,means.size=..,means.each.size=..,"),
    ] {
        let (found, text) = compile(file, &[options.as_slice(), &[given]].concat());
        assert!(found == Some(code) && text.contains(message), "{given}: {text}");
    }
}

#[test]
fn sizes_that_must_be_equal_follow() {
    let (code, text) = compile(CASES, &["--fun", "sums", "--vjp", "--specialise", "w.size=5,dr.size=5"]);
    assert!(
        code == Some(0) && text.contains("@vjp_sums(%v: tensor<5xf64>, %w: tensor<5xf64>, %dr: tensor<5xf64>)"),
        "{text}"
    );
}

#[test]
fn numbers_of_32_bits() {
    let (code, text) = compile(CASES, &["--fun", "integers", "--float", "f32"]);
    assert!(code == Some(0) && text.contains("%x: tensor<f32>") && !text.contains("f64"), "{text}");
}

#[test]
fn arrays_lie_on_devices() {
    let base = ["--fun", "products", "--vjp", "--specialise", "a.size.1=8,a.size.2=3,b.size.1=3,b.size.2=4,v.size=8"];
    let given = |options: &[&'static str]| compile(CASES, &[&base, options].concat());
    let (code, text) = given(&["--mesh", "data=4,model=2", "--shard", "a=data,-", "--shard", "b=-,model"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("num_partitions = 8") && text.contains("sdy.mesh @mesh = <[\"data\"=4, \"model\"=2]>"),
        "{text}"
    );
    let of = |dims: &str| format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}");
    let (rows, columns, one, none) = (of("{\"data\"}, {}"), of("{}, {\"model\"}"), of("{}"), of(""));
    let result = format!(
        "-> (tensor<i64>{none}, tensor<f64>{none}, tensor<8x3xf64>{rows}, tensor<3x4xf64>{columns}, tensor<8xf64>{one})"
    );
    assert!(text.contains(&result), "a cotangent lies as its parameter does: {text}");
    for (options, message) in [
        (vec!["--mesh", "data=4", "--shard", "c=data,-"], "no function has a parameter `c` to shard"),
        (vec!["--mesh", "data=4", "--shard", "a=data"], "`a` has 2 dimensions, and is sharded as if it had 1"),
        (vec!["--mesh", "data=4", "--shard", "a=model,-"], "the mesh has no axis `model`"),
        (vec!["--mesh", "data=4", "--shard", "a=data,data"], "`a` lies along the axis `data` twice"),
        (
            vec!["--mesh", "data=4", "--shard", "a=-,data"],
            "`a.size.2` is 3, which is no multiple of the 4 devices along `data`",
        ),
        (vec!["--mesh", "data=4", "--shard", "a=data,-", "--shard", "a=-,-"], "`a` is sharded twice"),
        (vec!["--shard", "a=data,-"], "`--shard` is for several devices: say `--mesh data=4`"),
        (vec!["--mesh", "data"], "does not say how many devices there are along which axis"),
        (vec!["--mesh", "data=0"], "does not say how many devices there are along which axis"),
        (vec!["--mesh", "data=4", "--shard", "a"], "does not say which dimension lies along which axis"),
    ] {
        let (code, text) = given(&options);
        assert!(code == Some(2) && text.contains(message), "{options:?}: {code:?} {text}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["compile", CASES, "--emit", "numpy=-", "--mesh", "data=4"]);
    let output = command.output().expect("lmc starts");
    let text = String::from_utf8(output.stderr).expect("it is text");
    assert!(
        output.status.code() == Some(2) && text.contains("`--mesh` is for StableHLO: say `--emit stablehlo`"),
        "{text}"
    );
}

/// The page's export of `gmm` has one text, which gives at two sizes what the module gives.
#[test]
fn one_text_serves_all_sizes() {
    let Some(python) = python() else { return };
    let page = include_str!("../../../docs/accelerators.md");
    let (_, rest) = page.split_once("### One text for all sizes").expect("the page has it");
    let (_, rest) = rest.split_once("```python\n").expect("the section has an example");
    let (example, _) = rest.split_once("```").expect("the example ends");
    let check = include_str!("../../stablehlo/any_size.py");
    let directory = with_program("one_text_serves_all_sizes", include_str!("../../../demos/gmm.ks"));
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let made = lmc.current_dir(&directory).args(["compile", "p.ks", "--fun", "gmm", "--vjp", "--emit", "jax=gmm.py"]);
    assert!(made.status().expect("lmc starts").success());
    let output = Command::new(python).current_dir(&directory).args(["-c", &format!("{example}\n{check}")]).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", String::from_utf8_lossy(&output.stdout));
}
