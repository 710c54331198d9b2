//! Writes zeros of known shape as literals.
//!
//! ```text
//! ts_zero w   =   0.0, or a tuple of such
//! ```
//!
//! Until this pass a zero tangent is `ts_zero`, so that the law `x + 0 = x` never applies to literals of the program.
//! The zeros of an array that is zero but for one element stay, as in `build n (λk. if k == i then x else ts_zero w)`:
//! where such an array is added to another, `ts_zero` adds nothing (`lm::destination`), and one element is added. A
//! literal would be added n - 1 times. Takes: terms without linear maps. Gives: the same without `ts_zero` of fixed
//! shape, but in such arrays.

use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Binding, Def, Expr, Kind, Op, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// Writes the zeros of a definition as literals.
pub fn literal_zeros(def: &Def, rewrites: &mut Rewrites) -> Def {
    let mut literal = |e: &Expr, place: Place| written(e, place).filter(|_| rewrites.may("zero-literal"));
    Def { body: term(&def.body, &mut literal), ..def.clone() }
}

/// Where a zero is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// In an array that is zero but for one element.
    AmongZeros,
    Elsewhere,
}

/// Returns what takes the place of a `ts_zero`; none if it stays.
type Literal<'a> = dyn FnMut(&Expr, Place) -> Option<Expr> + 'a;

/// Returns a zero of known shape as it is to be written, if it is not: a literal, or a zero without a witness, which might
/// fail.
fn written(e: &Expr, place: Place) -> Option<Expr> {
    let literal = zero(e.ty())?;
    let [witness] = e.args_of_prim(Prim::ZeroOf)? else { return None };
    match place {
        Place::Elsewhere => Some(literal),
        Place::AmongZeros if matches!(witness.kind(), Kind::App(Op::Dummy, _)) => None,
        Place::AmongZeros => Some(Expr::prim(Prim::ZeroOf, [Expr::dummy(witness.ty().clone())]).at(e.span())),
    }
}

fn term(e: &Expr, literal: &mut Literal) -> Expr {
    match e.kind() {
        Kind::App(Op::Prim(Prim::ZeroOf), _) => literal(e, Place::Elsewhere).unwrap_or_else(|| e.clone()),
        Kind::App(op @ Op::Prim(Prim::Build), args) => {
            let element = match args[1].kind() {
                Kind::Lam(k, body) => Expr::lam(k.clone(), Element::of(k).term(body, literal)).at(args[1].span()),
                _ => term(&args[1], literal),
            };
            Expr::app(op.clone(), vec![term(&args[0], literal), element]).at(e.span())
        }
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => {
            e.map_children(|c| term(c, literal))
        }
    }
}

/// What is known within the element of a `build`.
struct Element {
    /// The index, and its components.
    index: FxHashSet<u32>,
    /// Comparisons of the index that have names.
    tests: FxHashSet<u32>,
    /// Whether a comparison did not hold, so that the place is one of many.
    is_elsewhere: bool,
}

impl Element {
    fn of(k: &Var) -> Element {
        Element { index: [k.id()].into_iter().collect(), tests: FxHashSet::default(), is_elsewhere: false }
    }

    fn term(&mut self, e: &Expr, literal: &mut Literal) -> Expr {
        match e.kind() {
            Kind::App(Op::Prim(Prim::ZeroOf), _) if self.is_elsewhere => {
                literal(e, Place::AmongZeros).unwrap_or_else(|| e.clone())
            }
            Kind::App(Op::If, args) => {
                let test = term(&args[0], literal);
                let then = self.term(&args[1], literal);
                let around = self.is_elsewhere;
                self.is_elsewhere |= self.is_test(&args[0]);
                let other = self.term(&args[2], literal);
                self.is_elsewhere = around;
                Expr::app(Op::If, vec![test, then, other]).at(e.span())
            }
            Kind::Let(bindings, body) => {
                for b in bindings {
                    let named = b.pattern.vars().iter().map(Var::id);
                    if self.is_index(&b.rhs) {
                        self.index.extend(named);
                    } else if self.is_test(&b.rhs) {
                        self.tests.extend(named);
                    }
                }
                let bindings = bindings.iter().map(|b| Binding { rhs: term(&b.rhs, literal), ..b.clone() }).collect();
                Expr::block(bindings, self.term(body, literal)).at(e.span())
            }
            Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => term(e, literal),
        }
    }

    /// Returns whether a condition compares the index, and so holds at one place of an array.
    fn is_test(&self, condition: &Expr) -> bool {
        match condition.kind() {
            Kind::Var(x) => self.tests.contains(&x.id()),
            Kind::App(Op::Prim(Prim::Eq), args) => args.iter().any(|a| self.is_index(a)),
            _ => false,
        }
    }

    fn is_index(&self, e: &Expr) -> bool {
        match e.kind() {
            Kind::Var(x) => self.index.contains(&x.id()),
            Kind::App(Op::Get(..), args) => self.is_index(&args[0]),
            Kind::App(Op::Tuple, args) => args.iter().any(|a| self.is_index(a)),
            _ => false,
        }
    }
}

/// Returns the zero of a tangent type, if all values of the type have one shape.
fn zero(ty: &Type) -> Option<Expr> {
    match ty {
        Type::Float => Some(Expr::float(0.0)),
        Type::Tuple(parts) => Some(Expr::tuple(parts.iter().map(zero).collect::<Option<Vec<_>>>()?)),
        Type::Integer
        | Type::Bool
        | Type::String
        | Type::Tensor(..)
        | Type::Lam(..)
        | Type::LM(..)
        | Type::Record(_) => None,
    }
}

/// Returns what breaks the postcondition: a zero that has a literal, outside of the witness of another zero; one with a
/// witness in an array that is zero but for one element.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let mut found = None;
    term(&def.body, &mut |e, place| {
        found = found.take().or_else(|| written(e, place).map(|_| e.clone()));
        None
    });
    found
}
