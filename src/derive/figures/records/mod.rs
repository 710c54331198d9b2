//! Computes the values of a Jacobian once, with a record that the map reads.
//!
//! The Jacobian of `fig06_jacobian` repeats the branches of conditionals and the bodies of loops, once for the value
//! and once for the map. Here the value comes with a record of the intermediate values that the map needs:
//!
//! ```text
//! y = if c then e1 else e2        (y, r) = if c then (e1, r1) else (e2, r2)
//!                                 ∇[y] = if c then M1(r) else M2(r)                    Mi: ∇[ei], which reads ri
//! y = f(e)                        (y, r) = suffwdpass$f(e)      ∇[y] = ∂f(at r) ∘ ∇[e]
//! y = build(n, λi. e)             p = build(n, λi. (e, r)) .. ∇[y] = V(build(n, λi. M(p[i].2)))      see `loops`
//! ```
//!
//! `plan` decides which values are recorded and which are recomputed. Transposed and applied, the map part is the
//! second half of the reverse derivative, `revr$f`, and all before it is the first, `revf$f`: nothing has to
//! be cut.
//!
//! Source: working notes, sec. 5.4 (the map is manifested as a record of what f did) and 6.1 (the halves),
//! which give straight code; conditionals and loops are ours. Takes: a definition in normal form. Gives: value
//! bindings, and a block of maps.

mod branches;
mod iteration;
pub(super) mod loops;
pub mod plan;

pub(in crate::derive::figures) use branches::Readers;

use super::checkpoints::segments::Checkpoints;
use super::checkpoints::updates::Updates;
use super::fig06_jacobian::{NO_RECORDS, Nabla, NotDifferentiable, is_between_values, is_zero, refused};
use crate::derive::Checkpoint;
use lm::destination::selection;
use lm::effect::Effects;
use lm::law;
use lm::prim::{JacobianRule, Prim};
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Path, Pattern, Supply, Var, place};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A block in two parts.
pub struct Recorded {
    /// The value bindings.
    pub values: Vec<Binding>,
    /// The value: an atom.
    pub value: Expr,
    /// The map: a block, which may begin with recomputed values.
    pub map: Expr,
}

/// Facts about the functions that are called.
pub struct Callees<'a> {
    /// Tells whether the reverse derivative of a function is written by hand. It is then used as it is.
    pub by_hand: &'a dyn Fn(&FunName) -> bool,
    /// Tells whether the two halves of a function are written by hand.
    pub halves_by_hand: &'a dyn Fn(&FunName) -> bool,
    /// The records of functions, as far as they are known.
    pub records: &'a FxHashMap<FunName, Record>,
    /// The functions with effects, such as printing.
    pub effects: &'a Effects,
    /// The functions that change a part of an argument.
    pub updates: &'a Updates,
    /// The states of folds that are kept, where the program does not say.
    pub checkpoint: Checkpoint,
}

impl<'a> Callees<'a> {
    /// Returns the choice of states.
    pub(in crate::derive::figures) fn checkpoints(&self) -> Checkpoints<'a> {
        Checkpoints { option: self.checkpoint, effects: Some(self.effects), updates: Some(self.updates) }
    }
}

/// The reason why there is no result.
pub enum Failure {
    /// The function has no derivative.
    NotDifferentiable(NotDifferentiable),
    /// The records of these functions, which it calls, must be known first.
    Unknown(Vec<FunName>),
}

/// Returns the value of a definition, and its Jacobian.
///
/// If the name lists parameters (`[wrt$1 f]`), the Jacobian is with respect to these.
pub fn recorded(def: &Def, supply: &mut Supply, callees: &Callees) -> Result<Recorded, Failure> {
    let mut unknown = Vec::new();
    let mut cx = Nabla::of_parameters(def, supply, callees.by_hand);
    cx.checkpoints = callees.checkpoints();
    let mut recorder = Recorder { name: &def.fun.name, cx, callees, unknown: &mut unknown };
    let parts = recorder.parts(&def.body, true).map_err(|reason| Failure::NotDifferentiable(refused(def, reason)))?;
    is_between_values(def).map_err(Failure::NotDifferentiable)?;
    if unknown.is_empty() { Ok(parts) } else { Err(Failure::Unknown(unknown)) }
}

/// Computes the values of a definition, with records.
pub(in crate::derive::figures) struct Recorder<'a, 'b> {
    /// The function.
    pub(in crate::derive::figures) name: &'b FunName,
    pub(in crate::derive::figures) cx: Nabla<'a>,
    pub(in crate::derive::figures) callees: &'b Callees<'b>,
    /// The functions whose records must be known first.
    pub(in crate::derive::figures) unknown: &'b mut Vec<FunName>,
}

impl Recorder<'_, '_> {
    /// Returns a block in two parts. The maps that were bound before are the outermost one's.
    fn parts(&mut self, e: &Expr, is_outermost: bool) -> Result<Recorded, String> {
        let outer = if is_outermost { Vec::new() } else { std::mem::take(&mut self.cx.out) };
        let result = self.record_block(e);
        let all = std::mem::replace(&mut self.cx.out, outer);
        let (value, map) = result?;
        let (maps, values) = apart(all);
        Ok(Recorded { values, value, map: Expr::block(maps, map) })
    }

    /// Returns the value of a block, an atom, and its map; what they need goes to `out`.
    fn record_block(&mut self, e: &Expr) -> Result<(Expr, Expr), String> {
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        if result.is_atom() {
            return Ok((result.clone(), self.cx.nabla(result)?));
        }
        let y = self.cx.supply.fresh("y", result.ty().clone());
        self.binding(&Binding { pattern: Pattern::Var(y.clone()), rhs: result.clone() })?;
        let value = Expr::var(&y);
        Ok((value.clone(), self.cx.variable(&y, &value)))
    }

    fn binding(&mut self, b: &Binding) -> Result<(), String> {
        let before = self.cx.out.len();
        self.value_and_map(b)?;
        place(&mut self.cx.out[before..], b.rhs.span());
        Ok(())
    }

    fn value_and_map(&mut self, b: &Binding) -> Result<(), String> {
        if b.rhs.ty().mentions_record() {
            return Err(NO_RECORDS.into());
        }
        let Kind::App(op, args) = b.rhs.kind() else { return self.cx.binding(b) };
        let has_record = matches!(
            op,
            Op::If
                | Op::Call(_)
                | Op::Prim(Prim::Build | Prim::SumBuild | Prim::Fold | Prim::Checkpoint | Prim::Scanl | Prim::Loop)
        );
        // Segments compute their states again. They keep no records of them.
        let has_record = has_record && self.cx.checkpoints.segmented(&b.rhs).is_none();
        if !has_record || !b.rhs.ty().is_differentiable() || b.rhs.ty().mentions_lm() {
            self.cx.binding(b)?;
            self.read_value(b);
            return Ok(());
        }
        let y = match &b.pattern {
            Pattern::Var(y) => y.clone(),
            Pattern::Tuple(_) => self.cx.supply.fresh("t", b.rhs.ty().clone()),
        };
        let whole = Binding { pattern: Pattern::Var(y.clone()), rhs: b.rhs.clone() };
        match (op, args.as_slice()) {
            (Op::If, [c, yes, no]) => self.conditional(&y, &whole, c, yes, no)?,
            (Op::Call(f), args) => self.call(&y, &whole, f, args)?,
            (Op::Prim(Prim::Build), [n, f]) => self.build(&y, &whole, n, f)?,
            (Op::Prim(Prim::SumBuild), [.., n, f]) => self.sumbuild(&y, &whole, n, f)?,
            (Op::Prim(Prim::Fold), [f, a, v]) | (Op::Prim(Prim::Checkpoint), [_, f, a, v]) => {
                self.fold(&y, &whole, [f, a, v])?
            }
            (Op::Prim(Prim::Scanl), [f, a, v]) => self.scanl(&y, &whole, [f, a, v])?,
            (Op::Prim(Prim::Loop), [n, f, a, w]) => self.iteration(&y, [n, f, a, w])?,
            _ => unreachable!("an operator that records"),
        }
        match &b.pattern {
            Pattern::Var(_) => Ok(()),
            Pattern::Tuple(_) => self.cx.binding(&Binding { pattern: b.pattern.clone(), rhs: Expr::var(&y) }),
        }
    }

    /// The Jacobian of a primitive by its law, so that the map reads no more than it needs. It reads values
    /// instead of recomputing them: `∂exp(x) = S(exp(x)) = S(y)`, where y = exp(x).
    fn read_value(&mut self, b: &Binding) {
        let (Pattern::Var(y), Kind::App(Op::Prim(p), args)) = (&b.pattern, b.rhs.kind()) else { return };
        let JacobianRule::Law(_) = p.jacobian() else { return };
        let Some(Binding { rhs, .. }) = self.cx.out.last_mut() else { return };
        let Some([jacobian, inner]) = rhs.args_of_prim(Prim::LmCompose) else { return };
        if *jacobian != Expr::app(Op::JacobianOf(*p), args.clone()) {
            return;
        }
        let read = jacobian_at_value(*p, args, &b.rhs, y);
        *rhs = Expr::prim(Prim::LmCompose, [read, inner.clone()]);
    }

    /// Only what can change is differentiated, as in `jacobian`; derivatives by hand are taken whole.
    fn call(&mut self, y: &Var, b: &Binding, f: &Arc<Fun>, args: &[Expr]) -> Result<(), String> {
        let maps = self.cx.nablas(args)?;
        let varying: Vec<usize> = (0..args.len()).filter(|i| !is_zero(&maps[*i])).collect();
        let Some((at, varying)) = self.recorded_call(y, b, f, args, varying) else { return self.cx.binding(b) };
        let mut maps: Vec<Expr> = varying.iter().map(|i| maps[*i].clone()).collect();
        let inner = if maps.len() == 1 { maps.remove(0) } else { Expr::prim(Prim::LmVCat, maps) };
        self.cx.bind_map(y, Expr::prim(Prim::LmCompose, [at, inner]));
        Ok(())
    }

    /// Binds the value of a call, and the record of the function. Gives the Jacobian at that record, and the arguments
    /// that it is with respect to; `None`, and binds nothing, where there is no record to call for.
    pub(in crate::derive::figures) fn recorded_call(
        &mut self,
        y: &Var,
        b: &Binding,
        f: &Arc<Fun>,
        args: &[Expr],
        varying: Vec<usize>,
    ) -> Option<(Expr, Vec<usize>)> {
        let can_change: Vec<usize> = (0..args.len()).filter(|i| args[*i].ty().is_differentiable()).collect();
        let varying: Vec<usize> = varying.into_iter().filter(|i| can_change.contains(i)).collect();
        let has_halves = (self.callees.halves_by_hand)(&f.name);
        if varying.is_empty() || (self.callees.by_hand)(&f.name) && !has_halves {
            return None;
        }
        let is_whole = has_halves || varying.len() == can_change.len();
        let (of, varying) = match is_whole {
            true => (f.clone(), (0..args.len()).collect()),
            false => {
                let paths: Vec<Path> = varying.iter().map(|i| vec![i + 1]).collect();
                (Arc::new(Fun { name: f.name.restricted(&paths), ..(**f).clone() }), varying)
            }
        };
        let Some(record) = self.callees.records.get(&of.name) else {
            self.unknown.push(of.name.clone());
            return None;
        };
        let r = self.cx.supply.fresh("r", record.ty.clone());
        let result = Type::tuple([f.result.clone(), record.ty.clone()]);
        let half = Fun { name: of.name.derived(Derivative::SufFwdPass), params: f.params.clone(), result };
        let rhs = Expr::app(Op::Call(Arc::new(half)), args.to_vec()).at(b.rhs.span());
        self.cx.out.push(Binding { pattern: Pattern::Tuple(vec![y.clone(), r.clone()]), rhs });
        let spaces = [of.varying_of(args), Expr::var(y)].map(|e| Expr::witness(&e));
        let r = self.with_arguments(&r, record, args);
        let at = Expr::app(Op::JacobianAt(of), [vec![r], spaces.to_vec()].concat());
        Some((at, varying))
    }

    /// Returns the record, its components that are parts of arguments taken from there: an argument that is bound outside
    /// of a loop is not recorded at each step.
    fn with_arguments(&mut self, r: &Var, record: &Record, args: &[Expr]) -> Expr {
        if record.arguments.iter().all(Option::is_none) {
            return Expr::var(r);
        }
        let argument = |k: usize| record.arguments[k].as_ref().map(|part| part.of(args));
        let Some(types) = record.ty.as_tuple().filter(|_| !record.is_one) else {
            return self.named(argument(0).expect("its one value is an argument"));
        };
        let parts: Vec<Var> = types.iter().map(|ty| self.cx.supply.fresh("r", ty.clone())).collect();
        self.cx.out.push(Binding { pattern: Pattern::Tuple(parts.clone()), rhs: Expr::var(r) });
        let part = |(k, x): (usize, &Var)| argument(k).map_or_else(|| Expr::var(x), |e| self.named(e));
        Expr::tuple(parts.iter().enumerate().map(part).collect::<Vec<_>>())
    }

    /// Returns an atom of the value of a term, bound here if need be.
    fn named(&mut self, e: Expr) -> Expr {
        if e.is_atom() {
            return e;
        }
        let x = self.cx.supply.fresh("r", e.ty().clone());
        self.cx.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: e });
        Expr::var(&x)
    }

    /// Differentiates a binding whose value has no record.
    pub(in crate::derive::figures) fn plainly(&mut self, b: &Binding) {
        self.cx.out.push(Binding { pattern: b.pattern.clone(), rhs: renamed(&b.rhs, self.cx.supply) });
    }
}

impl Recorded {
    /// Returns the block's value, and its components, as bindings that read them in `value`.
    pub(in crate::derive::figures) fn where_it_is(&self, value: &Expr) -> Vec<Binding> {
        let Some(y) = self.value.as_var() else { return Vec::new() };
        let read = |x: &Var, rhs: Expr| Binding { pattern: Pattern::Var(x.clone()), rhs };
        let mut bindings = vec![read(y, value.clone())];
        let is_value = |b: &&Binding| b.pattern == Pattern::Var(y.clone());
        let parts = self.values.iter().find(is_value).and_then(|b| b.rhs.args_of(&Op::Tuple)).unwrap_or_default();
        let mut seen: Vec<&Var> = vec![y];
        for (i, x) in parts.iter().enumerate().filter_map(|(i, part)| Some((i, part.as_var()?))) {
            if !seen.contains(&x) {
                seen.push(x);
                bindings.push(read(x, Expr::get(i + 1, value.clone())));
            }
        }
        let bound = |x: &Var| self.values.iter().any(|b| b.pattern.vars().contains(x));
        bindings.retain(|b| b.pattern.vars().iter().all(bound));
        bindings
    }
}

/// The most values that a record passes up one by one. A larger record is one value with a name, as that of a recursive
/// function is. Otherwise a function that calls another twice would have a record twice as large, at each level.
pub const FLAT_RECORD: usize = 32;

/// Returns the number of values in a record, those in tuples one by one.
pub fn components(record: &[Var]) -> usize {
    fn of_type(ty: &Type) -> usize {
        ty.as_tuple().map_or(1, |parts| parts.iter().map(of_type).sum())
    }
    record.iter().map(|x| of_type(x.ty())).sum()
}

/// A record, as a caller sees it.
#[derive(Debug)]
pub struct Record {
    /// Its type.
    pub ty: Type,
    /// Whether the record is one value, not a tuple of several.
    pub is_one: bool,
    /// For each value of the record, the part of the function's arguments that it equals.
    pub arguments: Vec<Option<Part>>,
}

/// A part of the arguments of a function: a parameter, from 0, and the components on the way, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    parameter: usize,
    path: Path,
}

/// The variables that are parts of arguments, by number.
type Parts = FxHashMap<u32, Part>;

impl Part {
    /// Returns the part that a term reads.
    fn read(e: &Expr, known: &Parts) -> Option<Part> {
        let (x, path) = selection(e)?;
        Some(known.get(&x.id())?.below(&path))
    }

    fn below(&self, path: &[usize]) -> Part {
        Part { parameter: self.parameter, path: [self.path.as_slice(), path].concat() }
    }

    fn of(&self, args: &[Expr]) -> Expr {
        self.path.iter().fold(args[self.parameter].clone(), |e, i| Expr::get(*i, e))
    }
}

impl Record {
    /// Returns the record that a first half gives.
    pub fn of(first: &Def) -> Record {
        let ty = first.fun.result.as_tuple().expect("a value and a record")[1].clone();
        let (bindings, result) = first.body.as_block();
        let whole = |(parameter, x): (usize, &Var)| (x.id(), Part { parameter, path: Vec::new() });
        let mut known: Parts = first.params.iter().enumerate().map(whole).collect();
        for b in bindings {
            let Some(part) = Part::read(&b.rhs, &known) else { continue };
            match &b.pattern {
                Pattern::Var(x) => drop(known.insert(x.id(), part)),
                Pattern::Tuple(xs) => {
                    known.extend(xs.iter().enumerate().map(|(i, x)| (x.id(), part.below(&[i + 1]))));
                }
            }
        }
        let record = result.args_of(&Op::Tuple).map(|pair| pair[1].clone());
        let parts = record.as_ref().and_then(|r| r.args_of(&Op::Tuple));
        let arguments = match (&record, parts) {
            (_, Some(parts)) => parts.iter().map(|e| Part::read(e, &known)).collect(),
            (Some(one), None) => vec![Part::read(one, &known)],
            (None, None) => Vec::new(),
        };
        Record { ty, is_one: parts.is_none(), arguments }
    }

    /// Returns a record with only a type.
    pub fn opaque(ty: Type) -> Record {
        Record { ty, is_one: true, arguments: Vec::new() }
    }
}

/// Returns the bindings of maps, and all others.
pub(in crate::derive::figures) fn apart(bindings: Vec<Binding>) -> (Vec<Binding>, Vec<Binding>) {
    bindings.into_iter().partition(|b| b.rhs.ty().as_lm().is_some())
}

fn vars(bindings: &[Binding]) -> Vec<Var> {
    bindings.iter().flat_map(|b| b.pattern.vars().to_vec()).collect()
}

/// Returns the Jacobian of a primitive by its law, which reads the value y of `e = p(args)` where it is computed again.
pub(in crate::derive::figures) fn jacobian_at_value(p: Prim, args: &[Expr], e: &Expr, y: &Var) -> Expr {
    replaced(&witnesses(&law::jacobian_of(p, args)), e, &Expr::var(y))
}

/// Returns the map with dummies for witnesses of numbers.
fn witnesses(m: &Expr) -> Expr {
    match m.kind() {
        Kind::App(op @ Op::Prim(Prim::LmScale), args) => {
            Expr::app(op.clone(), vec![Expr::witness(&args[0]), args[1].clone()])
        }
        Kind::App(op @ Op::Prim(Prim::LmOne | Prim::LmZero), args) => {
            Expr::app(op.clone(), args.iter().map(Expr::witness).collect())
        }
        _ => m.map_children(witnesses),
    }
}

fn replaced(e: &Expr, what: &Expr, by: &Expr) -> Expr {
    if e == what { by.clone() } else { e.map_children(|c| replaced(c, what, by)) }
}
