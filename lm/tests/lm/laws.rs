//! Every law holds: on random well-typed instances of small integers, where float arithmetic is
//! exact, both sides have equal values. Every law fires.

use lm::interp::{Env, Interpreter};
use lm::law::{self, Context, Law};
use lm::map;
use lm::prim::Prim;
use lm::random::SplitMix;
use lm::runtime_error::RuntimeError;
use lm::term::{Binding, Constant, Expr, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;

/// SplitMix64: small, seeded, the same everywhere.
struct Random(SplitMix, Supply);

fn seeded(seed: u64) -> Random {
    Random(SplitMix::new(seed), Supply::default())
}

/// One way to make a map from one space to another, to a depth.
type Choice = fn(&mut Random, &Type, &Type, usize) -> Expr;

impl Random {
    fn next(&mut self) -> u64 {
        self.0.draw()
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn small(&mut self) -> i64 {
        self.below(9) as i64 - 4
    }

    /// A type whose tangent is itself, so that every operator is defined on it.
    fn ty(&mut self, depth: usize) -> Type {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 | 1 => Type::Float,
            2 => Type::tuple((0..1 + self.below(3)).map(|_| self.ty(depth - 1)).collect::<Vec<_>>()),
            _ => Type::vec(self.ty(depth - 1)),
        }
    }

    /// A closed term of the type; every tensor has two elements, so that sizes agree.
    fn term(&mut self, ty: &Type, depth: usize) -> Expr {
        match ty {
            Type::Float => Expr::float(self.small() as f64),
            Type::Integer => Expr::integer(self.below(2) as i64),
            Type::Bool => Expr::constant(Constant::Bool(self.below(2) == 0)),
            Type::String => Expr::constant(Constant::String("s".into())),
            Type::Tuple(parts) => Expr::tuple(parts.iter().map(|t| self.term(t, depth)).collect::<Vec<_>>()),
            Type::Tensor(_, element) => self.vector(element, depth),
            Type::Lam(s, t) => {
                let i = self.1.fresh("i", (**s).clone());
                Expr::lam(i, self.term(t, depth))
            }
            Type::LM(s, t) => self.map(s, t, depth),
            Type::Record(_) => panic!("no law is about records"),
        }
    }

    /// `build(2, λi. e)`, with e drawn once, so that it does not depend on i.
    fn constant(&mut self, e: Expr) -> Expr {
        let i = self.1.fresh("i", Type::Integer);
        Expr::prim(Prim::Build, [Expr::integer(2), Expr::lam(i, e)])
    }

    fn vector(&mut self, element: &Type, depth: usize) -> Expr {
        let i = self.1.fresh("i", Type::Integer);
        let (a, b) = (self.term(element, depth), self.term(element, depth));
        let first = Expr::prim(Prim::Eq, [Expr::var(&i), Expr::integer(0)]);
        Expr::prim(Prim::Build, [Expr::integer(2), Expr::lam(i, Expr::conditional(first, a, b))])
    }

    fn map(&mut self, s: &Type, t: &Type, depth: usize) -> Expr {
        let mut choices: Vec<Choice> = vec![|r, s, t, _| Expr::prim(Prim::LmZero, [r.term(s, 0), r.term(t, 0)])];
        if s == t {
            choices.push(|r, s, _, _| Expr::prim(Prim::LmOne, [r.term(s, 0)]));
            choices.push(|r, s, _, _| Expr::prim(Prim::LmScale, [r.term(s, 0), Expr::float(r.small() as f64)]));
        }
        if *s == Type::Float {
            choices.push(|r, _, t, _| Expr::prim(Prim::LmScaleR, [r.term(t, 0)]));
        }
        if *t == Type::Float {
            choices.push(|r, s, _, _| Expr::prim(Prim::LmDot, [r.term(s, 0)]));
        }
        if depth > 0 {
            choices.push(|r, s, t, d| {
                let middle = r.ty(1);
                Expr::prim(Prim::LmCompose, [r.map(&middle, t, d - 1), r.map(s, &middle, d - 1)])
            });
            choices.push(|r, s, t, d| Expr::prim(Prim::LmAdd, [r.map(s, t, d - 1), r.map(s, t, d - 1)]));
            choices.push(|r, s, t, d| Expr::prim(Prim::LmTranspose, [r.map(t, s, d - 1)]));
            if t.as_tuple().is_some_and(|parts| !parts.is_empty()) {
                choices.push(|r, s, t, d| {
                    let parts = t.as_tuple().expect("checked").to_vec();
                    Expr::prim(Prim::LmVCat, parts.iter().map(|t| r.map(s, t, d - 1)).collect::<Vec<_>>())
                });
            }
            if s.as_tuple().is_some_and(|parts| !parts.is_empty()) {
                choices.push(|r, s, t, d| {
                    let parts = s.as_tuple().expect("checked").to_vec();
                    Expr::prim(Prim::LmHCat, parts.iter().map(|s| r.map(s, t, d - 1)).collect::<Vec<_>>())
                });
            }
        }
        let pick = self.below(choices.len());
        choices[pick](self, s, t, depth)
    }
}

/// The value of a closed term, which has one.
fn meaning(e: &Expr, random: &Random) -> Value {
    meaning_or_error(e, random).unwrap_or_else(|error| panic!("{error}: {e:?}"))
}

/// The value of a closed term. The value of a map is what it does to two vectors.
fn meaning_or_error(e: &Expr, random: &Random) -> Result<Value, RuntimeError> {
    let program = Program::default();
    let mut interpreter = Interpreter::new(&program);
    let value = interpreter.eval(e, &mut Env::default())?;
    let mut probes = Random(random.0.clone(), Supply::default());
    let observed = match (&value, e.ty()) {
        (Value::Map(m), Type::LM(s, _)) => (0..2)
            .map(|_| {
                let x = probe(&mut interpreter, &mut probes, s);
                map::apply(&mut interpreter, m, &x).expect("maps are total")
            })
            .collect(),
        _ => vec![value],
    };
    let observed = observed.into_iter().map(|v| sampled(&mut interpreter, v)).collect();
    Ok(Value::Tuple(observed))
}

/// A random tangent; of a family over the Integers, one of finite support.
fn probe(interpreter: &mut Interpreter, random: &mut Random, s: &Type) -> Value {
    match s {
        Type::Lam(_, t) => Value::Support((0..3).map(|_| probe(interpreter, random, t)).collect()),
        s => interpreter.eval(&random.term(&s.tangent(), 0), &mut Env::default()).expect("constants do not fail"),
    }
}

/// A function as its values at 0, 1 and 2; zeros of one sign, since the laws say nothing of signs.
fn sampled(interpreter: &mut Interpreter, v: Value) -> Value {
    let mut all = |vs: Vec<Value>| vs.into_iter().map(|v| sampled(interpreter, v)).collect();
    match v {
        Value::Float(x) => Value::Float(x + 0.0),
        Value::Tuple(vs) => Value::Tuple(all(vs)),
        Value::Tensor(t) => Value::Tensor(t.with(all(t.elements().to_vec())).into()),
        Value::Support(vs) => Value::vector(all(vs)),
        Value::Function(f) => {
            let values: Vec<Value> =
                (0..3).map(|i| interpreter.apply_closure(&f, Value::Integer(i)).expect("families are total")).collect();
            Value::vector(values.into_iter().map(|v| sampled(interpreter, v)).collect())
        }
        other => other,
    }
}

/// Metavariables named alike are drawn alike: maps that a law copies must be free to copy.
fn draw(law: &Law, random: &mut Random, name: &str, ty: &Type) -> Expr {
    match (name, ty) {
        ("s" | "t", _) => random.term(ty, 0),
        // Of the laws of arrays: sizes, and indices in range or not.
        ("n" | "m", Type::Integer) => Expr::integer(random.below(4) as i64),
        ("k" | "l", Type::Integer) => Expr::integer(random.below(5) as i64 - 1),
        (_, Type::LM(s, t)) if law.copied_maps().contains(&name) => random.map(s, t, 0),
        _ => random.term(ty, 2),
    }
}

fn check_instance(law: &Law, lhs: &Expr, random: &Random) -> bool {
    let (mut supply, mut floats) = (random.1.clone(), Vec::<Binding>::new());
    let cx = Context { at_any_cost: true, ..Context::default() };
    let Some(rhs) = law.rewrite_among(lhs, &mut supply, &mut floats, &cx) else {
        return false;
    };
    let rhs = Expr::block(floats, rhs);
    let left = match meaning_or_error(lhs, random) {
        Ok(left) => left,
        // Of what has no value, a law of arrays may say anything.
        Err(_) if law.is_of_arrays() => return false,
        Err(error) => panic!("{error}: {lhs:?}"),
    };
    assert_eq!(left, meaning(&rhs, random), "law {} `{}` fails\n  on {lhs:?}\n  giving {rhs:?}", law.name, law.text);
    true
}

#[test]
fn every_law_holds_and_fires() {
    let mut never = Vec::new();
    // The derivatives of primitives are no identities of small integers: see `primitives.rs`.
    for law in law::all().values().filter(|law| !law.name.starts_with("jacobian-")) {
        let mut fired = 0;
        for seed in 0..400 {
            let mut random = seeded(seed * 7919);
            let count = 1 + random.below(3);
            let mut types = seeded(seed);
            let deep = |r: &mut Random| if seed % 3 == 0 { Type::Float } else { r.ty(2) };
            let mut supply = Supply::default();
            let mut term = |_: &mut Supply, name: &str, ty: &Type| draw(law, &mut random, name, ty);
            let lhs = law::instance::instance(law, count, &mut || deep(&mut types), &mut term, &mut supply);
            let Some(lhs) = lhs else { break };
            fired += usize::from(check_instance(law, &lhs, &random));
        }
        if fired == 0 && !native_instances(law) {
            never.push(law.name.clone());
        }
    }
    assert!(never.is_empty(), "laws that never fired: {never:?}");
}

/// Instances of the laws that are no patterns.
fn native_instances(law: &Law) -> bool {
    let mut fired = 0;
    for seed in 0..200 {
        let mut r = seeded(seed);
        let lhs = native_instance(&law.name, &mut r);
        fired += usize::from(lhs.is_some_and(|lhs| check_native(law, &lhs, &r)));
    }
    fired > 0
}

/// Does the same as `check_instance`, with small values for the free variables of the instance.
fn check_native(law: &Law, lhs: &Expr, random: &Random) -> bool {
    let (mut supply, mut floats) = (Supply::default(), Vec::new());
    let cx = Context { at_any_cost: true, ..Context::default() };
    let Some(rhs) = law.rewrite_among(lhs, &mut supply, &mut floats, &cx) else {
        return false;
    };
    let close = |e: &Expr| {
        let mut free = Vec::new();
        variables(e, &mut free);
        free.sort_by_key(Var::id);
        let bind =
            |x: Var| Binding { rhs: seeded(u64::from(x.id())).term(x.ty(), 1), pattern: lm::term::Pattern::Var(x) };
        Expr::block(free.into_iter().map(bind).collect(), e.clone())
    };
    assert_eq!(meaning(&close(lhs), random), meaning(&close(&rhs), random), "law {} `{}`", law.name, law.text);
    true
}

fn variables(e: &Expr, out: &mut Vec<Var>) {
    match e.kind() {
        lm::term::Kind::Var(x) if !out.contains(x) => out.push(x.clone()),
        lm::term::Kind::App(_, args) => args.iter().for_each(|a| variables(a, out)),
        _ => {}
    }
}

/// A loop with a step that is linear in its state.
fn linear_loop(r: &mut Random, supply: &mut Supply) -> Expr {
    let [i, x, y] = [("i", Type::Integer), ("x", Type::Float), ("y", Type::Float)].map(|(n, ty)| supply.fresh(n, ty));
    let state = Type::tuple([Type::Integer, Type::Float]);
    let p = supply.fresh("p", state);
    let apart = Binding { pattern: Pattern::Tuple(vec![i.clone(), x.clone()]), rhs: Expr::var(&p) };
    let named = Binding { pattern: Pattern::Var(y.clone()), rhs: linear_in(r, &x, &i, 2) };
    let step = Expr::prim(Prim::Add, [Expr::var(&y), linear_in(r, &y, &i, 2)]);
    let body = Expr::block(vec![apart, named], Expr::tuple([step, Expr::tuple([])]));
    let unit = Expr::tuple([]);
    Expr::prim(Prim::Loop, [Expr::integer(r.below(4) as i64), Expr::lam(p, body), r.term(&Type::Float, 0), unit])
}

/// A term that is linear in x, and depends on the index.
fn linear_in(r: &mut Random, x: &Var, i: &Var, depth: usize) -> Expr {
    let k = Expr::prim(Prim::Add, [Expr::prim(Prim::ToFloat, [Expr::var(i)]), r.term(&Type::Float, 0)]);
    if depth == 0 {
        return Expr::var(x);
    }
    let e = linear_in(r, x, i, depth - 1);
    match r.below(8) {
        0 => Expr::prim(Prim::Add, [e, k]),
        1 => Expr::prim(Prim::Add, [k, e]),
        2 => Expr::prim(Prim::Sub, [e, k]),
        3 => Expr::prim(Prim::Sub, [k, e]),
        4 => Expr::prim(Prim::Mul, [k, e]),
        5 => Expr::prim(Prim::Neg, [e]),
        6 => Expr::prim(Prim::Sub, [e, linear_in(r, x, i, depth - 1)]),
        _ => {
            let first = Expr::prim(Prim::Eq, [Expr::var(i), Expr::integer(0)]);
            Expr::conditional(first, e, linear_in(r, x, i, depth - 1))
        }
    }
}

fn native_instance(name: &str, r: &mut Random) -> Option<Expr> {
    let n = 1 + r.below(3);
    let i = 1 + r.below(n);
    let types: Vec<Type> = (0..n).map(|_| r.ty(1)).collect();
    let s = Type::tuple(types.clone());
    let get = Expr::app(Op::LmGet(i, n), vec![r.term(&s, 0)]);
    let mut supply = Supply::default();
    let x = supply.fresh("x", s.clone());
    Some(match name {
        "apply-get" => Expr::prim(Prim::LmApply, [get, r.term(&s, 0)]),
        "reverse-get" => Expr::prim(Prim::LmApplyR, [r.term(&types[i - 1], 0), get]),
        "get-vcat" => {
            let ms: Vec<Expr> = types.iter().map(|t| r.map(&Type::Float, t, 1)).collect();
            Expr::prim(Prim::LmCompose, [get, Expr::prim(Prim::LmVCat, ms)])
        }
        "one-rows" => Expr::prim(Prim::LmOne, [r.term(&s, 0)]),
        "scale-rows" => Expr::prim(Prim::LmScale, [r.term(&s, 0), Expr::float(r.small() as f64)]),
        "zero-rows" => Expr::prim(Prim::LmZero, [r.term(&types[0], 0), r.term(&s, 0)]),
        "zero-columns" => Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&Type::Float, 0)]),
        "get-columns" => get,
        "exchange" => {
            let t = Type::tuple((0..1 + r.below(3)).map(|_| r.ty(1)).collect::<Vec<_>>());
            let parts = t.as_tuple().expect("a tuple").to_vec();
            let column = |r: &mut Random, s: &Type| {
                Expr::prim(Prim::LmVCat, parts.iter().map(|t| r.map(s, t, 1)).collect::<Vec<_>>())
            };
            Expr::prim(Prim::LmHCat, types.iter().map(|s| column(r, s)).collect::<Vec<_>>())
        }
        "rows-compose" => {
            let rows: Vec<Expr> = types.iter().map(|t| r.map(&Type::Float, t, 1)).collect();
            Expr::prim(Prim::LmCompose, [Expr::prim(Prim::LmVCat, rows), r.map(&s, &Type::Float, 2)])
        }
        "compose-columns" => {
            let columns: Vec<Expr> = types.iter().map(|t| r.map(t, &Type::Float, 1)).collect();
            Expr::prim(Prim::LmCompose, [r.map(&Type::Float, &s, 2), Expr::prim(Prim::LmHCat, columns)])
        }
        "transpose-get" => Expr::prim(Prim::LmTranspose, [get]),
        "get-zero" => Expr::app(Op::Get(i, n), vec![Expr::prim(Prim::ZeroOf, [r.term(&s, 0)])]),
        "get-tuple" => Expr::app(Op::Get(i, n), vec![r.term(&s, 0)]),
        "tuple-get" => Expr::tuple((1..=n).map(|j| Expr::get(j, Expr::var(&x))).collect::<Vec<_>>()),
        "vcat-get" => {
            let gets = (1..=n).map(|j| Expr::app(Op::LmGet(j, n), vec![r.term(&s, 0)]));
            Expr::prim(Prim::LmVCat, gets.collect::<Vec<_>>())
        }
        "inject-compose" => {
            let part = |r: &mut Random, j: usize, t: &Type| match j + 1 == i {
                true => r.map(&types[0], t, 1),
                false => Expr::prim(Prim::LmZero, [r.term(&types[0], 0), r.term(t, 0)]),
            };
            let parts: Vec<Expr> = types.iter().enumerate().map(|(j, t)| part(r, j, t)).collect();
            Expr::prim(Prim::LmCompose, [Expr::prim(Prim::LmVCat, parts), r.map(&s, &types[0], 1)])
        }
        "vcatv-zero" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let zero = Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&t, 0)]);
            Expr::prim(Prim::LmVCatV, [r.term(&Type::vec(t), 0), r.constant(zero)])
        }
        "addv-zero" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let zero = Expr::prim(Prim::LmZero, [r.term(&s, 0), r.term(&t, 0)]);
            Expr::prim(Prim::LmAddV, [r.term(&t, 0), r.constant(zero)])
        }
        "index-build" | "index-build-compose" => {
            let (s, t) = (r.ty(1), r.ty(1));
            let w = r.term(&Type::vec(t.clone()), 0);
            let j = supply.fresh("j", Type::Integer);
            // Maps that differ from place to place.
            let m = Expr::conditional(
                Expr::prim(Prim::Eq, [Expr::var(&j), Expr::integer(1)]),
                r.map(&s, &t, 1),
                r.map(&s, &t, 1),
            );
            let maps = Expr::prim(Prim::Build, [Expr::prim(Prim::Size, [w.clone()]), Expr::lam(j, m)]);
            let family = Expr::prim(Prim::LmVCatV, [w.clone(), maps]);
            let family = match name {
                "index-build" => family,
                _ => Expr::prim(Prim::LmCompose, [family, r.map(&Type::Float, &s, 1)]),
            };
            let index = Expr::prim(Prim::LmIndex, [Expr::integer(r.below(2) as i64), w]);
            Expr::prim(Prim::LmCompose, [index, family])
        }
        "sumbuild-zero" => {
            let t = r.ty(1);
            let i = supply.fresh("i", Type::Integer);
            let zero = Expr::lam(i, Expr::prim(Prim::ZeroOf, [r.term(&t, 0)]));
            Expr::prim(Prim::SumBuild, [r.term(&t, 0), Expr::integer(2), zero])
        }
        "sum-one-hot" | "sumbuild-one-hot" => {
            let [i, c] = [("i", Type::Integer), ("c", Type::Bool)].map(|(name, ty)| supply.fresh(name, ty));
            // Out of range, too.
            let k = Expr::integer(r.below(5) as i64 - 1);
            let sides = [Expr::var(&i), k];
            let (x, zero) = (Expr::prim(Prim::ToFloat, [Expr::var(&i)]), Expr::float(0.0));
            let (p, [then, otherwise]) = match r.below(2) {
                0 => (Prim::Eq, [x, zero]),
                _ => (Prim::Ne, [zero, x]),
            };
            let named = Binding { pattern: Pattern::Var(c.clone()), rhs: Expr::prim(p, sides) };
            let f = Expr::lam(i, Expr::block(vec![named], Expr::conditional(Expr::var(&c), then, otherwise)));
            let n = Expr::integer(r.below(4) as i64);
            match name {
                "sum-one-hot" => Expr::prim(Prim::Sum, [Expr::prim(Prim::Build, [n, f])]),
                _ => Expr::prim(Prim::SumBuild, [r.term(&Type::Float, 0), n, f]),
            }
        }
        "eq-of-tuples" => {
            let n = 2 + r.below(2);
            let index =
                |r: &mut Random| Expr::tuple((0..n).map(|_| Expr::integer(r.below(2) as i64)).collect::<Vec<_>>());
            Expr::prim(Prim::Eq, [index(r), index(r)])
        }
        "fold-linear-step" => linear_loop(r, &mut supply),
        "fold-integer" => {
            let (a, b) = (Expr::integer(r.small()), Expr::integer(r.small()));
            match r.below(3) {
                0 => Expr::prim(Prim::Sub, [a, b]),
                1 => Expr::prim(Prim::Eq, [a, b]),
                _ => Expr::prim(Prim::ToFloat, [a]),
            }
        }
        "fold-float" => {
            let (a, b) = (r.term(&Type::Float, 0), r.term(&Type::Float, 0));
            match r.below(3) {
                0 => Expr::prim(Prim::Add, [a, b]),
                1 => Expr::prim(Prim::Mul, [a, b]),
                _ => Expr::prim(Prim::Neg, [a]),
            }
        }
        "collect" => {
            let shared: Vec<Var> = (0..2).map(|_| supply.fresh("m", Type::lm(s.clone(), Type::Float))).collect();
            let term = |r: &mut Random| {
                let p = Expr::var(&shared[r.below(2)]);
                match r.below(3) {
                    0 => p,
                    1 => r.map(&s, &Type::Float, 1),
                    _ => Expr::prim(Prim::LmCompose, [r.map(&Type::Float, &Type::Float, 1), p]),
                }
            };
            let terms: Vec<Expr> = (0..3 + r.below(3)).map(|_| term(r)).collect();
            law::sum(terms)?
        }
        _ => return None,
    })
}
