//! Makes the rule of a primitive for dual numbers from its derivative, the law in its row.
//!
//! ```text
//! ∂sin(x)    = S(cos(x))            D[sin(x)] = (sin(x), Share id (Scale (cos(x)) dx))
//! ∂mul(x, y) = S_R(y) ⋈ S(y, x)     D[x * y]  = (x * y, Share id (Add (Scale y dx) (Scale x dy)))
//! ∂add(x, y) = 1(x) ⋈ 1(y)          D[x + y]  = (x + y, Share id (Add dx dy))
//! ```
//!
//! Source: the report of [`super`], Fig. 3. Takes: a primitive on numbers. Gives: its rule.

use crate::law;
use crate::notation::infix;
use crate::notation::names::Names;
use crate::prim::Prim;
use crate::term::{Expr, Kind, Op, Supply, Var};
use crate::types::Type;
use std::fmt;

/// A Delta term over the Delta terms of a primitive's arguments, which have numbers from 0.
#[derive(Debug)]
pub(crate) enum Term {
    Zero,
    Same(usize),
    Scale(Expr, usize),
    Add(Vec<Term>),
    If(Expr, Box<Term>, Box<Term>),
}

/// A primitive on dual numbers.
#[derive(Debug)]
pub(crate) struct Dual {
    /// The arguments, which the factors of the term mention.
    pub params: Vec<Var>,
    pub term: Term,
}

impl Dual {
    /// Returns the rule of a primitive. Panics where it is none on numbers.
    pub fn of(p: Prim) -> Dual {
        let mut supply = Supply::default();
        let params: Vec<Var> = ["x", "y"].iter().zip(types(p)).map(|(name, ty)| supply.fresh(name, ty)).collect();
        let jacobian = law::jacobian_of(p, &params.iter().map(Expr::var).collect::<Vec<_>>());
        Dual { term: term(&jacobian, 0), params }
    }
}

/// Returns the types of the primitive's arguments where its value is a Float.
fn types(p: Prim) -> Vec<Type> {
    let numbers = [vec![Type::Float], vec![Type::Float, Type::Float], vec![Type::Float, Type::Integer]];
    let fits = |types: &Vec<Type>| p.result(types) == Some(Type::Float);
    numbers.into_iter().find(fits).unwrap_or_else(|| panic!("{} is no primitive on numbers", p.name()))
}

/// Returns the term that a Jacobian, transposed, sends a cotangent to.
fn term(jacobian: &Expr, argument: usize) -> Term {
    let Kind::App(op, args) = jacobian.kind() else { panic!("no Jacobian of numbers: {jacobian:?}") };
    match (op, args.as_slice()) {
        (Op::If, [c, a, b]) => Term::If(c.clone(), term(a, argument).into(), term(b, argument).into()),
        (Op::Prim(Prim::LmHCat), parts) => {
            let mut terms: Vec<Term> = parts.iter().enumerate().map(|(i, part)| term(part, i)).collect();
            terms.retain(|term| !matches!(term, Term::Zero));
            if terms.len() == 1 { terms.remove(0) } else { Term::Add(terms) }
        }
        (Op::Prim(Prim::LmZero), _) => Term::Zero,
        (Op::Prim(Prim::LmOne), _) => Term::Same(argument),
        (Op::Prim(Prim::LmScale), [_, k]) | (Op::Prim(Prim::LmScaleR), [k]) => Term::Scale(k.clone(), argument),
        _ => panic!("no Jacobian of numbers: {jacobian:?}"),
    }
}

/// The rule of a primitive, to be read.
pub struct Rule {
    p: Prim,
    dual: Dual,
}

impl Rule {
    /// Returns the rule of a primitive. Panics where it is none on numbers.
    pub fn of(p: Prim) -> Rule {
        Rule { p, dual: Dual::of(p) }
    }
}

/// Writes `D[sin(x)] = let { (x, dx) = D[x]; id = genID } in (sin(x), Share id (Scale (cos(x)) dx))`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params = &self.dual.params;
        let whole = Expr::prim(self.p, params.iter().map(Expr::var).collect::<Vec<_>>());
        let value = self.text(&whole);
        let pairs = params.iter().map(|x| match x.ty() {
            Type::Float => format!("({0}, d{0}) = D[{0}]; ", x.name()),
            _ => format!("{0} = D[{0}]; ", x.name()),
        });
        let pairs: String = pairs.collect();
        write!(f, "D[{value}] = let {{ {pairs}id = genID }} in ({value}, Share id {})", self.term(&self.dual.term))
    }
}

impl Rule {
    fn term(&self, term: &Term) -> String {
        let d = |i: &usize| format!("d{}", self.dual.params[*i].name());
        match term {
            Term::Zero => "Zero".into(),
            Term::Same(i) => d(i),
            Term::Scale(k, i) => format!("(Scale {} {})", self.factor(k), d(i)),
            Term::Add(terms) => {
                let terms = terms.iter().map(|term| self.term(term));
                terms.reduce(|sum, term| format!("(Add {sum} {term})")).unwrap_or_else(|| "Zero".into())
            }
            Term::If(c, a, b) => format!("(if {} then {} else {})", self.text(c), self.term(a), self.term(b)),
        }
    }

    /// Returns a factor, in brackets where it is no name and no literal.
    fn factor(&self, k: &Expr) -> String {
        let is_atom = matches!(k.kind(), Kind::Var(_) | Kind::Const(_));
        if is_atom { self.text(k) } else { format!("({})", self.text(k)) }
    }

    /// Returns a term on one line.
    fn text(&self, e: &Expr) -> String {
        let names = Names::of_variables(&self.dual.params);
        infix::term(e, &names, infix::Format::Plain, usize::MAX)
    }
}
