//! Plans destinations: which bindings of a block are evaluated right into the place where they are added.
//!
//! ```text
//! let t = sumbuild(w, n, f) in (t.1, $delta_at(x, k, t.2))          added to D, a pair
//!   =  add f's sum into D.1 and, its second component, into D.2[k]
//! ```
//!
//! A block is evaluated into a destination. A value that is added to it in the end, and used nowhere else, needs no
//! place of its own. Without the plan, each step of a loop would make zeros as large as all that the loop touches.
//!
//! Source: destination-passing style, Shaikhha, Fitzgibbon, Vytiniotis and Peyton Jones, Efficient
//! differentiable programming in a functional array-processing language, 2019. There values are stored, here they are
//! added. Takes: normal form, or terms near it. Used by the interpreter and by the native code.

mod unread;

use crate::prim::Prim;
use crate::scope::free_variables;
use crate::term::{Binding, Expr, Kind, Op, Pattern, Var};
use crate::types::Type;
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};
pub use unread::Unread;

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A component of a tuple, from 1.
    Component(usize),
    /// The element of a tensor at an index, an atom.
    Element(Expr),
}

/// The destination of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// A place of its own.
    Own,
    /// A part of the block's destination, to which the value is added.
    Add(Vec<Step>),
    /// A tuple, each component with a destination.
    Parts(Vec<Destination>),
    /// The first where the condition, an atom, holds, else the second.
    Choice(Expr, Box<Destination>, Box<Destination>),
    /// The value is unused. [`Unread`] says whether it is evaluated, to print and to fail where it does.
    Nowhere,
}

impl Destination {
    /// Returns the destination of the i-th of n components, from 1.
    pub fn component(&self, i: usize) -> Destination {
        match self {
            Destination::Own | Destination::Nowhere => self.clone(),
            Destination::Add(path) => Destination::Add([path.as_slice(), &[Step::Component(i)]].concat()),
            Destination::Parts(parts) => parts[i - 1].clone(),
            Destination::Choice(c, yes, no) => choice(c, yes.component(i), no.component(i)),
        }
    }

    /// Returns whether nothing but numbers of a value of that type goes back to the caller, so that its terms may be
    /// added one by one.
    ///
    /// An unused tensor that is evaluated does not count: its terms have to meet, since their sizes may differ.
    fn is_added_to(&self, ty: &Type, unread: Unread) -> bool {
        match self {
            Destination::Add(_) => true,
            Destination::Nowhere => unread == Unread::Dropped || ty.has_fixed_shape(),
            Destination::Own => ty.has_fixed_shape(),
            Destination::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                parts.iter().zip(types).all(|(part, ty)| part.is_added_to(ty, unread))
            }
            Destination::Choice(_, yes, no) => yes.is_added_to(ty, unread) && no.is_added_to(ty, unread),
        }
    }

    /// Returns whether the whole value gets a place of its own.
    pub fn is_own(&self) -> bool {
        match self {
            Destination::Own => true,
            Destination::Add(_) | Destination::Choice(..) | Destination::Nowhere => false,
            Destination::Parts(parts) => parts.iter().all(Destination::is_own),
        }
    }
}

impl Destination {
    /// Returns whether nothing goes back to the caller, so that the terms of a sum may be added one by one.
    pub fn takes_all(&self) -> bool {
        match self {
            Destination::Own => false,
            Destination::Add(_) | Destination::Nowhere => true,
            Destination::Parts(parts) => parts.iter().all(Destination::takes_all),
            Destination::Choice(_, yes, no) => yes.takes_all() && no.takes_all(),
        }
    }

    /// Returns whether only numbers go back to the caller, of a value of that type. Then the terms of a sum may be added
    /// one by one, and what goes back of each to what goes back of the others.
    pub fn gives_back_numbers(&self, ty: &Type) -> bool {
        self.is_added_to(ty, Unread::Dropped)
    }
}

fn choice(c: &Expr, yes: Destination, no: Destination) -> Destination {
    if (&yes, &no) == (&Destination::Nowhere, &Destination::Nowhere) {
        return Destination::Nowhere;
    }
    Destination::Choice(c.clone(), Box::new(yes), Box::new(no))
}

/// The plan for a block.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The destinations of its variables, by number; all others have places of their own.
    destinations: FxHashMap<u32, Destination>,
    /// The addresses of terms that are the only use of a bound value, or of a part of it. An evaluator of such a term
    /// may take the value and change it.
    only_uses: FxHashSet<usize>,
}

impl Plan {
    /// Returns the destination of the value of a binding.
    pub fn of(&self, pattern: &Pattern) -> Destination {
        let of = |x: &Var| self.destinations.get(&x.id()).cloned().unwrap_or(Destination::Own);
        match pattern {
            Pattern::Var(x) => of(x),
            Pattern::Tuple(xs) => Destination::Parts(xs.iter().map(of).collect()),
        }
    }

    /// Returns whether some binding has a destination other than a place of its own.
    pub fn has_destinations(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// Returns whether the term, a variable or a component of one, was added where it was bound.
    pub fn is_added(&self, e: &Expr) -> bool {
        let Some((x, path)) = selection(e) else { return false };
        let whole = self.destinations.get(&x.id()).cloned().unwrap_or(Destination::Own);
        let part = path.iter().fold(whole, |d, i| d.component(*i));
        !part.is_own()
    }

    /// Returns whether the values of some terms may be taken.
    pub fn lets_take(&self) -> bool {
        !self.only_uses.is_empty()
    }

    /// Returns whether the value of the term may be taken.
    pub fn is_only_use(&self, e: &Expr) -> bool {
        self.only_uses.contains(&e.address())
    }
}

/// Returns the plan for a block that is evaluated into `root`.
pub fn plan(block: &Expr, root: &Destination, unread: Unread) -> Plan {
    let (bindings, result) = block.as_block();
    let mut planner =
        Planner { uses: FxHashMap::default(), claims: Claims::default(), bound: FxHashMap::default(), unread };
    planner.collect_uses(block, false);
    for (i, b) in bindings.iter().enumerate() {
        planner.bound.extend(b.pattern.vars().iter().map(|x| (x.id(), i)));
    }
    planner.consume(result, root);
    let own = bindings.iter().flat_map(|b| b.pattern.vars());
    let mut plan = Plan { only_uses: own.flat_map(|x| planner.only_uses(x)).collect(), ..Plan::default() };
    for (i, b) in bindings.iter().enumerate().rev() {
        planner.binding(i, b, &mut plan);
    }
    plan
}

/// A path of components, from 1; empty for the whole.
type Path = Vec<usize>;

/// A part of a variable that is added.
struct Claim {
    path: Path,
    destination: Destination,
    /// The number of uses of the part. It may be two in the branches of a conditional.
    uses: usize,
}

/// A use of a part of a variable.
struct Use {
    path: Path,
    address: usize,
    /// Inside of a function, which may be called more than once.
    inside: bool,
}

type Claims = FxHashMap<u32, Vec<Claim>>;

struct Planner {
    /// The parts of each variable that are used, one entry for each use.
    uses: FxHashMap<u32, Vec<Use>>,
    /// The parts that are added.
    claims: Claims,
    /// The number of the binding that binds a variable.
    bound: FxHashMap<u32, usize>,
    /// The rule for values that go nowhere.
    unread: Unread,
}

impl Planner {
    fn collect_uses(&mut self, e: &Expr, inside: bool) {
        if let Some((x, path)) = selection(e) {
            self.uses.entry(x.id()).or_default().push(Use { path, address: e.address(), inside });
            return;
        }
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => {}
            Kind::App(_, args) => args.iter().for_each(|a| self.collect_uses(a, inside)),
            Kind::Lam(_, body) => self.collect_uses(body, true),
            Kind::Let(bindings, body) => {
                // The block's own ones get their numbers later: what is bound further inside is known
                // to none of its bindings.
                let own = bindings.iter().flat_map(|b| b.pattern.vars());
                self.bound.extend(own.map(|x| (x.id(), usize::MAX)));
                bindings.iter().for_each(|b| self.collect_uses(&b.rhs, inside));
                self.collect_uses(body, inside);
            }
        }
    }

    fn only_uses(&self, x: &Var) -> Vec<usize> {
        let uses = self.uses.get(&x.id()).map_or(&[][..], Vec::as_slice);
        let overlapping = |u: &Use| uses.iter().filter(|v| overlap(&u.path, &v.path)).count();
        uses.iter().filter(|u| !u.inside && overlapping(u) == 1).map(|u| u.address).collect()
    }

    fn binding(&mut self, i: usize, b: &Binding, plan: &mut Plan) {
        if !is_producer(&b.rhs) {
            return;
        }
        for x in b.pattern.vars() {
            let claims = self.claims.remove(&x.id()).unwrap_or_default();
            let Some(uses) = self.uses.get(&x.id()) else { continue };
            let alone = |c: &Claim| uses.iter().filter(|u| overlap(&u.path, &c.path)).count() == c.uses;
            let claims = claims.into_iter().filter(|c| alone(c) && self.is_ready(&c.destination, i));
            let claims: Vec<(Path, Destination)> = claims.map(|c| (c.path, c.destination)).collect();
            let destination = gather(x.ty(), &[], &claims, uses);
            if !destination.is_own() {
                plan.destinations.insert(x.id(), destination);
            }
        }
        self.consume(&b.rhs, &plan.of(&b.pattern));
    }

    /// Returns whether the indices on the way are known before binding `i`.
    fn is_ready(&self, destination: &Destination, i: usize) -> bool {
        match destination {
            Destination::Own | Destination::Nowhere => true,
            Destination::Parts(parts) => parts.iter().all(|part| self.is_ready(part, i)),
            Destination::Choice(c, yes, no) => self.is_known(c, i) && self.is_ready(yes, i) && self.is_ready(no, i),
            Destination::Add(path) => path.iter().all(|step| match step {
                Step::Component(_) => true,
                Step::Element(index) => self.is_known(index, i),
            }),
        }
    }

    fn is_known(&self, e: &Expr, i: usize) -> bool {
        free_variables(e).iter().all(|x| self.bound.get(&x.id()).is_none_or(|at| *at < i))
    }

    /// Claims the parts that `e`, which goes to the destination, adds there.
    fn consume(&mut self, e: &Expr, destination: &Destination) {
        // Values of a fixed shape are best held in registers.
        if destination.is_own() || e.ty().has_fixed_shape() {
            return;
        }
        if let Some((x, path)) = selection(e) {
            let claim = Claim { path, destination: destination.clone(), uses: 1 };
            self.claims.entry(x.id()).or_default().push(claim);
            return;
        }
        match e.kind() {
            Kind::App(Op::If, args) => {
                let [yes, no] = [&args[1], &args[2]].map(|branch| {
                    let outer = std::mem::take(&mut self.claims);
                    self.consume(branch.as_block().1, destination);
                    std::mem::replace(&mut self.claims, outer)
                });
                self.choose(&args[0], yes, no);
            }
            Kind::App(Op::Tuple, parts) => {
                parts.iter().enumerate().for_each(|(i, part)| self.consume(part, &destination.component(i + 1)));
            }
            // Where a tensor goes back to the caller, both terms would have to, to be added there.
            Kind::App(Op::Prim(Prim::Add), args) if destination.is_added_to(e.ty(), self.unread) => {
                args.iter().for_each(|a| self.consume(a, destination));
            }
            Kind::App(Op::Prim(Prim::DeltaAt), args) if is_index(&args[1]) => {
                if let Destination::Add(path) = destination {
                    let element = [path.as_slice(), &[Step::Element(args[1].clone())]].concat();
                    self.consume(&args[2], &Destination::Add(element));
                }
            }
            _ => {}
        }
    }
}

impl Planner {
    /// Merges the claims of both branches of a conditional.
    fn choose(&mut self, c: &Expr, yes: Claims, no: Claims) {
        let mut merged: IndexMap<(u32, Path), [Vec<Claim>; 2]> = IndexMap::new();
        for (side, claims) in [yes, no].into_iter().enumerate() {
            for (x, claim) in claims.into_iter().flat_map(|(x, claims)| claims.into_iter().map(move |c| (x, c))) {
                merged.entry((x, claim.path.clone())).or_default()[side].push(claim);
            }
        }
        for ((x, path), sides) in merged {
            if sides.iter().any(|claims| claims.len() > 1) || !is_index(c) {
                continue;
            }
            let uses = sides.iter().flatten().map(|claim| claim.uses).sum();
            let [yes, no] = sides.map(|mut claims| claims.pop().map_or(Destination::Nowhere, |c| c.destination));
            self.claims.entry(x).or_default().push(Claim { path, destination: choice(c, yes, no), uses });
        }
    }
}

/// Returns the destination of the part of a variable at a path, of type `ty`, from those of some of its parts. A part
/// that is not used goes nowhere: its zeros, say, are not made.
fn gather(ty: &Type, path: &[usize], claims: &[(Path, Destination)], uses: &[Use]) -> Destination {
    if let Some((_, destination)) = claims.iter().find(|(claimed, _)| claimed == path) {
        return destination.clone();
    }
    if ty.has_fixed_shape() {
        return Destination::Own;
    }
    if !uses.iter().any(|u| overlap(&u.path, path)) {
        return Destination::Nowhere;
    }
    let Some(parts) = ty.as_tuple() else { return Destination::Own };
    let part = |(i, ty): (usize, &Type)| gather(ty, &[path, &[i + 1]].concat(), claims, uses);
    let parts: Vec<Destination> = parts.iter().enumerate().map(part).collect();
    if parts.iter().all(Destination::is_own) { Destination::Own } else { Destination::Parts(parts) }
}

/// Returns whether `$into(witness, e)` has a witness of e's second component only.
///
/// Then the first component is a value, which is not added to zeros, and the witness has a unit for it. The types tell.
pub fn beside_a_value(witness: &Expr, e: &Expr) -> bool {
    witness.ty().tangent() != *e.ty()
}

/// Returns whether one is a part of the other.
fn overlap(a: &[usize], b: &[usize]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// Returns whether evaluating the term into a destination is better than adding its value to it. So it is for another
/// name of such a term.
fn is_producer(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::If | Op::Tuple | Op::Call(_), _) | Kind::Let(..) => true,
        Kind::App(
            Op::Prim(Prim::Add | Prim::ZeroOf | Prim::DeltaAt | Prim::Build | Prim::SumBuild | Prim::Loop | Prim::Into),
            _,
        ) => true,
        _ => gives_parts(e) || selection(e).is_some(),
    }
}

/// Returns the variable and the path, when the term is a variable or a component of a component .. of one.
pub fn selection(e: &Expr) -> Option<(&Var, Vec<usize>)> {
    match e.kind() {
        Kind::Var(x) => Some((x, Vec::new())),
        Kind::App(Op::Get(i, _), args) => {
            let (x, mut path) = selection(&args[0])?;
            path.push(*i);
            Some((x, path))
        }
        _ => None,
    }
}

/// Returns whether a component of the term's value has a destination of its own while the rest goes nowhere: the term is
/// a call or a sum, or a component of one.
pub fn gives_parts(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Call(_) | Op::Prim(Prim::Into | Prim::Add), _) => true,
        Kind::App(Op::Get(..), args) => gives_parts(&args[0]),
        _ => false,
    }
}

/// Returns whether an index costs nothing to evaluate again.
fn is_index(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Tuple, parts) => parts.iter().all(is_index),
        _ => e.is_atom() || selection(e).is_some(),
    }
}
