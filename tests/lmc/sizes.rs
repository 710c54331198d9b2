//! Sizes in types: what is proved holds, laws and native code use it, and functions for C check it.

use common::random::{cases, seed};
use lm::interp::{ErrorKind, Interpreter};
use lm::notation::infix::{Format, definition};
use lm::random::SplitMix;
use lm::term::{Derivative, FunName, Version};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::check::Checked;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use loops::ir::Stmt;
use native::{Jit, Options, SourceInfo};

const DOT: &str = "(def dot Float ((v : Vec n Float) (w : Vec n Float))
  (sumbuild n (lam (i : Fin n) (mul (index i v) (index i w)))))
(def uMv Float ((u : Vec r Float) (m : Tensor (r c) Float) (v : Vec c Float))
  (sumbuild r (lam (i : Fin r) (mul (index i u) (sumbuild c (lam (j : Fin c) (mul (index (tuple i j) m) (index j v))))))))
(def loose Float ((v : Vec Float) (w : Vec Float)) (dot v w))
";

fn load(text: &str) -> Checked {
    front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn floats(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(i as f64 - 0.5)).collect())
}

/// Returns how many claims are proved, and how many are left to the run.
fn counts(checked: &Checked) -> [usize; 2] {
    let proved = checked.size_checks.iter().filter(|check| check.is_proved).count();
    [proved, checked.size_checks.len() - proved]
}

#[test]
fn what_is_not_proved_is_checked_before_the_call() {
    let checked = load(DOT);
    assert_eq!(counts(&checked), [12, 1], "{:?}", checked.size_checks);
    let mut interpreter = Interpreter::new(&checked.program);
    let mut loose = |n, m| interpreter.call(&FunName::base("loose"), &[floats(n), floats(m)]);
    assert_eq!(loose(2, 2), Ok(Value::Float(0.5)));
    let [left, right] = [3, 2].map(|n| vec![n].into());
    let kind = ErrorKind::SizeMismatch { left, right };
    assert_eq!(loose(2, 3).expect_err("the sizes differ").kind, kind);
    let names = [FunName::base("loose")];
    let jit = Jit::new(&checked.program, &names, &SourceInfo::new("case.ks", DOT), &Options::default());
    let jit = jit.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(jit.call(&names[0], &[floats(2), floats(3)]).expect_err("the sizes differ").kind, kind);
}

/// Of vectors in a vector, too.
#[test]
fn sizes_of_elements_that_differ_are_told() {
    let text = "(def rows Float ((m : Vec n (Vec k Float)) (w : Vec k Float)) (sum w))
(def loose Float ((m : Vec (Vec Float)) (w : Vec Float)) (rows m w))";
    let (checked, names) = (load(text), ["rows", "loose"].map(FunName::base));
    let jit = Jit::new(&checked.program, &names, &SourceInfo::new("case.ks", text), &Options::default());
    let jit = jit.unwrap_or_else(|error| panic!("{error}"));
    let rows = |n: usize| Value::vector(vec![floats(2), floats(n)]);
    for name in &names {
        assert!(jit.call(name, &[rows(2), floats(2)]).is_ok());
        let error = jit.call(name, &[rows(3), floats(2)]).expect_err("the sizes differ");
        let [left, right] = [3, 2].map(|n| vec![n].into());
        assert_eq!(error.kind, ErrorKind::SizeMismatch { left, right });
    }
}

/// The size of a tangent is compared with the Integer that is that size.
/// In elements, in arguments, and in results: interpreter and native code tell the index, and the size.
#[test]
fn indices_that_are_out_of_range_are_told() {
    let text = "(def f Float ((x : Vec n Float) (ix : Vec m (Fin n))) (sum (map (lam (i : Integer) (index i x)) ix)))
(def elements Float ((x : Vec Float) (ix : Vec Integer)) (f x ix))
(def result (Fin n) ((x : Vec n Float) (ix : Vec Integer)) (index 1 ix))
(def at Float ((x : Vec n Float) (i : Fin n)) (index i x))
(def asserted Float ((x : Vec Float) (ix : Vec Integer))
  (let (k (index 1 ix)) (assert ($in_range k (size x)) (at x k))))";
    let (checked, names) = (load(text), ["elements", "result", "asserted"].map(FunName::base));
    let jit = Jit::new(&checked.program, &names, &SourceInfo::new("case.ks", text), &Options::default());
    let jit = jit.unwrap_or_else(|error| panic!("{error}"));
    let indices = |k| Value::vector(vec![Value::Integer(0), Value::Integer(k)]);
    for name in &names {
        for (n, k) in [(1, 3), (2, 2), (2, -1)] {
            let args = [floats(n), indices(k)];
            let [index, size] = [k, n as i64].map(|n| vec![n].into());
            let wanted = ErrorKind::IndexOutOfRange { index, size };
            let interpreted = Interpreter::new(&checked.program).call(name, &args).expect_err("it is out of range");
            assert_eq!(interpreted.kind, wanted, "{name}");
            assert_eq!(jit.call(name, &args).expect_err("it is out of range").kind, wanted, "{name}");
        }
        let args = [floats(2), indices(1)];
        assert_eq!(jit.call(name, &args), Interpreter::new(&checked.program).call(name, &args), "{name}");
    }
}

/// Where a branch says that an index is a number, it is still one of the loop's.
#[test]
fn nothing_is_wrong_where_no_run_comes() {
    for place in ["-1", "n", "(add n 1)", "(sub -1 n)"] {
        let f = format!(
            "(def f (Vec Float) (s : Vec n Float)
               (build n (lam (j : Integer) (if (eq j {place}) (mul 2.0 (index j s)) (index j s)))))"
        );
        assert_eq!(counts(&load(&f))[1], 0, "{place}");
    }
    let last = "(def f (Vec Float) (s : Vec n Float)
      (build n (lam (j : Integer) (if (eq j (sub n 1)) (index (add j 1) s) (index j s)))))";
    let errors = front::load(&Source::new("case.ks", last)).expect_err("the index is the size");
    assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), ["E241"]);
}

/// A difference of sizes may be negative: then no number is below it.
#[test]
fn no_index_is_below_a_negative_size() {
    let text = "(def at Float ((x : Vec n Float) (y : Vec m Float) (ix : Vec k (Fin (sub n m)))) (to_float (sum ix)))
(def one Float ((x : Vec n Float) (y : Vec m Float) (i : Fin (sub n m))) (to_float i))
(def elements Float ((x : Vec Float) (y : Vec Float) (ix : Vec Integer)) (at x y ix))";
    let (checked, names) = (load(text), ["elements", "one"].map(FunName::base));
    let jit = Jit::new(&checked.program, &names, &SourceInfo::new("case.ks", text), &Options::default());
    let jit = jit.unwrap_or_else(|error| panic!("{error}"));
    let indices = [Value::vector(vec![Value::Integer(0)]), Value::Integer(0)];
    for (name, index) in names.iter().zip(indices) {
        assert_eq!(jit.call(name, &[floats(3), floats(2), index.clone()]), Ok(Value::Float(0.0)), "{name}");
        let [zero, size] = [0, -1].map(|n| vec![n].into());
        let error = jit.call(name, &[floats(2), floats(3), index]).expect_err("it is out of range");
        assert_eq!(error.kind, ErrorKind::IndexOutOfRange { index: zero, size }, "{name}");
    }
}

/// The number is on the left, the size that it is below on the right. Of several literals the largest decides.
#[test]
fn checks_of_indices_are_told_as_they_are() {
    let g = "(def g Float (ix : Vec m (Fin 4)) (to_float (sum ix)))\n";
    let pairs = "(def p Integer (ix : Vec m (Fin (Tuple 2 3))) (size ix))\n";
    let cases = [
        ("(def f Float (x : Float) (g (Vec_init 0 3)))", "indices below 4: each < 4", true),
        ("(def f Float (x : Float) (g (Vec_init 3 4 0)))", "indices below 5: each < 4", false),
        ("(def f Float (x : Float) (g (Vec_init 0 (neg 1))))", "indices: each < 4", false),
        ("(def f Float (a : Vec Integer) (g a))", "indices: each < 4", false),
        ("(def f Float (a : Vec m (Fin 5)) (g a))", "indices below 5: each < 4", false),
        (
            "(def f Float (x : Float) (g (if (gt x 0.0) (Vec_init 1) (Vec_init 0 2))))",
            "indices below 3: each < 4",
            true,
        ),
        ("(def f Integer (x : Float) (p (Vec_init (tuple 0 2) (tuple 1 0))))", "indices below 2: each < 2", true),
        ("(def f Integer (x : Float) (p (Vec_init (tuple 0 2) (tuple 1 0))))", "indices below 3: each < 3", true),
        ("(def f (Fin n) ((v : Vec n Float) (k : Integer)) k)", "an index in the result: k < n", false),
        ("(def h Integer (k : Fin 4) k) (def f Integer (x : Float) (h (if (gt x 0.0) 0 3)))", "an index: if < 4", true),
    ];
    for (text, words, is_proved) in cases {
        let checked = load(&format!("{g}{pairs}{text}"));
        let found = checked.size_checks.iter().find(|check| check.what == words);
        let found = found.unwrap_or_else(|| panic!("{text}: {:?}", checked.size_checks));
        assert_eq!(found.is_proved, is_proved, "{text}");
    }
}

#[test]
fn a_derivative_compares_numbers_and_sizes() {
    let text = "(def rep (Vec n Float) ((n : Integer) (x : Float)) (constVec n x))
(def g (Vec m Float) ((n : Integer) (x : Float) (r : Vec m Float)) (get$1$2 ([vjp rep] (tuple n x) r)))";
    let checked = load(text);
    assert_eq!(counts(&checked)[1], 2, "{:?}", checked.size_checks);
    let mut pipeline = Pipeline::new(checked);
    let g = FunName::base("g");
    pipeline.require(&g).expect("it derives");
    let mut interpreter = Interpreter::new(pipeline.program());
    let mut g = |n, m| interpreter.call(&g, &[Value::Integer(n), Value::Float(1.0), floats(m)]);
    assert!(g(3, 3).is_ok());
    assert!(g(2, 3).is_err());
}

/// A limit may be of the index of the loop around.
#[test]
fn an_index_below_a_difference_is_one() {
    let text = "(def t Float (v : Vec n Float)
  (sumbuild n (lam (i : Fin n) (sumbuild (sub n i) (lam (j : Fin (sub n i)) (index (add i j) v))))))";
    assert_eq!(counts(&load(text))[1], 0);
}

/// Of no elements all is true.
#[test]
fn sizes_of_elements_that_may_be_missing_are_left_to_the_run() {
    let hd = "(def hd Float ((v : Vec n (Vec m Float)) (w : Vec m Float)) (sum w))
(def f Float (k : Integer) (hd (build k (lam (i : Integer) (Vec_init 1.0))) (Vec_init 1.0 2.0)))";
    let checked = load(hd);
    let mut interpreter = Interpreter::new(&checked.program);
    let mut f = |k| interpreter.call(&FunName::base("f"), &[Value::Integer(k)]);
    assert_eq!(f(0), Ok(Value::Float(3.0)));
    assert!(f(1).is_err());
    assert!(front::load(&Source::new("case.ks", &hd.replace("build k", "build 2"))).is_err());
}

/// What a derivative by hand gives is compared with what it is a derivative of, where that is not known.
#[test]
fn derivatives_by_hand_are_checked() {
    let text = "(def f Float (v : Vec n Float) (ts_dot v v))
(def [grad f] (Vec Float) (v : Vec Float) (constVec (to_integer (sum v)) 1.0))
(def g (Vec n Float) (v : Vec n Float) ([grad f] v))";
    let checked = load(text);
    assert_eq!(counts(&checked)[1], 1, "{:?}", checked.size_checks);
    let mut interpreter = Interpreter::new(&checked.program);
    let mut g = |v: &[f64]| {
        let v = Value::vector(v.iter().map(|x| Value::Float(*x)).collect());
        interpreter.call(&FunName::base("g"), &[v])
    };
    assert!(g(&[1.0, 1.0]).is_ok());
    assert!(g(&[1.0, 2.0]).is_err());
}

#[test]
fn laws_use_sizes() {
    let text = |name: &str, path: usize| {
        let choices: front::Choices = Derivation::Dual.into();
        let checked = front::load_for(&Source::new("case.ks", DOT), choices, &Default::default());
        let mut pipeline = Pipeline::new(checked.expect("the program is right"));
        let gradient = FunName::base(name).restricted(&[vec![path]]).derived(Derivative::Grad);
        pipeline.require(&gradient).expect("it derives");
        let text = definition(&pipeline.program().defs[&gradient], Format::Plain, 1000);
        text.split("= ").last().unwrap_or_default().to_string()
    };
    assert_eq!(text("dot", 1), "w");
    assert_eq!(text("dot", 2), "v");
    for path in 1..=3 {
        let gradient = text("uMv", path);
        assert!(!gradient.contains("if"), "{gradient}");
    }
}

#[test]
fn native_code_compares_no_sizes_but_those_from_outside() {
    let names = ["dot", "uMv"].map(FunName::base);
    let checked = load(DOT);
    let jit = Jit::new(&checked.program, &names, &SourceInfo::new("case.ks", DOT), &Options::default());
    let jit = jit.unwrap_or_else(|error| panic!("{error}"));
    for function in &jit.module().loops().functions {
        let mut has_checks = false;
        function.body.visit(&mut |stmt| has_checks |= matches!(stmt, Stmt::Check { .. }));
        let is_checked = function.name.versions.first() == Some(&Version::Checked);
        assert_eq!(has_checks, is_checked, "{}", jit.module().loops());
    }
    assert_eq!(jit.call(&names[0], &[floats(3), floats(3)]), Ok(Value::Float(2.75)));
    let error = jit.call(&names[0], &[floats(3), floats(2)]).expect_err("the sizes differ");
    let sizes = [3, 2].map(|n| vec![n].into());
    let [left, right] = sizes;
    assert_eq!(error.kind, ErrorKind::SizeMismatch { left: right, right: left });
}

/// Draws terms of definitions with sizes. Many are wrong.
struct Drawn {
    random: SplitMix,
    /// The names of indices in scope.
    indices: Vec<String>,
}

impl Drawn {
    fn one(&mut self, of: &[&str]) -> String {
        of[(self.random.draw() % of.len() as u64) as usize].to_string()
    }

    fn size(&mut self, depth: usize) -> String {
        match self.random.draw() % 6 {
            0 if depth > 0 => format!("(size {})", self.vector(depth - 1)),
            1 => "(add n 1)".into(),
            2 => "(sub m 1)".into(),
            3 => "2".into(),
            _ => self.one(&["n", "m"]),
        }
    }

    fn vector(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.one(&["v", "v2", "w", "u"]);
        }
        let d = depth - 1;
        match self.random.draw() % 9 {
            0 | 1 => {
                let (n, i) = (self.size(d), format!("i{}", self.indices.len()));
                self.indices.push(i.clone());
                let x = self.number(d);
                self.indices.pop();
                format!("(build {n} (lam ({i} : Integer) {x}))")
            }
            2 => format!("(sub {} {})", self.vector(d), self.vector(d)),
            3 => format!("(shift1R {})", self.vector(d)),
            4 => format!("(scanl (lam (t : Tuple Float Float) (add (get$1$2 t) (get$2$2 t))) 0.0 {})", self.vector(d)),
            5 => format!("(if (lt n m) {} {})", self.vector(d), self.vector(d)),
            6 => format!("(axpy {} {} {})", self.number(d), self.vector(d), self.vector(d)),
            7 => format!("(let (x {}) (map (lam (y : Float) (mul y y)) x))", self.vector(d)),
            _ => self.vector(0),
        }
    }

    fn index(&mut self, depth: usize) -> String {
        match (self.random.draw() % 6, self.indices.last().cloned()) {
            (0, _) => "0".into(),
            (1, Some(i)) => format!("(add {i} 1)"),
            (2, Some(i)) => format!("(sub (sub n 1) {i})"),
            (3, _) => format!("(sub {} 1)", self.size(depth)),
            (_, Some(i)) => i,
            (_, None) => "0".into(),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            return "0.5".into();
        }
        let d = depth - 1;
        match self.random.draw() % 5 {
            0 | 1 => {
                let (k, x) = (self.index(d), self.vector(d));
                match self.random.draw() % 3 {
                    0 => format!("(let ((k {k}) (x {x})) (if (and (lte 0 k) (lt k (size x))) (index k x) 0.0))"),
                    _ => format!("(index {k} {x})"),
                }
            }
            2 => format!("(dot {} {})", self.vector(d), self.vector(d)),
            3 => format!("(sum {})", self.vector(d)),
            _ => format!("(get$1$2 ([jvp dot] (tuple {0} {0}) (tuple {0} {0})))", self.vector(d)),
        }
    }

    fn program(&mut self) -> String {
        format!(
            "(def dot Float ((v : Vec n Float) (w : Vec n Float))
  (sumbuild n (lam (i : Fin n) (mul (index i v) (index i w)))))
(def axpy (Vec n Float) ((a : Float) (v : Vec n Float) (w : Vec n Float))
  (build n (lam (i : Fin n) (add (mul a (index i v)) (index i w)))))
(def f Float ((v : Vec n Float) (v2 : Vec n Float) (w : Vec (add n 1) Float) (u : Vec m Float))
  {})
",
            self.number(4)
        )
    }
}

/// A program of which all is proved has no error of a size or an index, with whatever sizes.
#[test]
fn what_is_proved_does_not_fail() {
    let mut drawn = Drawn { random: SplitMix::new(seed()), indices: vec![] };
    let (cases, mut proved, mut refused) = (cases(150), 0, 0);
    for _ in 0..cases {
        let text = drawn.program();
        with_large_stack(|| match front::load(&Source::new("case.ks", &text)) {
            Err(_) => refused += 1,
            Ok(checked) if counts(&checked)[1] > 0 => {}
            Ok(checked) => {
                proved += 1;
                let mut pipeline = Pipeline::new(checked);
                pipeline.require(&FunName::base("f")).unwrap_or_else(|error| panic!("{text}: {error}"));
                for (n, m) in (0..4).flat_map(|n| (0..4).map(move |m| (n, m))) {
                    let args = [floats(n), floats(n), floats(n + 1), floats(m)];
                    let value = Interpreter::new(pipeline.program()).call(&FunName::base("f"), &args);
                    assert!(value.is_ok(), "n = {n}, m = {m}: {value:?}\n{text}");
                }
            }
        });
    }
    // Enough of each kind, so that the test says something.
    assert!(proved * 8 > cases && refused * 8 > cases, "of {cases}: {proved} proved, {refused} refused");
}
