//! Every law holds: on random well-typed instances of small integers, where float arithmetic is
//! exact, both sides have equal values. Every law fires.

use super::native_instances::native_instance;
use lm::interp::{Env, Interpreter};
use lm::law::{self, Context, Law};
use lm::map;
use lm::prim::Prim;
use lm::random::SplitMix;
use lm::runtime_error::RuntimeError;
use lm::term::{Binding, Constant, Expr, Program, Supply, Var};
use lm::types::Type;
use lm::value::Value;

/// SplitMix64: small, seeded, the same everywhere.
pub(super) struct Random(SplitMix, Supply);

fn seeded(seed: u64) -> Random {
    Random(SplitMix::new(seed), Supply::default())
}

/// One way to make a map from one space to another, to a depth.
type Choice = fn(&mut Random, &Type, &Type, usize) -> Expr;

impl Random {
    fn next(&mut self) -> u64 {
        self.0.draw()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn small(&mut self) -> i64 {
        self.below(9) as i64 - 4
    }

    /// A type whose tangent is itself, so that every operator is defined on it.
    pub(super) fn ty(&mut self, depth: usize) -> Type {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 | 1 => Type::Float,
            2 => Type::tuple((0..1 + self.below(3)).map(|_| self.ty(depth - 1)).collect::<Vec<_>>()),
            _ => Type::vec(self.ty(depth - 1)),
        }
    }

    /// A closed term of the type; every tensor has two elements, so that sizes agree.
    pub(super) fn term(&mut self, ty: &Type, depth: usize) -> Expr {
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
    pub(super) fn constant(&mut self, e: Expr) -> Expr {
        let i = self.1.fresh("i", Type::Integer);
        Expr::prim(Prim::Build, [Expr::integer(2), Expr::lam(i, e)])
    }

    fn vector(&mut self, element: &Type, depth: usize) -> Expr {
        let i = self.1.fresh("i", Type::Integer);
        let (a, b) = (self.term(element, depth), self.term(element, depth));
        let first = Expr::prim(Prim::Eq, [Expr::var(&i), Expr::integer(0)]);
        Expr::prim(Prim::Build, [Expr::integer(2), Expr::lam(i, Expr::conditional(first, a, b))])
    }

    pub(super) fn map(&mut self, s: &Type, t: &Type, depth: usize) -> Expr {
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
            // All binders are of one supply, so that no term binds a variable of another one.
            let mut term = |supply: &mut Supply, name: &str, ty: &Type| {
                std::mem::swap(&mut random.1, supply);
                let drawn = draw(law, &mut random, name, ty);
                std::mem::swap(&mut random.1, supply);
                drawn
            };
            let lhs = law::instance::instance(law, count, &mut || deep(&mut types), &mut term, &mut supply);
            let Some(lhs) = lhs else { break };
            random.1 = supply;
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
