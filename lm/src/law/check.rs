//! Checks that both sides of a law have one type.
//!
//! Types are inferred by unification over the typing rules of the primitives' table. A sequence is checked at lengths
//! 1, 2 and 3.

use super::pattern::{Binder, Pat};
use super::{Body, Equation, Law};
use crate::prim::Prim;
use crate::scheme::Scheme;
use crate::term::Op;
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

type Name = Arc<str>;

/// Panics, naming the law, when its two sides do not have one type.
pub fn well_typed(law: &Law) {
    let Body::Equation(Equation { lhs, rhs, .. }) = &law.body else {
        return;
    };
    let lengths = if lhs.sequences().is_empty() { 1..=1 } else { 1..=3 };
    for count in lengths {
        infer(lhs, rhs, count).unwrap_or_else(|why| panic!("law {}: `{}` is ill-typed: {why}", law.name, law.text));
    }
}

/// The types of the metavariables, and those found for the type variables.
pub(super) struct Types {
    bound: FxHashMap<(Name, usize), Scheme>,
    pub(super) metas: FxHashMap<Name, Scheme>,
    /// The types of the arguments of `e{i, x}`.
    pub(super) arguments: FxHashMap<Name, Vec<Scheme>>,
    binders: FxHashMap<Name, Scheme>,
    /// The types of binders of a single name.
    indices: Vec<Scheme>,
    /// Whether binders of a single name may be indices of several dimensions.
    has_any_rank: bool,
    fresh: usize,
    /// The type of each operator's node, by the address of its arguments: for witnesses left out.
    domain: Option<(Scheme, Scheme)>,
}

/// Binders are Integers, unless the law has no type then: laws choose between rules before they know what a binder is.
pub(super) fn infer(lhs: &Pat, rhs: &Pat, count: usize) -> Result<Types, String> {
    let with_integers = infer_with(lhs, rhs, count, false);
    with_integers.or_else(|why| infer_with(lhs, rhs, count, true).map_err(|_| why))
}

fn infer_with(lhs: &Pat, rhs: &Pat, count: usize, has_any_rank: bool) -> Result<Types, String> {
    let sequences = lhs.sequences();
    let mut types = Types {
        bound: FxHashMap::default(),
        metas: FxHashMap::default(),
        arguments: FxHashMap::default(),
        binders: FxHashMap::default(),
        indices: Vec::new(),
        has_any_rank,
        fresh: 0,
        domain: None,
    };
    let left = types.type_of(&expand(lhs, count, &sequences))?;
    let known: Vec<Name> = types.metas.keys().cloned().collect();
    if let Scheme::LM(s, t) = types.resolve(&left) {
        types.domain = Some((*s, *t));
    }
    let right = types.type_of(&expand(rhs, count, &sequences))?;
    if let Some(name) = types.metas.keys().find(|name| !known.contains(name)) {
        return Err(format!("{name} is not on the left side"));
    }
    types.unify(&left, &right)?;
    for i in std::mem::take(&mut types.indices) {
        if matches!(types.resolve(&i), Scheme::Var(..)) {
            types.unify(&i, &Scheme::Known(Type::Integer))?;
        }
    }
    Ok(types)
}

/// Writes repetitions out: `m ..` becomes `m#0, m#1, ...`.
pub(super) fn expand(p: &Pat, count: usize, sequences: &[Name]) -> Pat {
    let all = |args: &[Pat]| -> Vec<Pat> {
        let each = |a: &Pat| match a {
            Pat::Repeat(p) => (0..count).map(|i| expand(&number(p, i, count, sequences), count, sequences)).collect(),
            a => vec![expand(a, count, sequences)],
        };
        args.iter().flat_map(each).collect()
    };
    let below = |p: &Pat| Box::new(expand(p, count, sequences));
    match p {
        Pat::App(op, args) => Pat::App(op.clone(), all(args)),
        Pat::Prelude(name, args) => Pat::Prelude(name.clone(), all(args)),
        Pat::Applied(name, args) => Pat::Applied(name.clone(), all(args)),
        Pat::Lam(x, p) => Pat::Lam(x.clone(), below(p)),
        Pat::Step(xs, p) => Pat::Step(xs.clone(), below(p)),
        Pat::Let(x, p, q) => Pat::Let(x.clone(), below(p), below(q)),
        Pat::Total(p) => Pat::Total(Box::new(Pat::App(Op::Tuple, all(std::slice::from_ref(p))))),
        Pat::DomainOf(p) => Pat::DomainOf(below(p)),
        Pat::CodomainOf(p) => Pat::CodomainOf(below(p)),
        Pat::Component(_) | Pat::Repeat(_) => panic!("{p:?} outside a list"),
        leaf @ (Pat::Meta(_) | Pat::Const(_) | Pat::Bound(_) | Pat::Domain | Pat::Codomain | Pat::FloatWitness) => {
            leaf.clone()
        }
    }
}

fn number(p: &Pat, i: usize, count: usize, sequences: &[Name]) -> Pat {
    let all = |args: &[Pat]| args.iter().map(|a| number(a, i, count, sequences)).collect();
    let below = |p: &Pat| Box::new(number(p, i, count, sequences));
    match p {
        Pat::Meta(name) if sequences.contains(name) => Pat::Meta(format!("{name}#{i}").into()),
        Pat::App(op, args) => Pat::App(op.clone(), all(args)),
        Pat::Prelude(name, args) => Pat::Prelude(name.clone(), all(args)),
        Pat::Applied(name, args) => Pat::Applied(name.clone(), all(args)),
        Pat::Component(p) => Pat::App(Op::Get(i + 1, count), vec![number(p, i, count, sequences)]),
        Pat::Lam(x, p) => Pat::Lam(x.clone(), below(p)),
        Pat::Step(xs, p) => Pat::Step(xs.clone(), below(p)),
        Pat::Let(x, p, q) => Pat::Let(x.clone(), below(p), below(q)),
        Pat::Total(p) => Pat::Total(below(p)),
        Pat::DomainOf(p) => Pat::DomainOf(below(p)),
        Pat::CodomainOf(p) => Pat::CodomainOf(below(p)),
        Pat::Repeat(p) => Pat::Repeat(below(p)),
        leaf @ (Pat::Meta(_) | Pat::Const(_) | Pat::Bound(_) | Pat::Domain | Pat::Codomain | Pat::FloatWitness) => {
            leaf.clone()
        }
    }
}

impl Types {
    fn new_var(&mut self) -> Scheme {
        self.fresh += 1;
        Scheme::Var("?".into(), self.fresh)
    }

    /// Returns a new type for a binder of a step.
    fn type_of_binder(&mut self, x: &Binder) -> Scheme {
        let types: Vec<Scheme> = x.names().iter().map(|_| self.new_var()).collect();
        self.binders.extend(x.names().iter().cloned().zip(types.iter().cloned()));
        match x {
            Binder::Name(_) => types[0].clone(),
            Binder::Pair(_) => Scheme::Tuple(types),
        }
    }

    /// Returns the type of an expanded pattern.
    fn type_of(&mut self, p: &Pat) -> Result<Scheme, String> {
        match p {
            Pat::Meta(name) => {
                if !self.metas.contains_key(name) {
                    let var = self.new_var();
                    self.metas.insert(name.clone(), var);
                }
                Ok(self.metas[name].clone())
            }
            Pat::Const(c) => Ok(Scheme::Known(c.ty())),
            Pat::Bound(x) => Ok(self.binders[x].clone()),
            Pat::Lam(x, body) => {
                let i = if self.has_any_rank { self.new_var() } else { Scheme::Known(Type::Integer) };
                self.indices.push(i.clone());
                self.binders.insert(x.clone(), i.clone());
                let body = self.type_of(body)?;
                Ok(Scheme::Lam(Box::new(i), Box::new(body)))
            }
            Pat::Step(xs, body) => {
                let types: Vec<Scheme> = xs.iter().map(|x| self.type_of_binder(x)).collect();
                let body = self.type_of(body)?;
                Ok(Scheme::Lam(Box::new(Scheme::Tuple(types)), Box::new(body)))
            }
            Pat::Let(x, value, body) => {
                let value = self.type_of(value)?;
                self.binders.insert(x.clone(), value);
                self.type_of(body)
            }
            Pat::Applied(name, args) => {
                let types = args.iter().map(|a| self.type_of(a)).collect::<Result<Vec<_>, _>>()?;
                let known = self.arguments.entry(name.clone()).or_insert_with(|| types.clone()).clone();
                known.iter().zip(&types).try_for_each(|(known, ty)| self.unify(known, ty))?;
                self.type_of(&Pat::Meta(name.clone()))
            }
            Pat::Prelude(_, args) => {
                for a in args {
                    let t = self.type_of(a)?;
                    self.unify(&t, &Scheme::Known(Type::Float))?;
                }
                Ok(Scheme::Known(Type::Float))
            }
            Pat::Total(parts) => {
                let Pat::App(Op::Tuple, parts) = &**parts else { panic!("a sum is expanded") };
                let types = parts.iter().map(|p| self.type_of(p)).collect::<Result<Vec<_>, _>>()?;
                types.windows(2).try_for_each(|w| self.unify(&w[0], &w[1]))?;
                Ok(types[0].clone())
            }
            Pat::DomainOf(m) => self.side_of(m, true),
            Pat::CodomainOf(m) => self.side_of(m, false),
            Pat::Domain => Ok(self.domain.clone().map(|d| d.0).unwrap_or_else(|| self.new_var())),
            Pat::Codomain => Ok(self.domain.clone().map(|d| d.1).unwrap_or_else(|| self.new_var())),
            Pat::FloatWitness => Ok(if self.domain.is_some() { Scheme::Known(Type::Float) } else { self.new_var() }),
            Pat::App(op, args) => {
                let args = args.iter().map(|a| self.type_of(a)).collect::<Result<Vec<_>, _>>()?;
                self.app(op, &args)
            }
            Pat::Repeat(_) | Pat::Component(_) => panic!("{p:?} is not expanded"),
        }
    }

    fn side_of(&mut self, m: &Pat, domain: bool) -> Result<Scheme, String> {
        let m = self.type_of(m)?;
        let (s, t) = (self.new_var(), self.new_var());
        self.unify(&m, &Scheme::LM(Box::new(s.clone()), Box::new(t.clone())))?;
        Ok(if domain { s } else { t })
    }

    fn app(&mut self, op: &Op, args: &[Scheme]) -> Result<Scheme, String> {
        match op {
            Op::Tuple => Ok(Scheme::Tuple(args.to_vec())),
            Op::Get(i, n) => {
                let parts: Vec<Scheme> = (0..*n).map(|_| self.new_var()).collect();
                self.unify(&args[0], &Scheme::Tuple(parts.clone()))?;
                Ok(parts[i - 1].clone())
            }
            Op::If => {
                self.unify(&args[0], &Scheme::Known(Type::Bool))?;
                self.unify(&args[1], &args[2])?;
                Ok(args[1].clone())
            }
            Op::Prim(p) => self.prim(*p, args),
            Op::JacobianOf(p) => {
                let result = self.prim(*p, args)?;
                let s = if let [one] = args { one.clone() } else { Scheme::Tuple(args.to_vec()) };
                Ok(Scheme::LM(Box::new(s), Box::new(result)))
            }
            Op::Assert
            | Op::Dummy
            | Op::Call(_)
            | Op::JacobianOfFun(_)
            | Op::JacobianAt(_)
            | Op::LmGet(..)
            | Op::Pack(_)
            | Op::Unpack(_) => {
                panic!("{op:?} in a law")
            }
        }
    }

    /// Returns the first rule that fits, rules on Integers last: a law is about Floats where it may choose.
    fn prim(&mut self, p: Prim, args: &[Scheme]) -> Result<Scheme, String> {
        let on_integers = |rule: &(Vec<Scheme>, Scheme)| rule.0.contains(&Scheme::Known(Type::Integer));
        let mut rules: Vec<_> = p.rules().iter().filter_map(|r| r.at_arity(args.len())).collect();
        rules.sort_by_key(on_integers);
        let mut why = format!("{} does not take {} arguments", p.name(), args.len());
        for (params, result) in rules {
            let saved = self.bound.clone();
            match self.fit(&params, args) {
                Ok(renamed) => return Ok(rename(&result, renamed)),
                Err(reason) => why = format!("{}: {reason}", p.name()),
            }
            self.bound = saved;
        }
        Err(why)
    }

    /// Unifies parameters, their variables renamed apart, with arguments; gives the renaming.
    fn fit(&mut self, params: &[Scheme], args: &[Scheme]) -> Result<usize, String> {
        self.fresh += 1;
        let stamp = self.fresh;
        params.iter().zip(args).try_for_each(|(p, a)| self.unify(&rename(p, stamp), a))?;
        Ok(stamp)
    }

    pub(super) fn resolve(&self, s: &Scheme) -> Scheme {
        let all = |ts: &[Scheme]| ts.iter().map(|t| self.resolve(t)).collect();
        let below = |t: &Scheme| Box::new(self.resolve(t));
        match s {
            Scheme::Var(name, i) => match self.bound.get(&(name.clone(), *i)) {
                Some(t) => self.resolve(t),
                None => s.clone(),
            },
            Scheme::Tangent(t) => tangent(self.resolve(t)),
            Scheme::Known(t) => open(t),
            Scheme::Tuple(ts) => Scheme::Tuple(all(ts)),
            Scheme::Tensor(i, t) => Scheme::Tensor(below(i), below(t)),
            Scheme::Lam(a, b) => Scheme::Lam(below(a), below(b)),
            Scheme::LM(a, b) => Scheme::LM(below(a), below(b)),
            Scheme::Repeat(_) => panic!("`..` is not expanded"),
        }
    }

    fn unify(&mut self, a: &Scheme, b: &Scheme) -> Result<(), String> {
        let (a, b) = (self.resolve(a), self.resolve(b));
        if a == b {
            return Ok(());
        }
        match (&a, &b) {
            // A space that is its own tangent: any tangent space is.
            (Scheme::Var(n, i), Scheme::Tangent(t)) | (Scheme::Tangent(t), Scheme::Var(n, i))
                if **t == Scheme::Var(n.clone(), *i) =>
            {
                let own = Scheme::Tangent(Box::new(self.new_var()));
                self.bound.insert((n.clone(), *i), own);
                Ok(())
            }
            (Scheme::Var(n, i), other) | (other, Scheme::Var(n, i)) => {
                self.bound.insert((n.clone(), *i), other.clone());
                Ok(())
            }
            (Scheme::Tangent(s), Scheme::Tangent(t)) => self.unify(s, t),
            // Not the only solution, but one: a type whose tangent is itself.
            (Scheme::Tangent(s), Scheme::Tuple(ts)) | (Scheme::Tuple(ts), Scheme::Tangent(s)) => {
                let parts: Vec<Scheme> = ts.iter().map(|_| self.new_var()).collect();
                self.unify(s, &Scheme::Tuple(parts.clone()))?;
                parts.into_iter().zip(ts).try_for_each(|(p, t)| self.unify(&Scheme::Tangent(Box::new(p)), t))
            }
            (Scheme::Tangent(s), other) | (other, Scheme::Tangent(s)) => self.unify(s, other),
            (Scheme::Tuple(ss), Scheme::Tuple(ts)) if ss.len() == ts.len() => {
                ss.iter().zip(ts).try_for_each(|(s, t)| self.unify(s, t))
            }
            (Scheme::Tensor(s, t), Scheme::Tensor(u, v))
            | (Scheme::Lam(s, t), Scheme::Lam(u, v))
            | (Scheme::LM(s, t), Scheme::LM(u, v)) => {
                self.unify(s, u)?;
                self.unify(t, v)
            }
            _ => Err(format!("{a:?} is not {b:?}")),
        }
    }

    /// Returns a type for the scheme: every variable still free takes one from `choose`.
    pub(super) fn ground(&mut self, s: &Scheme, choose: &mut dyn FnMut() -> Type) -> Type {
        match self.resolve(s) {
            Scheme::Var(name, i) => {
                let ty = choose();
                self.bound.insert((name, i), Scheme::Known(ty.clone()));
                ty
            }
            Scheme::Known(t) => t,
            Scheme::Tangent(t) => self.ground(&t, choose).tangent(),
            Scheme::Tuple(ts) => Type::tuple(ts.iter().map(|t| self.ground(t, choose)).collect::<Vec<_>>()),
            Scheme::Tensor(i, t) => {
                // Takes the index type of vectors where any index type would do.
                let rank = self.ground(&i, &mut || Type::Integer).rank_of_index().expect("the type of an index");
                Type::Tensor(rank, Arc::new(self.ground(&t, choose)))
            }
            Scheme::Lam(a, b) => Type::lam(self.ground(&a, choose), self.ground(&b, choose)),
            Scheme::LM(a, b) => Type::lm(self.ground(&a, choose), self.ground(&b, choose)),
            Scheme::Repeat(_) => panic!("`..` is not expanded"),
        }
    }
}

fn rename(s: &Scheme, stamp: usize) -> Scheme {
    let all = |ts: &[Scheme]| ts.iter().map(|t| rename(t, stamp)).collect();
    let below = |t: &Scheme| Box::new(rename(t, stamp));
    match s {
        Scheme::Var(name, i) => Scheme::Var(format!("{name}{i}").into(), stamp),
        Scheme::Known(_) => s.clone(),
        Scheme::Tangent(t) => Scheme::Tangent(below(t)),
        Scheme::Tuple(ts) => Scheme::Tuple(all(ts)),
        Scheme::Tensor(i, t) => Scheme::Tensor(below(i), below(t)),
        Scheme::Lam(a, b) => Scheme::Lam(below(a), below(b)),
        Scheme::LM(a, b) => Scheme::LM(below(a), below(b)),
        Scheme::Repeat(_) => panic!("`..` is not expanded"),
    }
}

/// Returns a type as a scheme that can be unified part by part.
fn open(t: &Type) -> Scheme {
    match t {
        Type::Tuple(ts) => Scheme::Tuple(ts.iter().map(open).collect()),
        Type::Tensor(rank, t) => Scheme::Tensor(Box::new(open(&Type::index(*rank))), Box::new(open(t))),
        Type::Lam(s, t) => Scheme::Lam(Box::new(open(s)), Box::new(open(t))),
        Type::LM(s, t) => Scheme::LM(Box::new(open(s)), Box::new(open(t))),
        Type::Float | Type::Integer | Type::Bool | Type::String | Type::Record(_) => Scheme::Known(t.clone()),
    }
}

/// Returns the tangent of a resolved scheme.
fn tangent(s: Scheme) -> Scheme {
    match s {
        Scheme::Known(t) => open(&t.tangent()),
        Scheme::Tangent(t) => Scheme::Tangent(t),
        Scheme::Tuple(ts) => Scheme::Tuple(ts.into_iter().map(tangent).collect()),
        Scheme::Tensor(i, t) => Scheme::Tensor(i, Box::new(tangent(*t))),
        Scheme::Lam(a, b) => Scheme::Lam(a, Box::new(tangent(*b))),
        Scheme::Var(..) => Scheme::Tangent(Box::new(s)),
        Scheme::LM(..) => Scheme::Tuple(vec![]),
        Scheme::Repeat(_) => panic!("`..` is not expanded"),
    }
}
