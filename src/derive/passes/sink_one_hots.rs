//! Makes an array in which one element is not zero in the branches that use it.
//!
//! ```text
//! let t = $delta_at(v, k, x) in if c then build(n, λi. f(t[i])) else t
//!   =  if c then (let t = $delta_at(v, k, x) in build(n, λi. f(t[i]))) else (let t = $delta_at(v, k, x) in t)
//! ```
//!
//! The branch that only passes the array on adds one number to its destination (`lm::destination`). Before, the array
//! had to be made for the other one: in a loop, a vector of zeros in each step. So of sums of such arrays, and of
//! zeros. A number that is computed gets a name before the branches. The terms are small: no call, no loop and no conditional is copied, so that the text does not grow with the
//! depth of branches in branches. Takes and gives: terms without linear maps.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};
use rustc_hash::FxHashSet;

/// The most nodes of a term that is copied into branches.
const SMALL: usize = 40;

/// Moves such arrays of a definition.
pub fn sink_one_hots(def: &Def, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: sunk(&def.body, supply, rewrites), ..def.clone() }
}

fn sunk(e: &Expr, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let Kind::Let(bindings, body) = e.kind() else { return e.map_children(|a| sunk(a, supply, rewrites)) };
    let (moving, staying) = parted(bindings, body, supply, &mut || rewrites.may("one-hot-sink"));
    let mut term = |e: &Expr| match moving.is_empty() {
        true => sunk(e, supply, rewrites),
        false => {
            let moved = with_bindings(e, &moving, supply);
            sunk(&moved, supply, rewrites)
        }
    };
    let kept = staying.iter().map(|b| Binding { pattern: b.pattern.clone(), rhs: term(&b.rhs) }).collect();
    Expr::block(kept, term(body)).at(e.span())
}

/// Returns the bindings of a block that move into branches, as far as they `may`, and all others, with names for the
/// elements of arrays that move.
fn parted(
    bindings: &[Binding],
    body: &Expr,
    supply: &mut Supply,
    may: &mut dyn FnMut() -> bool,
) -> (Vec<Binding>, Vec<Binding>) {
    let could = |b: &Binding| {
        let is_array = matches!(b.pattern, Pattern::Var(_)) && !b.rhs.ty().has_fixed_shape() && is_one_hot(&b.rhs);
        is_array && with_names(&b.rhs, &mut Supply::default(), &mut Vec::new()).size() <= SMALL
    };
    if !bindings.iter().any(could) {
        return (Vec::new(), bindings.to_vec());
    }
    let mut uses = Uses::default();
    uses.term(body, Place::Here);
    bindings.iter().filter(|b| !could(b)).for_each(|b| uses.term(&b.rhs, Place::Here));
    let (mut moving, mut staying) = (Vec::new(), Vec::new());
    // The last first: its array may be made of another one, which it takes along.
    for b in bindings.iter().rev() {
        if could(b) && b.pattern.vars().iter().all(|x| uses.only_in_branches(x.id())) && may() {
            let mut elements = Vec::new();
            let rhs = with_names(&b.rhs, supply, &mut elements);
            uses.term(&rhs, Place::Branch);
            elements.iter().for_each(|b| uses.term(&b.rhs, Place::Here));
            staying.extend(elements);
            moving.push(Binding { pattern: b.pattern.clone(), rhs });
        } else {
            if could(b) {
                uses.term(&b.rhs, Place::Here);
            }
            staying.push(b.clone());
        }
    }
    moving.reverse();
    staying.reverse();
    (moving, staying)
}

/// Returns an array in which few elements are not zero with names for elements that are computed.
fn with_names(e: &Expr, supply: &mut Supply, elements: &mut Vec<Binding>) -> Expr {
    match e.kind() {
        Kind::App(Op::Prim(Prim::DeltaAt), args) if args[2].ty().has_fixed_shape() => {
            if is_light(&args[2]) {
                return e.clone();
            }
            let x = supply.fresh("x", args[2].ty().clone());
            elements.push(Binding { pattern: Pattern::Var(x.clone()), rhs: args[2].clone() });
            Expr::prim(Prim::DeltaAt, [args[0].clone(), args[1].clone(), Expr::var(&x)]).at(e.span())
        }
        Kind::App(Op::Prim(Prim::DeltaAt | Prim::Add), _) => e.map_children(|a| with_names(a, supply, elements)),
        _ => e.clone(),
    }
}

/// The place of a use, as seen from a block: in a branch of a conditional of the block, or elsewhere. In functions a
/// term runs more than once.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Here,
    Branch,
    Function,
}

/// The variables that are used in branches, and those that are used elsewhere.
#[derive(Default)]
struct Uses {
    branches: FxHashSet<u32>,
    elsewhere: FxHashSet<u32>,
}

impl Uses {
    fn term(&mut self, e: &Expr, place: Place) {
        match e.kind() {
            Kind::Var(x) => {
                let uses = if place == Place::Branch { &mut self.branches } else { &mut self.elsewhere };
                uses.insert(x.id());
            }
            Kind::App(Op::If, args) if place == Place::Here => {
                self.term(&args[0], place);
                args[1..].iter().for_each(|branch| self.term(branch, Place::Branch));
            }
            Kind::Lam(_, body) if place == Place::Here => self.term(body, Place::Function),
            Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => {
                e.children().for_each(|a| self.term(a, place));
            }
        }
    }

    fn only_in_branches(&self, x: u32) -> bool {
        self.branches.contains(&x) && !self.elsewhere.contains(&x)
    }
}

/// Returns whether a term is an array in which few elements are not zero, at places that are atoms.
fn is_one_hot(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(Prim::DeltaAt), args) => {
            is_light(&args[0]) && is_light(&args[1]) && (args[2].ty().has_fixed_shape() || is_one_hot(&args[2]))
        }
        Kind::App(Op::Prim(Prim::ZeroOf), args) => is_light(&args[0]),
        Kind::App(Op::Prim(Prim::Add), args) => args.iter().all(is_one_hot),
        _ => false,
    }
}

/// Returns whether a term costs a few instructions, whatever the sizes.
fn is_light(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => true,
        Kind::App(Op::Dummy, _) => true,
        Kind::App(Op::Tuple | Op::Get(..) | Op::Prim(Prim::Index), args) => args.iter().all(is_light),
        Kind::App(Op::Prim(Prim::Add | Prim::Sub | Prim::Mul | Prim::Neg), args) => {
            e.ty().has_fixed_shape() && args.iter().all(is_light)
        }
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns a term with the bindings that a branch uses at its beginning.
fn with_bindings(e: &Expr, moving: &[Binding], supply: &mut Supply) -> Expr {
    match e.kind() {
        Kind::App(Op::If, args) => {
            let condition = with_bindings(&args[0], moving, supply);
            let branches: Vec<Expr> = args[1..].iter().map(|branch| beginning_with(branch, moving, supply)).collect();
            Expr::app(Op::If, [vec![condition], branches].concat()).at(e.span())
        }
        Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => e.clone(),
        Kind::App(..) | Kind::Let(..) => e.map_children(|a| with_bindings(a, moving, supply)),
    }
}

fn beginning_with(branch: &Expr, moving: &[Binding], supply: &mut Supply) -> Expr {
    let mut used: FxHashSet<u32> = free_variables(branch).iter().map(|x| x.id()).collect();
    let mut first = Vec::new();
    for b in moving.iter().rev() {
        if b.pattern.vars().iter().any(|x| used.contains(&x.id())) {
            used.extend(free_variables(&b.rhs).iter().map(|x| x.id()));
            first.insert(0, b.clone());
        }
    }
    if first.is_empty() { branch.clone() } else { renamed(&Expr::block(first, branch.clone()), supply) }
}

/// Returns what breaks the postcondition: a block with such an array that only branches use.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    smallest(&def.body, |e| match e.kind() {
        Kind::Let(bindings, body) => !parted(bindings, body, &mut Supply::default(), &mut || true).0.is_empty(),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => false,
    })
}
