//! Native code on arrays against the interpreter: values to the bit, errors with their numbers and places; with default
//! options, in lanes and with fast arithmetic, values to a tolerance, and errors where there are some.
//!
//! Each program is called at every level of optimisation, on random arguments whose tensors have sizes that loops get
//! wrong: 0, 1, 2, a prime.

use lm::interp::{Interpreter, RuntimeError};
use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE_FAST, Random, distance, same_bits};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Math, SourceInfo};
use std::sync::Arc;

/// A program with its function `f`, and its derivatives where it has any.
struct Case {
    pipeline: Pipeline,
    info: SourceInfo,
    entries: Vec<FunName>,
}

impl Case {
    fn new(text: &str, derivatives: &[Derivative]) -> Case {
        let source = Source::new("case.ks", text);
        let checked = front::load(&source).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        pipeline.require(&f()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut entries = vec![f()];
        let fun = &pipeline.program().defs[&f()].fun;
        if fun.argument().is_differentiable() && fun.result.is_differentiable() {
            let derived = derivatives.iter().map(|derivative| f().derived(derivative.clone()));
            entries.extend(derived.filter(|name| pipeline.require(name).is_ok()));
        }
        Case { pipeline, info: SourceInfo::new("case.ks", text), entries }
    }

    fn jit(&self, opt_level: u8) -> Jit {
        self.compiled(native::Options { opt_level, ..native::Options::exact() })
    }

    fn compiled(&self, options: native::Options) -> Jit {
        let jit = Jit::new(self.pipeline.program(), &self.entries, &self.info, &options);
        jit.unwrap_or_else(|error| panic!("{error}"))
    }

    fn interpreted(&self, name: &FunName, args: &[Value]) -> (Result<Value, RuntimeError>, Vec<u8>) {
        let mut text = Vec::new();
        let result = Interpreter::with_output(self.pipeline.program(), &mut text).call(name, args);
        (result, text)
    }

    fn params(&self) -> Vec<Type> {
        self.pipeline.program().defs[&f()].fun.params.clone()
    }
}

fn f() -> FunName {
    FunName::base("f")
}

/// Compares a call; gives its value.
fn agree(case: &Case, jits: &[Jit], name: &FunName, args: &[Value]) -> Option<Value> {
    let (wanted, text) = case.interpreted(name, args);
    for (i, jit) in jits.iter().enumerate() {
        let mut found_text = Vec::new();
        let found = jit.call_with_output(name, args, &mut found_text);
        let same = match (&wanted, &found) {
            (Ok(wanted), Ok(found)) if jit.math() == Math::Fast => distance(wanted, found) <= NATIVE_FAST,
            (Ok(wanted), Ok(found)) => same_bits(wanted, found),
            (Err(_), Err(_)) if jit.math() == Math::Fast => true,
            (wanted, found) => wanted == found,
        };
        let loops = jit.module().loops();
        assert!(same, "{name} by jit {i} {args:?}:\ninterpreted {wanted:?}\nnative      {found:?}\n{loops}");
        assert_eq!(String::from_utf8_lossy(&text), String::from_utf8_lossy(&found_text), "{name} by jit {i} {args:?}");
    }
    wanted.ok()
}

/// Compares a call of the function, and calls of its derivatives at the same point.
fn agree_with_derivatives(case: &Case, jits: &[Jit], args: &[Value], random: &mut Random) {
    let Some(y) = agree(case, jits, &f(), args) else { return };
    let point = if let [one] = args { one.clone() } else { Value::Tuple(args.to_vec()) };
    for name in case.entries[1..].iter().filter(|name| jits[0].module().entry(name).is_some()) {
        let at = if *name == f().derived(Derivative::Fwd) { &point } else { &y };
        let direction = random.direction(at);
        agree(case, jits, name, &[point.clone(), direction]);
    }
}

/// Random values whose tensors have sizes from a list.
struct Sized {
    random: SplitMix,
    sizes: Vec<usize>,
}

impl Sized {
    fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Float => Value::Float((self.random.draw() % 17) as f64 / 4.1 - 1.9),
            Type::Integer => Value::Integer((self.random.draw() % 6) as i64 - 1),
            Type::Bool => Value::Bool(self.random.draw().is_multiple_of(2)),
            Type::String => Value::String("text".into()),
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(|t| self.value(t)).collect()),
            Type::Tensor(rank, element) => {
                let size: Vec<usize> = (0..*rank).map(|_| self.size()).collect();
                let count = size.iter().product();
                let elements = (0..count).map(|_| self.value(element)).collect();
                Value::Tensor(Arc::new(Tensor::new(size, elements)))
            }
            other => panic!("no random {other}"),
        }
    }

    fn size(&mut self) -> usize {
        self.sizes[self.random.draw() as usize % self.sizes.len()]
    }
}

fn check(texts: &[&str]) {
    texts.iter().for_each(|text| with_large_stack(|| check_one(text)));
}

fn check_one(text: &str) {
    let case = Case::new(text, &[Derivative::Fwd, Derivative::Rev]);
    let mut jits: Vec<Jit> = (0..=3).map(|level| case.jit(level)).collect();
    jits.push(case.compiled(native::Options::default()));
    let params = case.params();
    for (seed, sizes) in [vec![0], vec![1], vec![2], vec![7], vec![0, 1, 2, 3, 5], vec![3, 4]].into_iter().enumerate() {
        let mut random = Sized { random: SplitMix::new(seed as u64), sizes };
        for _ in 0..6 {
            let args: Vec<Value> = params.iter().map(|ty| random.value(ty)).collect();
            agree_with_derivatives(&case, &jits, &args, &mut Random::new(seed as u64));
        }
    }
}

#[test]
fn scalars_in_vectors() {
    check(&[
        "(def f Float (v : Vec Float) (sum v))",
        "(def f Integer (v : Vec Integer) (sum v))",
        "(def f (Vec Float) (v : Vec Float) (build (size v) (lam (i : Integer) (mul 2.0 (index i v)))))",
        "(def f Float ((v : Vec Float) (i : Integer)) (index i v))",
        "(def f (Vec Integer) (n : Integer) (build n (lam (i : Integer) (mul i i))))",
        "(def f Float (n : Integer) (sumbuild n (lam (i : Integer) (to_float i))))",
        "(def f Float (v : Vec Float) (fold (lam (t : Tuple Float Float) \
         (sub (mul 0.5 (get$1$2 t)) (get$2$2 t))) 1.0 v))",
        "(def f (Vec Float) (v : Vec Float) (scanl (lam (t : Tuple Float Float) (sub (get$1$2 t) (get$2$2 t))) 1.0 v))",
        "(def f (Vec Float) (v : Vec Float) (scanr (lam (t : Tuple Float Float) (sub (get$1$2 t) (get$2$2 t))) 1.0 v))",
        "(def f Float ((v : Vec Float) (w : Vec Float)) (ts_dot v w))",
        "(def f (Vec Bool) ((v : Vec Bool) (w : Vec Bool)) (map2 (lam (t : Tuple Bool Bool) \
         (and (get$1$2 t) (get$2$2 t))) v w))",
        "(def f (Tuple Integer Float) (v : Vec Float) (tuple (imax v) (max v)))",
        "(def f (Vec Float) (x : Float) (Vec_init x 1.0 (mul x x)))",
        "(def f (Vec Float) ((n : Integer) (i : Integer) (x : Float)) (deltaVec n i x))",
        "(def f (Vec Float) (v : Vec Float) (shift1L (shift1R v)))",
        "(def f Bool ((v : Vec Float) (w : Vec Float)) (eq v w))",
        "(def f Bool (v : Vec Float) (ne v (map (lam (x : Float) x) v)))",
    ]);
}

#[test]
fn tensors_of_higher_rank() {
    check(&[
        "(def f (Tensor 2 Float) (m : Tensor 2 Float) (map (lam (x : Float) (mul x x)) m))",
        "(def f (Tensor 2 Float) (m : Tensor 2 Float)
           (build (tuple (get$2$2 (size m)) (get$1$2 (size m)))
                  (lam (i : Tuple Integer Integer) (index (tuple (get$2$2 i) (get$1$2 i)) m))))",
        "(def f Float (m : Tensor 3 Float) (sum m))",
        "(def f Float ((m : Tensor 3 Float) (i : Tuple Integer Integer Integer)) (index i m))",
        "(def f (Vec Float) ((m : Tensor 2 Float) (v : Vec Float)) (mul m v))",
        "(def f (Tuple Integer Integer) (m : Tensor 2 Float) (size m))",
        "(def f (Tensor 3 Integer) (n : Tuple Integer Integer Integer)
           (build n (lam (i : Tuple Integer Integer Integer) (add (get$1$3 i) (mul 10 (get$3$3 i))))))",
        "(def f Float (n : Tuple Integer Integer)
           (sumbuild n (lam (i : Tuple Integer Integer) (to_float (add (get$1$2 i) (mul 10 (get$2$2 i)))))))",
        "(def f (Tensor 2 Float) ((m : Tensor 2 Float) (k : Tensor 2 Float)) (ts_add m (ts_scale 2.0 k)))",
        "(def f Integer (m : Tensor 3 Float) (print m (size m)))",
    ]);
}

#[test]
fn tuples_and_tensors_in_tensors() {
    check(&[
        "(def f (Vec (Tuple Float Integer Bool)) (v : Vec (Tuple Float Integer Bool)) v)",
        "(def f (Tuple (Vec Float) (Vec (Tuple Integer Bool))) (v : Vec (Tuple Float (Tuple Integer Bool))) (unzip v))",
        "(def f (Vec (Tuple Float Float)) (v : Vec (Tuple Float Float))
           (map (lam (t : Tuple Float Float) (tuple (get$2$2 t) (get$1$2 t))) v))",
        "(def f (Vec (Vec Float)) (v : Vec (Vec Float)) (map (lam (r : Vec Float) (ts_scale 2.0 r)) v))",
        "(def f (Vec (Vec Float)) (v : Vec (Vec Float)) (build (size v) \
         (lam (i : Integer) (index (sub (sub (size v) 1) i) v))))",
        "(def f (Vec Float) (v : Vec (Vec Float)) (map (lam (r : Vec Float) (sum r)) v))",
        "(def f (Vec Integer) (v : Vec (Vec Float)) (shape v))",
        "(def f Float (v : Vec (Vec Float)) (ts_dot v v))",
        "(def f Bool ((v : Vec (Vec Float)) (w : Vec (Vec Float))) (or (eq v w) (ne v v)))",
        "(def f (Vec (Vec (Vec Float))) (v : Vec (Vec (Vec Float))) (ts_add v v))",
        "(def f (Vec (Tensor 2 (Tuple Float (Vec Integer)))) (v : Vec (Tensor 2 (Tuple Float (Vec Integer)))) v)",
        "(def f (Vec (Vec Float)) (n : Integer) (build n (lam (i : Integer) \
         (build i (lam (j : Integer) (to_float (mul i j)))))))",
        "(def f (Vec (Vec Float)) ((n : Integer) (v : Vec Float)) (constVec n v))",
        "(def f (Vec Float) ((v : Vec Float) (x : Float)) (ts_add (index 1 (constVec 3 v)) \
         (index 0 (ts_add (constVec 2 v) (constVec 2 v)))))",
        "(def f Integer (v : Vec (Tuple Float (Vec Bool))) (print v \" and \" (tuple v 1)))",
        "(def f (Vec Integer) (v : Vec Integer) (sub v (ts_scale 3.0 v)))",
        "(def f (Vec (Vec Float)) (v : Vec (Vec Float)) (scanl (lam (t : Tuple (Vec Float) (Vec Float)) (get$2$2 t)) \
         (Vec_init 1.0) v))",
        "(def f (Vec (Tuple)) (v : Vec Integer) (map (lam (i : Integer) (tuple)) v))",
    ]);
}

#[test]
fn sums_into_destinations() {
    check(&[
        "(def f (Vec Float) ((v : Vec Float) (n : Integer)) (sumbuild n \
         (lam (i : Integer) (ts_scale (to_float i) v))))",
        "(def f (Vec Float) ((v : Vec Float) (n : Integer))
           (add v (sumbuild n (lam (i : Integer) (deltaVec (size v) i (sumbuild i (lam (j : Integer) 0.1)))))))",
        "(def f (Vec Float) (v : Vec (Vec Float)) (sum v))",
        "(def f (Tuple Float (Vec Float)) (v : Vec (Tuple Float (Vec Float))) (sum v))",
        "(def f (Vec Float) ((v : Vec Float) (w : Vec Float) (c : Bool)) (add v (if c (add w v) w)))",
        "(def f (Tuple Float (Vec Float)) ((v : Vec Float) (x : Float) (c : Bool))
           (ts_add (tuple x v) (if c (ts_add (tuple 0.1 v) (tuple 0.2 v)) (tuple 0.3 (ts_add v v)))))",
        "(def f (Vec (Tuple Float (Vec Float))) ((v : Vec (Tuple Float (Vec Float))) \
         (w : Vec (Tuple Float (Vec Float))))
           (add v (ts_add (ts_scale 2.0 v) (ts_neg w))))",
        "(def g (Vec Float) ((v : Vec Float) (n : Integer)) (ts_add (deltaVec (size v) n 1.0) \
         (ts_scale (to_float n) v)))
         (def f (Vec Float) ((v : Vec Float) (n : Integer)) (sumbuild n (lam (i : Integer) (g v i))))",
        "(def f Float ((n : Integer) (m : Integer))
           (sumbuild n (lam (i : Integer) (sumbuild m (lam (j : Integer) (div 0.1 (to_float (add 1 (add i j)))))))))",
        "(def f Float (n : Integer) (sumbuild n (lam (i : Integer) (if (gt i 1) (neg 0.0) (neg 0.0)))))",
        "(def f (Tuple Float Integer) (n : Integer) (sumbuild n (lam (i : Integer) (tuple 0.1 i))))",
        "(def f (Vec Float) ((n : Integer) (v : Vec (Tuple Integer Float))) \
         (buildFromSparse n (size v) (lam (i : Integer) (index i v))))",
        "(def f (Tuple (Vec Float) (Vec Float)) (v : Vec (Tuple Integer Float))
           (buildFromSparseTupled (tuple 4 5) (size v) (lam (i : Integer) (tuple (index i v) (index i v)))))",
    ]);
}

/// A binding whose parts go to different places, in one branch only.
#[test]
fn sums_that_a_condition_directs() {
    check(&[
        "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (n : Integer))
           ($loop n (lam (t : Tuple Integer (Vec Float))
                      (let ((i s) t)
                        (let (c (gt i 1))
                          (let (p (tuple (ts_scale 2.0 s) (ts_scale 3.0 s)))
                            (if c p (tuple s (ts_scale 0.5 v)))))))
                  v v))",
        "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (n : Integer))
           ($loop n (lam (t : Tuple Integer (Vec Float))
                      (let ((i s) t)
                        (let (c (gt i 1))
                          (let (p (tuple (ts_scale 2.0 s) (ts_scale 3.0 s)))
                            (if c (tuple s (ts_scale 0.5 v)) p)))))
                  v v))",
        "(def f (Vec Float) ((v : Vec Float) (n : Integer) (i : Integer) (c : Bool))
           (add v (sumbuild v n (lam (k : Integer)
             (let (a (ts_scale 2.0 v))
               (let (b (add a v))
                 (if c b (add v a))))))))",
        // The size is checked in one branch only.
        "(def f (Vec Integer) ((n : Integer) (c : Bool))
           (let (k (if c (size (build n (lam (i : Integer) i))) 1))
             (build n (lam (i : Integer) k))))",
    ]);
}

#[test]
fn sums_of_one_thing_twice() {
    check(&[
        "(def f (Vec Float) ((v : Vec Float) (w : Vec Float)) (sub (add v w) (add (add w v) v)))",
        "(def id (Vec Float) (v : Vec Float) v)
         (def f (Tuple (Vec Float) (Vec Float)) (v : Vec Float) (tuple (ts_add (id v) v) (id v)))",
    ]);
}

#[test]
fn states_and_calls() {
    check(&[
        "(def f (Vec Float) ((v : Vec Float) (w : Vec Float)) (fold (lam (t : Tuple (Vec Float) Float) \
         (ts_scale (get$2$2 t) (get$1$2 t))) v w))",
        "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (w : Vec Float))
           (fold (lam (t : Tuple (Tuple (Vec Float) (Vec Float)) Float)
                   (let ((a b) (get$1$2 t)) (tuple b (ts_scale (get$2$2 t) a)))) (tuple v w) w))",
        "(def f (Vec (Vec Float)) ((v : Vec (Vec Float)) (w : Vec Float))
           (fold (lam (t : Tuple (Vec (Vec Float)) Float)
                   (build (size (get$1$2 t)) (lam (i : Integer)
                      (if (eq i 0) (index i (get$1$2 t)) (ts_scale (get$2$2 t) (index i (get$1$2 t))))))) v w))",
        "(def twice (Vec Float) (v : Vec Float) (ts_add v v))
         (def f (Vec Float) (v : Vec Float) (twice (twice v)))",
        "(def grow (Vec Float) ((v : Vec Float) (n : Integer))
           (if (lte n 0) v (grow (build (add (size v) 1) (lam (i : Integer) \
           (if (lt i (size v)) (index i v) (to_float n)))) (sub n 1))))
         (def f (Vec Float) (v : Vec Float) (grow v 6))",
        "(def rows (Vec (Vec Float)) ((v : Vec Float) (n : Integer))
           (if (lte n 0) (constVec 2 v) (let (r (rows (ts_add v v) (sub n 1))) \
           (map (lam (x : Vec Float) (ts_add x (index 0 r))) r))))
         (def f (Vec (Vec Float)) (v : Vec Float) (rows v 3))",
        "(def f (Tuple (Vec Float) (Vec (Tuple Float Integer))) (v : Vec Float)
           (let ((a (map (lam (x : Float) (mul x x)) v))
                 (b (map (lam (x : Float) (tuple (sum a) 1)) a))
                 (c (map (lam (x : Float) (add x 1.0)) a)))
             (tuple c b)))",
        "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (c : Bool))
           (let (a (map (lam (x : Float) (mul x x)) v))
             (if c (tuple a v) (let (b (map (lam (x : Float) (add x x)) a)) (tuple b a)))))",
    ]);
}

/// Work that does not change is done each time all the same.
#[test]
fn a_measured_time_is_that_of_the_work() {
    let text = "(def sines Float (v : Vec Float) (sumbuild (size v) (lam (i : Integer) (sin (index i v)))))
      (def f (Tuple Float Float) ((v : Vec Float) (w : Vec Float))
        (tuple ($BENCH (lam (_ : (Tuple)) (sines v)))
               ($BENCH (lam (_ : (Tuple)) (build (size w) (lam (i : Integer) (sin (index i w))))))))";
    let case = Case::new(text, &[]);
    let vector = |n| Value::vector((0..n).map(|i| Value::Float(f64::from(i))).collect());
    for level in [0, 3] {
        let jit = case.jit(level);
        let seconds = |n| jit.call(&f(), &[vector(n), vector(n)]).expect("it runs").floats();
        // The machine may be busy: each is the least of some.
        let (mut few, mut many) = (vec![f64::INFINITY; 2], vec![f64::INFINITY; 2]);
        for _ in 0..10 {
            for (least, n) in [(&mut few, 1_000), (&mut many, 100_000)] {
                least.iter_mut().zip(seconds(n)).for_each(|(least, seconds)| *least = least.min(seconds));
            }
        }
        for (few, many) in few.into_iter().zip(many) {
            assert!(few > 0.0 && many > 20.0 * few, "{few} s, then {many} s at level {level}");
        }
        assert!(jit.peak() < 900_000, "each time takes memory anew");
    }
}
