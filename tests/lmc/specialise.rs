//! `--specialise`: functions that are compiled for numbers give what the interpreter gives where they get these, and an
//! error otherwise.

use lm::interp::{ErrorKind, Interpreter};
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::DEMOS;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, Random, distance};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use loops::Known;
use native::{Jit, SourceInfo};
use std::process::Command;

fn known(text: &str) -> Vec<Known> {
    text.split(',').map(|known| known.parse().unwrap_or_else(|error| panic!("{error}"))).collect()
}

struct Case {
    pipeline: Pipeline,
    name: FunName,
    jit: Jit,
    /// The loops of the function, as text.
    loops: String,
}

impl Case {
    fn new(text: &str, name: &FunName, specialise: &str) -> Case {
        let mut pipeline = Pipeline::new(front::load(&Source::new("case.ks", text)).expect("the program is right"));
        pipeline.require(name).expect("it derives");
        let options = native::Options { specialise: known(specialise), ..native::Options::default() };
        let info = SourceInfo::new("case.ks", text);
        let jit = Jit::new(pipeline.program(), std::slice::from_ref(name), &info, &options);
        let jit = jit.unwrap_or_else(|error| panic!("{error}"));
        let loops = jit.module().loops().to_string();
        Case { pipeline, name: name.clone(), jit, loops }
    }

    fn agrees(&self, args: &[Value]) {
        let wanted = Interpreter::new(self.pipeline.program()).call(&self.name, args).expect("it has a value");
        let found =
            self.jit.call(&self.name, args).unwrap_or_else(|error| panic!("{}: {error}\n{}", self.name, self.loops));
        assert!(distance(&wanted, &found) <= NATIVE, "{}: {wanted:?} {found:?}\n{}", self.name, self.loops);
    }

    fn refuses(&self, args: &[Value], found: i64, wanted: i64) {
        let error = self.jit.call(&self.name, args).expect_err("the argument is another");
        assert_eq!(error.kind, ErrorKind::NotSpecialised { found, wanted }, "{}", self.loops);
    }
}

fn floats(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(i as f64 - 0.5)).collect())
}

#[test]
fn integers_and_sizes_of_vectors() {
    let text = "(def f Float ((n : Integer) (v : Vec Float) (t : Tuple Float Integer))
      (add (get$1$2 t) (sumbuild n (lam (i : Integer) (mul (index i v) \
      (sumbuild (get$2$2 t) (lam (j : Integer) (index j v))))))))";
    let args = |n: i64, size: usize, k: i64| {
        let t = Value::Tuple(vec![Value::Float(0.25), Value::Integer(k)]);
        [Value::Integer(n), floats(size), t]
    };
    let f = FunName::base("f");
    let case = Case::new(text, &f, "n=3,v.size=4,t.2=2");
    assert!(!case.loops.contains("for "), "the loops are unrolled: {}", case.loops);
    case.agrees(&args(3, 4, 2));
    case.refuses(&args(2, 4, 2), 2, 3);
    case.refuses(&args(3, 5, 2), 5, 4);
    case.refuses(&args(3, 4, 1), 1, 2);
    let rev = Case::new(text, &f.derived(Derivative::Rev), "v.size=4");
    for n in [0, 1, 4] {
        rev.agrees(&[Value::Tuple(args(n, 4, 2).to_vec()), Value::Float(1.5)]);
    }
    rev.refuses(&[Value::Tuple(args(3, 3, 2).to_vec()), Value::Float(1.5)], 3, 4);
}

#[test]
fn sizes_of_matrices_and_of_rows() {
    let matrix = "(def f Float (m : Tensor 2 Float) (sum (build (get$2$2 (size m)) \
                  (lam (j : Integer) (exp (index (tuple 0 j) m))))))";
    let case = Case::new(matrix, &FunName::base("f"), "m.size.2=3");
    assert!(!case.loops.contains("for "), "the loop is unrolled: {}", case.loops);
    let rows = "(def f Float (rows : Vec (Vec Float)) (sum (map (lam (row : Vec Float) (ts_dot row row)) rows)))";
    let case = Case::new(rows, &FunName::base("f"), "rows.each.size=2");
    let value = |sizes: &[usize]| Value::vector(sizes.iter().map(|n| floats(*n)).collect());
    case.agrees(&[value(&[2, 2, 2])]);
    case.agrees(&[value(&[])]);
    case.refuses(&[value(&[2, 2, 1])], 1, 2);
}

#[test]
fn derivatives_of_demos() {
    let sizes =
        [("gmm", "x.each.size=3,means.each.size=3,icf.each.size=6,alphas.size=4"), ("kmeans", "points.each.size=2")];
    for (name, specialise) in sizes {
        with_large_stack(|| {
            let demo = DEMOS.iter().find(|demo| demo.name == name).expect("it is a demo");
            let rev = FunName::base(demo.fun).derived(Derivative::Rev);
            let case = Case::new(demo.text, &rev, specialise);
            let point =
                Interpreter::new(case.pipeline.program()).call(&FunName::base("example"), &[]).expect("a point");
            case.agrees(&[point, Random::new(3).direction(&Value::Float(0.0))]);
        });
    }
}

#[test]
fn what_cannot_be_specialised_is_said() {
    let message = |specialise: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
        command.args(["compile", "demos/gmm.ks", "--fun", "gmm", "--emit", "loops=-", "--specialise", specialise]);
        let output = command.output().expect("lmc starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("it is text"))
    };
    let (status, text) = message("n=3");
    assert!(
        status == Some(1) && text.contains("no function that is compiled as an entry has a parameter `n`"),
        "{text}"
    );
    let (status, text) = message("x.size.2=3");
    assert!(
        status == Some(1)
            && text.contains("`x.size.2` is no Integer and no size")
            && text.contains("(Vec (Vec Float))"),
        "{text}"
    );
    let (status, text) = message("x.size");
    assert!(status == Some(2) && text.contains("does not say what is which number"), "{text}");
    let (status, text) = message("x.size=-1");
    assert!(status == Some(2) && text.contains("a size is less than 0"), "{text}");
    let (status, text) = message("x.size=3,x.size=4");
    assert!(status == Some(1) && text.contains("`x.size` is to be 3 and 4"), "{text}");
    assert_eq!(message("wishart_m=0,x.size=5,x.size=5").0, Some(0));
}
