//! The forward half: `revf[c] : S => (T, X)`, the value of c and a tape for `revr[c]`.
//!
//! ```text
//! revf[I](s) = (s, ())            revf[K(k)]() = (k, ())            revf[P[i1..im/n]](s) = ((s.i1, .., s.im), ())
//! revf[F(f)](s) = (f(s), s)                         where f has halves: revf$f(s)
//! revf[c1 ; c2](r) = let (s, x1) = revf[c1](r) in let (t, x2) = revf[c2](s) in (t, (x1, x2))
//! revf[(c1, .., cn)](s) = ((t1, .., tn), (x1, .., xn))              where (ti, xi) = revf[ci](s)
//! revf[L(x, cr, cb)](s) = let (x, xr) = revf[cr](s) in let (t, xb) = revf[cb](s ▷ x) in (t, (xr, xb))
//! revf[IF(c1, c2, c3)](s) = let c = c1(s) in let (t, r) = if c then revf[c2](s) else revf[c3](s) in (t, (c, r))
//! revf[B(cs, i, ce)](s) = unzip(B(cs, i, revf[ce])(s))
//! revr[B(cs, i, ce)](x, dt) = Σi revr[ce](x[i], dt[i])              without the cotangent of i, which is ()
//! revr[B[sumbuild](cs, i, ce)](x, dt) = Σi revr[ce](x[i], dt)
//! revr[B[fold](p, ce, ca, cv)](x, dt): from the last step to the first, ds = revr[ce](x[i], ds), summed beside ds
//! ```
//!
//! A tape has the shape of c, and its leaves are variables: x is no value in c's own scope. Where a scope ends, at a
//! branch or the body of a loop, what revr reads is passed out, as `records` does. There the record of a branch shares
//! slots with that of the other branch, and that of a loop is a tensor.
//!
//! Source: working notes, sec. 6.1. Takes: CL of a normal form. Gives: value bindings, and a block of maps.

use super::reverse::{Reverse, component};
use super::slots::{Slot, chosen, constant, targets, values, varying};
use super::tape::{Bound, Choice, Cotangent, Inner, Part, Step, Tape, Targets};
use super::{Def, Term, back};
use crate::derive::figures::fig06_arrays::{at, element, tuple_or_one};
use crate::derive::figures::fig06_jacobian::{Nabla, can_be_bound, is_between_values, is_zero, refused};
use crate::derive::figures::records::{Callees, Failure, Recorded, Recorder, apart, jacobian_at_value};
use lm::law::sum;
use lm::prim::{JacobianRule, Prim};
use lm::term::{self, Binding, Expr, Op, Path, Pattern, Span, Supply, Var, place};
use lm::types::Type;

/// Returns the two halves of a definition in CL, of a normal form: its values, and the map from the cotangent of its
/// result to that of its argument.
///
/// If the name lists parameters (`[wrt$1 f]`), the halves are with respect to these.
pub fn split(def: &Def, supply: &mut Supply, callees: &Callees) -> Result<Recorded, Failure> {
    let mut unknown = Vec::new();
    let normal = term::Def { fun: def.fun.clone(), params: def.params.clone(), body: Expr::tuple([]) };
    let name = &def.fun.name;
    let varying: Vec<Path> =
        name.varying().map_or_else(|| (1..=def.params.len()).map(|i| vec![i]).collect(), <[Path]>::to_vec);
    let mut cx = Nabla::new(supply, Expr::tuple([]), callees.by_hand);
    cx.checkpoints = callees.checkpoints();
    let mut recorder = Recorder { name, cx, callees, unknown: &mut unknown };
    let slot = |(i, x): (usize, &Var)| {
        let varies = x.ty().is_differentiable() && varying.iter().any(|path| path[0] == i + 1);
        Slot { value: Expr::var(x), varies }
    };
    let env: Vec<Slot> = def.params.iter().enumerate().map(slot).collect();
    let refuse = |reason| Failure::NotDifferentiable(refused(&normal, reason));
    let body = recorder.body(&def.body, &env).map_err(refuse)?;
    is_between_values(&normal).map_err(Failure::NotDifferentiable)?;
    let whole = Expr::witness(&body.value);
    let (Values { values, value }, body) = body.inner(whole, env.len());
    let map = recorder.whole(&body, &env, &varying);
    let parts = Recorded { values, value, map };
    if unknown.is_empty() { Ok(parts) } else { Err(Failure::Unknown(unknown)) }
}

/// `revf` of a term with a scope of its own.
pub(super) struct Body {
    pub(super) values: Vec<Binding>,
    /// An atom.
    pub(super) value: Expr,
    /// The values that are the components of the value, if there are several.
    parts: Vec<Expr>,
    tape: Tape,
}

/// The forward half of a body.
pub(super) struct Values {
    pub(super) values: Vec<Binding>,
    pub(super) value: Expr,
}

impl Body {
    /// Returns the forward half, and what the reverse half needs. `whole` is a witness of the value, known outside.
    pub(super) fn inner(self, whole: Expr, size: usize) -> (Values, Inner) {
        let Body { values, value, parts, tape } = self;
        (Values { values, value }, Inner { tape, values: parts.len(), whole, size })
    }
}

/// The map of a body: `revr`, and where each part of it leads.
pub(super) struct Reversed {
    pub(super) maps: Vec<Binding>,
    pub(super) ds: Vec<Cotangent>,
    pub(super) from: Expr,
}

impl Recorder<'_, '_> {
    /// `revf[c]`, with bindings of its own.
    pub(super) fn body(&mut self, c: &Term, env: &[Slot]) -> Result<Body, String> {
        let outer = std::mem::take(&mut self.cx.out);
        let result = self.forward(c, env, None);
        let mut values = std::mem::replace(&mut self.cx.out, outer);
        let (slots, tape) = result?;
        let parts = super::slots::values(&slots);
        let value = match parts.as_slice() {
            [one] => one.clone(),
            many => {
                let y = self.cx.supply.fresh("y", Type::tuple(many.iter().map(|e| e.ty().clone())));
                values.push(Binding { pattern: Pattern::Var(y.clone()), rhs: Expr::tuple(many.to_vec()) });
                Expr::var(&y)
            }
        };
        Ok(Body { values, value, parts, tape })
    }

    /// `revf[c]`: the values of c, as atoms, and its tape. Its bindings go to `out`; a result of its own is bound to
    /// `name`.
    fn forward(&mut self, c: &Term, env: &[Slot], name: Option<&Var>) -> Result<(Vec<Slot>, Tape), String> {
        let (mut c, mut env, mut steps) = (c, env.to_vec(), Vec::new());
        let (slots, last) = loop {
            match c {
                Term::Let(pattern, rhs, body) => {
                    let x = if let Pattern::Var(x) = pattern { Some(x) } else { None };
                    let (slots, tape) = self.forward(rhs, &env, x)?;
                    let bound = self.bind(pattern, &slots);
                    match (pattern, slots.as_slice()) {
                        // Another name: values have one, and so do their cotangents.
                        (Pattern::Var(_), [one]) => env.push(one.clone()),
                        _ => {
                            let vars = pattern.vars().iter().zip(&bound.varies);
                            env.extend(vars.map(|(x, varies)| Slot { value: Expr::var(x), varies: *varies }));
                        }
                    }
                    steps.push(Step::Let(tape, bound));
                    c = body;
                }
                Term::Compose(first, after) => {
                    let (slots, tape) = self.forward(first, &env, None)?;
                    steps.push(Step::Then(tape, slots.len()));
                    env = slots;
                    c = after;
                }
                Term::Identity => break (env.clone(), Tape::Identity),
                Term::Pruning { chosen, .. } => {
                    break (chosen.iter().map(|i| env[i - 1].clone()).collect(), Tape::Pruning(chosen.clone()));
                }
                Term::Constant(k) => break (vec![constant(Expr::constant(k.clone()))], Tape::Zero),
                Term::Dummy(ty) => break (vec![constant(Expr::dummy(ty.clone()))], Tape::Zero),
                Term::Tuple(parts) => break self.tuple(parts, &env)?,
                Term::Function { .. } | Term::If(..) | Term::Binder { .. } => break self.operator(c, &env, name)?,
            }
        };
        let tape = if steps.is_empty() { last } else { Tape::Block(steps, Box::new(last)) };
        Ok((slots, tape))
    }

    /// Binds the values of a let.
    fn bind(&mut self, pattern: &Pattern, slots: &[Slot]) -> Bound {
        let any = slots.iter().any(|slot| slot.varies);
        let is_bound = matches!((pattern, slots), (Pattern::Var(x), [one]) if one.value.as_var() == Some(x));
        if !is_bound {
            let rhs = tuple_or_one(&values(slots));
            self.cx.out.push(Binding { pattern: pattern.clone(), rhs });
        }
        let varies = |(i, x): (usize, &Var)| {
            let from = if slots.len() == pattern.vars().len() { slots[i].varies } else { any };
            from && x.ty().is_differentiable()
        };
        let varies = pattern.vars().iter().enumerate().map(varies).collect();
        Bound { pattern: pattern.clone(), varies, values: values(slots) }
    }

    fn tuple(&mut self, parts: &[Term], env: &[Slot]) -> Result<(Vec<Slot>, Tape), String> {
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let (slots, tape) = self.forward(part, env, None)?;
            all.push(self.one_value(slots, tape, env.len()));
        }
        let (slots, tapes) = all.into_iter().unzip();
        Ok((slots, Tape::Tuple(tapes)))
    }

    /// Returns several values as one, in an environment of `size` values.
    fn one_value(&mut self, mut slots: Vec<Slot>, tape: Tape, size: usize) -> (Slot, Tape) {
        if slots.len() == 1 {
            return (slots.remove(0), tape);
        }
        let parts = values(&slots);
        let t = self.cx.supply.fresh("t", Type::tuple(parts.iter().map(|e| e.ty().clone())));
        let bound = self.bind(&Pattern::Var(t.clone()), &slots);
        let slot = Slot { value: Expr::var(&t), varies: bound.varies[0] };
        (slot, Tape::Block(vec![Step::Let(tape, bound)], Box::new(Tape::Pruning(vec![size + 1]))))
    }

    /// `revf` of F, IF or B, whose result is bound.
    fn operator(&mut self, c: &Term, env: &[Slot], name: Option<&Var>) -> Result<(Vec<Slot>, Tape), String> {
        let e = back::applied(c, &values(env), self.cx.supply);
        can_be_bound(e.ty())?;
        let y = name.cloned().unwrap_or_else(|| self.cx.supply.fresh("y", e.ty().clone()));
        let (span, before) = (e.span(), self.cx.out.len());
        let b = Binding { pattern: Pattern::Var(y.clone()), rhs: e };
        let tape = self.leaf(c, env, &y, &b)?;
        place(&mut self.cx.out[before..], span);
        Ok((vec![Slot { value: Expr::var(&y), varies: !matches!(tape, Tape::Zero) }], tape))
    }

    fn leaf(&mut self, c: &Term, env: &[Slot], y: &Var, b: &Binding) -> Result<Tape, String> {
        if varying(env).is_empty() || !y.ty().is_differentiable() {
            self.plainly(b);
            return Ok(Tape::Zero);
        }
        if self.cx.checkpoints.segmented(&b.rhs).is_some() {
            // Segments compute their states again. They keep no records of them.
            return self.local(env, y, b);
        }
        match c {
            Term::If(condition, yes, no) => self.branches_of(y, b, [condition, yes, no], env),
            Term::Function { op, .. } => self.function(op, env, y, b),
            Term::Binder { op: Op::Prim(p), args, .. } => self.binder(*p, args, env, y, b),
            _ => unreachable!("an operator"),
        }
    }

    fn function(&mut self, op: &Op, env: &[Slot], y: &Var, b: &Binding) -> Result<Tape, String> {
        let (args, span) = (values(env), b.rhs.span());
        let each =
            |maps: Vec<(usize, Expr)>| Tape::Each(maps.into_iter().filter(|(i, _)| env[*i].varies).collect(), span);
        let tape = match (op, args.as_slice()) {
            (Op::Call(f), args) => {
                let varying = (0..args.len()).filter(|i| env[*i].varies).collect();
                let Some((at, chosen)) = self.recorded_call(y, b, f, args, varying) else {
                    return self.local(env, y, b);
                };
                return Ok(gathered(transposed(at), &chosen, env, span));
            }
            (Op::Get(i, n), [t]) => each(vec![(0, transposed(Expr::app(Op::LmGet(*i, *n), vec![Expr::witness(t)])))]),
            // Cotangents pass as they are: a map with a witness of e would be one more reader of e.
            (Op::Assert, [_, _]) if env[1].varies => Tape::Pruning(vec![2]),
            (Op::Assert, [_, _]) => Tape::Zero,
            (Op::Prim(Prim::Index), [i, v]) => each(vec![(1, at(i, v))]),
            (Op::Prim(Prim::DeltaAt), [_, i, _]) => each(vec![(2, element(i, &Expr::var(y)))]),
            (Op::Prim(Prim::Sum), [v]) if y.ty().has_fixed_shape() => {
                each(vec![(0, transposed(Expr::prim(Prim::LmSum, [v.clone()])))])
            }
            (Op::Prim(Prim::VecInit), args) => {
                let part = |i: usize| (i, element(&Expr::integer(i as i64), &Expr::var(y)));
                each((0..args.len()).map(part).collect())
            }
            (Op::Prim(p), args) => match p.jacobian() {
                JacobianRule::Zero => Tape::Zero,
                JacobianRule::Law(_) => {
                    let m = jacobian_at_value(*p, args, &b.rhs, y);
                    match m.args_of_prim(Prim::LmHCat) {
                        _ if is_zero(&m) => Tape::Zero,
                        Some(maps) if maps.len() == args.len() => {
                            each(maps.iter().cloned().map(transposed).enumerate().collect())
                        }
                        _ => gathered(transposed(m), &(0..args.len()).collect::<Vec<_>>(), env, span),
                    }
                }
                JacobianRule::Structural => return self.local(env, y, b),
            },
            _ => return self.local(env, y, b),
        };
        self.cx.out.push(b.clone());
        Ok(tape)
    }

    /// Returns the transpose of the Jacobian of one operator, with respect to the values that vary.
    pub(super) fn local(&mut self, env: &[Slot], y: &Var, b: &Binding) -> Result<Tape, String> {
        let chosen = varying(env);
        let inputs: Vec<Expr> = chosen.iter().map(|i| env[*i].value.clone()).collect();
        let space = Expr::witness(&tuple_or_one(&inputs));
        let checkpoints = self.cx.checkpoints;
        let mut inner = Nabla::new(self.cx.supply, space.clone(), self.cx.written);
        inner.checkpoints = checkpoints;
        for (k, x) in inputs.iter().filter_map(Expr::as_var).enumerate() {
            let map = match inputs.len() {
                1 => Expr::prim(Prim::LmOne, [space.clone()]),
                n => Expr::app(Op::LmGet(k + 1, n), vec![space.clone()]),
            };
            inner.maps.insert(x.id(), map);
        }
        inner.binding(b)?;
        let map = inner.variable(y, &Expr::var(y));
        let (maps, values) = apart(std::mem::take(&mut inner.out));
        self.cx.out.extend(values);
        let map = Expr::block(maps, map);
        Ok(if is_zero(&map) { Tape::Zero } else { gathered(transposed(map), &chosen, env, b.rhs.span()) })
    }

    fn branches_of(&mut self, y: &Var, b: &Binding, c: [&Term; 3], env: &[Slot]) -> Result<Tape, String> {
        let [condition, yes, no] = c;
        let condition = self.forward(condition, env, None)?.0.remove(0).value;
        let (yes, no) = (self.body(yes, env)?, self.body(no, env)?);
        let whole = Expr::witness(&Expr::var(y));
        let start = vec![Expr::prim(Prim::LmOne, [whole.clone()])];
        let [(yes, of_yes), (no, of_no)] = [yes, no].map(|body| body.inner(whole.clone(), env.len()));
        let reversed = [&of_yes, &of_no].map(|body| self.reversed(body, whole.clone(), start.clone()));
        let numbers = targets(env, &[&reversed[0].ds, &reversed[1].ds]);
        if numbers.is_empty() {
            self.plainly(b);
            return Ok(Tape::Zero);
        }
        let targets = Targets { values: chosen(env, &numbers), numbers };
        let [by_yes, by_no] = reversed;
        let (yes, no) = (self.recorded(yes, by_yes, &targets), self.recorded(no, by_no, &targets));
        let readers = self.branches(y, b, &condition, yes, no);
        let span = b.rhs.span();
        Ok(Tape::If(Box::new(Choice { condition, branches: [of_yes, of_no], readers, targets, span })))
    }

    /// `revr` of a body, after a map from T.
    pub(super) fn reversed(&mut self, body: &Inner, from: Expr, start: Cotangent) -> Reversed {
        let mut reverse = Reverse { supply: self.cx.supply, from: from.clone(), out: Vec::new() };
        let ds = reverse.body(body, start);
        Reversed { maps: reverse.out, ds, from }
    }

    /// Returns a body with the map to some values of its environment.
    pub(super) fn recorded(&mut self, body: Values, reversed: Reversed, targets: &Targets) -> Recorded {
        let Reversed { maps, mut ds, from } = reversed;
        let mut reverse = Reverse { supply: self.cx.supply, from, out: maps };
        let ds = targets.numbers.iter().map(|i| std::mem::take(&mut ds[*i])).collect();
        let map = reverse.vcat(ds, &targets.values);
        Recorded { values: body.values, value: body.value, map: Expr::block(reverse.out, map) }
    }

    /// Returns the map of a whole function.
    fn whole(&mut self, body: &Inner, env: &[Slot], varying: &[Path]) -> Expr {
        let from = body.whole.clone();
        let start = vec![Expr::prim(Prim::LmOne, [from.clone()])];
        let Reversed { maps, mut ds, from } = self.reversed(body, from, start);
        let mut reverse = Reverse { supply: self.cx.supply, from, out: maps };
        for (d, path) in ds.iter_mut().zip(0..env.len()) {
            let is_shared = varying.iter().filter(|other| other[0] == path + 1).count() > 1;
            if is_shared && !d.is_empty() {
                *d = vec![reverse.shared("R", std::mem::take(d))];
            }
        }
        let mut parts = Vec::new();
        for path in varying {
            let (mut value, mut part) = (env[path[0] - 1].value.clone(), Part::new());
            for i in &path[1..] {
                part.push((*i, Expr::witness(&value)));
                value = Expr::get(*i, value);
            }
            let d = &ds[path[0] - 1];
            let d = if d.is_empty() { Vec::new() } else { vec![component(&sum(d.clone()).expect("some"), &part)] };
            parts.push((d, value));
        }
        let (ds, values): (Vec<Cotangent>, Vec<Expr>) = parts.into_iter().unzip();
        let map = reverse.vcat(ds, &values);
        Expr::block(reverse.out, map)
    }
}

pub(super) fn transposed(m: Expr) -> Expr {
    Expr::prim(Prim::LmTranspose, [m])
}

/// Returns the tape of a map to the tuple of these values.
pub(super) fn gathered(map: Expr, numbers: &[usize], env: &[Slot], span: Span) -> Tape {
    let targets = Targets { numbers: numbers.to_vec(), values: chosen(env, numbers) };
    let parts = targets.parts().into_iter().filter(|(i, _)| env[*i].varies).collect();
    Tape::Gathered(map, parts, span)
}
