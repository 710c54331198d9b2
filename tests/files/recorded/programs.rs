//! Programs that are made for records, derivations that meet, derivatives that are written by hand.

use super::*;
use lm::term::Derivative;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let forward = "recorded::derivatives_of_forward_derivatives_agree";
    let of_folds = |name| each::row(forward, name, move || derivatives_of_forward_derivatives_agree(name));
    let mut tests: Vec<Trial> = FOLDS.into_iter().map(of_folds).collect();
    tests.extend(alone!(
        "recorded": programs_with_records, derivations_can_be_mixed, derivatives_by_hand_are_used,
    ));
    tests
}

/// Programs made for records, with `f` from vectors to Floats.
const PROGRAMS: &[&str] = &[
    // Branches whose records differ: a vector, a pair of numbers, nothing.
    "(def f Float (v : Vec Float)
       (sumbuild (size v) (lam (i : Integer)
         (let (x (index i v))
           (if (gt x 0.8)
               (let (w (build (size v) (lam (k : Integer) (exp (mul x (index k v)))))) (ts_dot w w))
               (if (gt x 0.5) (mul (sin (exp x)) (cos (mul x x))) (mul 2.0 x)))))))",
    // Loops in loops, with calls in them that have conditionals in them.
    "(def g (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
       (if (gt x 0.6) (tuple (exp x) (ts_scale x v)) (tuple (sin x) (ts_add v v))))
     (def f Float (v : Vec Float)
       (sumbuild (size v) (lam (i : Integer)
         (sum (build i (lam (j : Integer)
           (let (((y w) (g (index j v) v))
                 ((z u) (g y w)))
             (mul (mul y z) (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) z u)))))))))",
    // A matrix whose rows are recorded.
    "(def f Float (v : Vec Float)
       (let (m (build (size v) (lam (i : Integer) (map (lam (x : Float) (exp (mul x (index i v)))) v))))
         (sumbuild (size v) (lam (i : Integer)
           (let (r (map (lam (x : Float) (sin x)) (index i m))) (mul (ts_dot r r) (sum (index i m))))))))",
    // A state that changes its shape, in a loop that records a vector in each step.
    "(def f Float (v : Vec Float)
       (sum (fold (lam (t : Tuple (Vec Float) Float)
                    (let (w (map (lam (x : Float) (sin (mul x (get$2$2 t)))) (get$1$2 t)))
                      (build (add 1 (size w)) (lam (i : Integer) (if (lt i (size w)) \
                      (mul (index i w) (index i w)) 0.3)))))
                  (Vec_init 0.7) v)))",
    // A scan that records, of which all states are used.
    "(def f Float (v : Vec Float)
       (let (s (scanl (lam (t : Tuple Float Float) (let (y (exp (sin (get$1$2 t)))) \
       (mul y (sin (mul y (get$2$2 t)))))) 0.2 v))
         (ts_dot s s)))",
    // A recursive function, called in loops, in states, in conditionals.
    "(def power Float ((n : Integer) (x : Float) (v : Vec Float))
       (if (eq n 0) (sum v)
           (if (gt x 0.5) (mul x (power (sub n 1) (sin x) (ts_scale x v)))
               (let (w (ts_add v v)) (add (index 0 w) (power (sub n 1) (cos x) w))))))
     (def f Float (v : Vec Float)
       (let (w (build (size v) (lam (i : Integer) (power (mod i) (index i v) (Vec_init (index i v) 1.0)))))
         (fold (lam (t : Tuple Float Float)
                 (if (gt (get$2$2 t) 0.4) (sin (power 3 (get$1$2 t) w)) (mul 0.5 (get$1$2 t)))) 0.1 v)))
     (def mod Integer (i : Integer) (sub i (mul 4 (div i 4))))",
    // Functions that call each other, one of them in a loop.
    "(def even Float ((n : Integer) (x : Float)) (if (eq n 0) x (mul x (odd (sub n 1) (sin x)))))
     (def odd Float ((n : Integer) (x : Float))
       (if (eq n 0) (exp x) (sumbuild 2 (lam (i : Integer) (mul (to_float (add i 1)) (even (sub n 1) (mul x 0.9)))))))
     (def f Float (v : Vec Float) (sum (map (lam (x : Float) (even 5 x)) v)))",
];

/// Each at sizes from 0, where no step of a loop records anything; and what is printed reads back as the same.
fn programs_with_records() {
    with_large_stack(|| {
        for program in PROGRAMS {
            let text = format!("{POINT}{program}");
            let f = FunName::base("f");
            let ways = Ways::new(&text, |_| vec![f.clone()]).unwrap_or_else(|why| panic!("{why}\n{program}"));
            for p in &ways.recorded {
                reads_back(p).unwrap_or_else(|why| panic!("{why}\n{program}"));
                let name = f.derived(Derivative::Rev);
                let info = SourceInfo::new("test.ks", &text);
                for options in [unoptimised(), native::Options { opt_level: 0, ..native::Options::default() }] {
                    let jit = Jit::new(p.program(), std::slice::from_ref(&name), &info, &options);
                    let jit = jit.unwrap_or_else(|error| panic!("{error}\n{program}"));
                    for n in [0, 1, 2, 3, 9] {
                        let at = [argument(p, n), Value::Float(0.7)];
                        let interpreted = Interpreter::new(p.program()).call(&name, &at).expect("a derivative");
                        let apart = distance(&interpreted, &jit.call(&name, &at).expect("a derivative"));
                        assert!(apart <= native_limit(Some(&jit)), "{apart} at {n}: {program}");
                    }
                }
            }
            for n in [0, 1, 2, 3, 9] {
                let whole = argument(&ways.jacobian, n);
                let is_point = ways.agree_at(&f, &whole, &mut Random::new(2));
                assert!(is_point.unwrap_or_else(|why| panic!("{why}\n{program}")), "at {n}: {program}");
            }
        }
    });
}

/// The program with all its derivatives, printed and read.
fn reads_back(p: &Pipeline) -> Result<(), String> {
    let text = ks::program(p.program(), 80);
    let read = front::load_stage(&Source::new("stage.ks", &text)).map_err(|errors| format!("{errors:?}\n{text}"))?;
    let differ = |(name, def): &(&FunName, &Def)| !read.program.defs.get(*name).is_some_and(|d| alpha::defs(def, d));
    match p.program().defs.iter().find(differ) {
        Some((_, def)) => Err(format!("reads back as something else: {}", ks::def(def, 80))),
        None => Ok(()),
    }
}

/// Programs in which each function has its own derivation.
fn derivations_can_be_mixed() {
    let text = |g: &str, f: &str| {
        format!(
            "(def g (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
               (tuple (exp x) (map (lam (y : Float) (sin (mul x (exp y)))) v)))
             (def f Float ((x : Float) (v : Vec Float))
               (sumbuild (size v) (lam (i : Integer)
                 (let ((y w) (g (mul x (index i v)) v)) (if (gt y 1.0) (mul y (sum w)) (ts_dot w w))))))
             (gdef rev g {g}) (gdef rev f {f})"
        )
    };
    let at = || {
        let v = Value::vector([0.3, -0.2, 0.7].map(Value::Float).to_vec());
        [Value::Tuple(vec![Value::Float(0.6), v]), Value::Float(1.5)]
    };
    let reverse = |g: &str, f: &str| {
        with_large_stack(|| {
            let mut p = pipeline(&text(g, f), Derivation::Jacobian);
            let name = FunName::base("f").derived(Derivative::Rev);
            p.require(&name).unwrap_or_else(|error| panic!("{g}, {f}: {error}"));
            Interpreter::new(p.program()).call(&name, &at()).expect("a derivative")
        })
    };
    let wanted = reverse("jacobian", "jacobian");
    for g in ["jacobian", "tupled", "split"] {
        for f in ["jacobian", "tupled", "split"] {
            let apart = distance(&reverse(g, f), &wanted);
            assert!(apart <= CLOSE, "g by {g}, f by {f}: {apart}");
        }
    }
}

/// Halves written by hand replace the record; other derivatives by hand are called unchanged.
fn derivatives_by_hand_are_used() {
    let f = "(def f Float (v : Vec Float)
      (sumbuild (size v) (lam (i : Integer) (if (gt (index i v) 0.0) (g (sin (index i v)) 2.0) 1.0))))
      (def g Float ((x : Float) (k : Float)) (mul k (mul x x)))";
    // Each is wrong on purpose, by a factor of its own.
    let by_hand = [
        (
            "(def [suffwdpass g] (Tuple Float Float) ((x : Float) (k : Float)) (tuple (mul k (mul x x)) x))
          (def [sufrevpass g] (Tuple Float Float) ((dr : Float) (r : Float)) (tuple (mul 6.0 (mul r dr)) 0.0))",
            6.0,
        ),
        (
            "(def [rev g] (Tuple Float Float) ((s : Tuple Float Float) (dr : Float))
            (tuple (mul 5.0 (mul (get$1$2 s) dr)) 0.0))",
            5.0,
        ),
        (
            "(def [D g] (LM (Tuple Float Float) Float) ((x : Float) (k : Float))
            (lmHCat (lmScale x (mul 7.0 x)) (lmScale x 0.0)))",
            7.0,
        ),
    ];
    for (written, factor) in by_hand {
        for derivation in RECORDED {
            let mut p = pipeline(&format!("{f}\n{written}"), derivation);
            let name = FunName::base("f").derived(Derivative::Rev);
            with_large_stack(|| p.require(&name).unwrap_or_else(|error| panic!("{error}")));
            let v = Value::vector([0.3, -0.2, 0.7].map(Value::Float).to_vec());
            let found = Interpreter::new(p.program()).call(&name, &[v, Value::Float(1.0)]).expect("a derivative");
            let at = |x: f64| if x > 0.0 { factor * x.sin() * x.cos() } else { 0.0 };
            let wanted = Value::vector([0.3, -0.2, 0.7].map(|x| Value::Float(at(x))).to_vec());
            assert!(distance(&found, &wanted) <= CLOSE, "by {}: {found} for {wanted}\n{written}", derivation.name());
        }
    }
}

/// Programs with folds, at whose forward derivatives it is worth looking.
const FOLDS: [&str; 5] =
    ["more_folds", "nested_folds", "scanl_of_vectors", "state_that_changes_its_shape", "calls_in_loops"];

/// `[rev [fwd f]]`: the loops of forward derivatives of folds record, too, and compute nothing twice.
fn derivatives_of_forward_derivatives_agree(name: &str) -> Outcome {
    let text = files::text(&files::path(&format!("tests/cases/gradcheck/{name}.ks")));
    let functions = worth_checking(&pipeline(&text, Derivation::Jacobian));
    let forward: Vec<FunName> = functions.iter().map(|f| f.derived(Derivative::Fwd)).collect();
    let ways = Ways::new(&text, |_| forward.clone())?;
    let (mut random, mut points) = (Random::new(1), 0);
    for f in forward.iter().flat_map(|f| std::iter::repeat_n(f, 6)) {
        let whole = random.point(&ways.jacobian.program().defs[f].fun.argument());
        points += usize::from(ways.agree_at(f, &whole, &mut random)?);
    }
    if points > 10 { Ok(()) } else { Err(format!("only {points} points")) }
}
