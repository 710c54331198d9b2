//! The laws of matrices decide whether two maps of numbers and tuples are equal.

use lm::interp::{Env, Interpreter};
use lm::map;
use lm::prim::Prim;
use lm::random::SplitMix;
use lm::rewriter::Rewriter;
use lm::rewrites::Rewrites;
use lm::term::{Expr, Kind, Op, Program, Supply};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::schedule::strategy;
use std::collections::HashMap;

/// The random maps. There are far fewer matrices.
const MAPS: u64 = 3_000;

/// The steps of rewriting that a map may take.
const FUEL: usize = 1_000_000;

struct Random(SplitMix);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (self.0.draw() % n as u64) as usize
    }

    fn space(&mut self, depth: usize) -> Type {
        match depth == 0 || self.below(3) == 0 {
            true => Type::Float,
            false => Type::tuple((0..1 + self.below(2)).map(|_| self.space(depth - 1)).collect::<Vec<_>>()),
        }
    }

    /// A map from one space to another.
    fn map(&mut self, s: &Type, t: &Type, depth: usize) -> Expr {
        let [from, to] = [s, t].map(|ty| Expr::dummy(ty.clone()));
        if depth == 0 || self.below(6) == 0 {
            let scale = |k: f64| Expr::prim(Prim::LmScale, [from.clone(), Expr::float(k)]);
            let parts = s.as_tuple().unwrap_or_default();
            let i = parts.iter().position(|part| part == t);
            return match (self.below(4), i) {
                (0, _) if s == t => Expr::prim(Prim::LmOne, [from]),
                (1 | 2, _) if s == t => scale([0.0, 1.0, 2.0, -1.0][self.below(4)]),
                (_, Some(i)) => Expr::app(Op::LmGet(i + 1, parts.len()), vec![from]),
                _ => Expr::prim(Prim::LmZero, [from, to]),
            };
        }
        match (self.below(6), s.as_tuple(), t.as_tuple()) {
            (0, Some(parts), _) => Expr::prim(Prim::LmHCat, parts.iter().map(|s| self.map(s, t, depth - 1))),
            (1, _, Some(parts)) => Expr::prim(Prim::LmVCat, parts.iter().map(|t| self.map(s, t, depth - 1))),
            (2, ..) => Expr::prim(Prim::LmTranspose, [self.map(t, s, depth - 1)]),
            (3 | 4, ..) => {
                let middle = self.space(1);
                Expr::prim(Prim::LmCompose, [self.map(&middle, t, depth - 1), self.map(s, &middle, depth - 1)])
            }
            _ => Expr::prim(Prim::LmAdd, [self.map(s, t, depth - 1), self.map(s, t, depth - 1)]),
        }
    }
}

/// The number of Floats in a vector of a space.
fn dimension(ty: &Type) -> usize {
    ty.as_tuple().map_or(1, |parts| parts.iter().map(dimension).sum())
}

/// The vector with a 1 at a place.
fn unit(ty: &Type, at: isize) -> Value {
    let Some(parts) = ty.as_tuple() else { return Value::Float(if at == 0 { 1.0 } else { 0.0 }) };
    let mut at = at;
    let component = |part: &Type| {
        let value = unit(part, at);
        at -= dimension(part) as isize;
        value
    };
    Value::Tuple(parts.iter().map(component).collect())
}

/// The numbers of a map's matrix, column by column.
fn matrix(m: &Expr, s: &Type) -> Vec<String> {
    let program = Program::default();
    let mut interpreter = Interpreter::new(&program);
    let Value::Map(map) = interpreter.eval(m, &mut Env::default()).expect("it is a map") else { panic!("{m:?}") };
    let columns = (0..dimension(s)).map(|at| unit(s, at as isize));
    columns
        .map(|x| map::apply(&mut interpreter, &map, &x).expect("it is total").to_string().replace("-0", "0"))
        .collect()
}

/// Whether a map is one of rows of columns of 0, 1 and S(k).
fn is_matrix(m: &Expr) -> bool {
    let is_entry = |m: &Expr| match m.kind() {
        Kind::App(Op::Prim(Prim::LmZero | Prim::LmOne), _) => *m.ty() == Type::lm(Type::Float, Type::Float),
        Kind::App(Op::Prim(Prim::LmScale), args) => matches!(args[1].kind(), Kind::Const(_)),
        _ => false,
    };
    match m.kind() {
        Kind::App(Op::Prim(Prim::LmVCat), rows) => rows.iter().all(is_matrix),
        Kind::App(Op::Prim(Prim::LmHCat), columns) => {
            columns.iter().all(|column| column.args_of_prim(Prim::LmVCat).is_none() && is_matrix(column))
        }
        _ => is_entry(m),
    }
}

#[test]
fn equal_maps_have_equal_matrices() {
    let mut random = Random(SplitMix::new(20_261_124));
    let mut forms: HashMap<(Type, Type, Vec<String>), Expr> = HashMap::new();
    for _ in 0..MAPS {
        let (s, t) = (random.space(2), random.space(2));
        let m = random.map(&s, &t, 4);
        let (mut supply, mut rewrites) = (Supply::default(), Rewrites::all());
        let mut rewriter = Rewriter::new(&mut supply, &mut rewrites, FUEL);
        let form = rewriter.run(strategy("matrix"), &m).expect("the laws end").unwrap_or(m.clone());
        assert!(is_matrix(&form), "{m:?}\n{form:?}");
        let meaning = matrix(&m, &s);
        assert_eq!(meaning, matrix(&form, &s), "{m:?}\n{form:?}");
        let first = forms.entry((s, t, meaning)).or_insert_with(|| form.clone());
        assert_eq!(*first, form, "of {m:?}");
    }
    assert!(forms.len() * 2 < MAPS as usize, "{} matrices", forms.len());
}
