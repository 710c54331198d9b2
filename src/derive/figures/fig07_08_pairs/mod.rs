//! Pairs values with their derivatives: one traversal gives both, so they share all work.
//!
//! ```text
//! ∇̄[k] = (k, 0)      ∇̄[x] = x̄      ∇̄[(e1, .., en)] = ∇̄[e1] ×̄ .. ×̄ ∇̄[en]
//! ∇̄[let x = e1 in e2] = let x̄ = ∇̄[e1] in ∇̄[e2]
//! ∇̄[if b then e1 else e2] = if b then ∇̄[e1] else ∇̄[e2]
//! ∇̄[build(n, λi. e)] = let (v, m) = unzip(build(n, λi. ∇̄[e])) in (v, V(m))
//! ∇̄[fold(λ(s, x). e, a, v)] = fold(λ(s̄, x̄). ∇̄[e], ∇̄[a], ∇̄[v])
//! ```
//!
//! There are four kinds of partners, which differ in the rule for calls:
//!
//! ```text
//! tupled         x̄ = (x, m), m : LM S X     ∇̄[f(e)] = let (y, m) = tupled$f(e) in (y, m ∘ ∇[e])
//! polymorphic    x̄ = (x, m), m : LM a X     ∇̄[f(e)] = polymorphic$f(ē)
//! polymorphicR   x̄ = (x, m), m : LM X a     ∇̄[f(e)] = polymorphicR$f(ē)
//! applied        x̄ = (x, dx)                ∇̄[f(e)] = jvp$f(ē)
//! ```
//!
//! The third is the second transposed: each m is mᵀ, so × is ⋈, V is H, and J ∘ m is m ∘ Jᵀ. At m = 1 it is reverse
//! mode, rev$f(x, dr) = ∂_R f(x, 1) ⊙ dr.
//!
//! The last is the first or the second applied to a vector dx, by (v, m) ⊙ dx = (v, m ⊙ dx) and the crucial
//! property (CP): polymorphic$f(ē) ⊙ dx = jvp$f(ē ⊙ dx). So forward mode is compositional.
//!
//! Source: working notes, Figs. 7 and 8, values first everywhere; with rules for loops. Takes: a definition in
//! normal form. Gives: a block that binds values together with their partners; in the last kind, linear
//! maps are left only as the Jacobians of primitives that are applied on the spot.

mod loops;
mod operators;

use super::fig06_jacobian::{NO_RECORDS, NotDifferentiable, as_asked_for};
use lm::prim::Prim;
use lm::scope::free_variables;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Kind, Op, Path, Pattern, Supply, Var, place};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// The kind of partner that a value is paired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    /// A linear map from the function's argument (Fig. 7): `S -> (T, LM S T)`.
    Tupled,
    /// A linear map from anywhere (Fig. 8): `(S, LM a S) -> (T, LM a T)`.
    Polymorphic,
    /// A linear map to anywhere (Fig. 8): `(S, LM S a) -> (T, LM T a)`.
    PolymorphicR,
    /// A tangent: `(S, dS) -> (T, dT)`.
    Tangent,
}

impl Partner {
    /// Returns the derivative whose partners are of this kind.
    pub fn derivative(self) -> Derivative {
        match self {
            Partner::Tupled => Derivative::Tupled,
            Partner::Polymorphic => Derivative::Polymorphic,
            Partner::PolymorphicR => Derivative::PolymorphicR,
            Partner::Tangent => Derivative::Jvp,
        }
    }

    /// The first letter of the names of partners.
    fn letter(self) -> &'static str {
        match self {
            Partner::Tupled | Partner::Polymorphic => "D",
            Partner::PolymorphicR => "R",
            Partner::Tangent => "d",
        }
    }
}

/// Returns `[tupled f]`, `[polymorphic f]`, `[polymorphicR f]` or `[jvp f]`, not optimised.
///
/// `any` is the space a from which, or to which, the maps go. If the name lists parameters (`[wrt$1 f]`), S means these in `LM S T` and dS. `written` tells the functions
/// whose derivatives are written by hand: those are taken as they are.
pub fn paired(
    def: &Def,
    partner_kind: Partner,
    any: Type,
    supply: &mut Supply,
    written: &dyn Fn(&FunName) -> bool,
) -> Result<Def, NotDifferentiable> {
    let refused = |reason| NotDifferentiable { function: as_asked_for(&def.fun.name), reason };
    let mentions = |has: fn(&Type) -> bool| def.fun.params.iter().chain([&def.fun.result]).any(has);
    if mentions(Type::mentions_lm) {
        return Err(refused("it takes or gives a linear map".into()));
    }
    if mentions(Type::mentions_record) {
        return Err(refused(NO_RECORDS.into()));
    }
    let parts: Vec<Expr> = def.params.iter().map(Expr::var).collect();
    let space = Expr::witness(&def.fun.varying_of(&parts));
    let varying_type = def.fun.varying();
    let mut cx =
        Paired { supply, partner_kind, space, start: None, partners: FxHashMap::default(), out: Vec::new(), written };
    let (params, start) = match partner_kind {
        Partner::Tupled => (def.params.clone(), Expr::prim(Prim::LmOne, [cx.space.clone()])),
        Partner::Polymorphic | Partner::PolymorphicR | Partner::Tangent => {
            let ty = match partner_kind {
                Partner::Tangent => varying_type.tangent(),
                Partner::PolymorphicR => Type::lm(varying_type, any),
                Partner::Tupled | Partner::Polymorphic => Type::lm(any, varying_type),
            };
            let letter = partner_kind.letter();
            let one = def.params.as_slice();
            let (s, name) = match one {
                [x] => (x.clone(), format!("{letter}{}", x.name())),
                many => {
                    let s = cx.supply.fresh("s", Type::tuple(many.iter().map(|p| p.ty().clone())));
                    cx.out.push(Binding { pattern: Pattern::Tuple(many.to_vec()), rhs: Expr::var(&s) });
                    (s, format!("{letter}s"))
                }
            };
            let ds = cx.supply.fresh(&name, ty);
            cx.start = Some(Expr::var(&ds));
            (vec![s, ds.clone()], Expr::var(&ds))
        }
    };
    let all = || (1..=def.params.len()).map(|i| vec![i]).collect();
    let varying: Vec<Path> = def.fun.name.varying().map_or_else(all, <[Path]>::to_vec);
    for (i, x) in def.params.iter().enumerate() {
        let partner = cx.parameter(&parts[i], &[i + 1], &varying, &start);
        cx.bind_partner(x, partner);
    }
    let (value, partner) = cx.pair_block(&def.body).map_err(refused)?;
    let partner = partner.unwrap_or_else(|| cx.zero(&value));
    let body = Expr::block(cx.out, Expr::tuple([value, partner]));
    Ok(Def::new(def.fun.name.derived(partner_kind.derivative()), params, body))
}

/// A value, an atom, and its partner; no partner where it is zero.
type Pair = (Expr, Option<Expr>);

struct Paired<'a> {
    supply: &'a mut Supply,
    partner_kind: Partner,
    /// A witness of S, what varies of the function's argument.
    space: Expr,
    /// The partner that the function is given, where it is given one.
    start: Option<Expr>,
    /// The partners of the variables in scope that can change.
    partners: FxHashMap<u32, Expr>,
    out: Vec<Binding>,
    written: &'a dyn Fn(&FunName) -> bool,
}

/// Makes partners.
impl Paired<'_> {
    /// Returns the linear map `m` after a partner.
    fn after(&self, m: Expr, partner: Expr) -> Expr {
        match self.partner_kind {
            Partner::Tangent => Expr::prim(Prim::LmApply, [m, partner]),
            Partner::Tupled | Partner::Polymorphic => Expr::prim(Prim::LmCompose, [m, partner]),
            Partner::PolymorphicR => Expr::prim(Prim::LmCompose, [partner, Expr::prim(Prim::LmTranspose, [m])]),
        }
    }

    /// Returns the partner of a list of arguments: of one argument its own.
    fn juxtaposed(&self, mut partners: Vec<Expr>) -> Expr {
        if partners.len() == 1 { partners.remove(0) } else { self.tuple(partners) }
    }

    /// Returns the partner of a tuple.
    fn tuple(&self, partners: Vec<Expr>) -> Expr {
        match self.partner_kind {
            Partner::Tangent => Expr::tuple(partners),
            Partner::Tupled | Partner::Polymorphic => Expr::prim(Prim::LmVCat, partners),
            Partner::PolymorphicR => Expr::prim(Prim::LmHCat, partners),
        }
    }

    /// Returns the partner of the i-th component of a tuple of n.
    fn component(&self, i: usize, n: usize, tuple: &Expr, partner: Expr) -> Expr {
        match self.partner_kind {
            Partner::Tangent => Expr::get(i, partner),
            Partner::Tupled | Partner::Polymorphic | Partner::PolymorphicR => {
                self.after(Expr::app(Op::LmGet(i, n), vec![Expr::witness(tuple)]), partner)
            }
        }
    }

    /// Returns the zero partner of a value.
    fn zero(&self, value: &Expr) -> Expr {
        match (self.partner_kind, &self.start) {
            (Partner::Tangent, _) => Expr::prim(Prim::ZeroOf, [Expr::witness(value)]),
            (_, None) => Expr::prim(Prim::LmZero, [self.space.clone(), Expr::witness(value)]),
            // Only the map given can tell the space that maps start from, or go to.
            (_, Some(start)) => {
                self.after(Expr::prim(Prim::LmZero, [self.space.clone(), Expr::witness(value)]), start.clone())
            }
        }
    }

    fn or_zero(&self, (value, partner): &Pair) -> Expr {
        partner.clone().unwrap_or_else(|| self.zero(value))
    }

    /// Returns the type of the partner of values of a type.
    fn partner_type(&self, ty: &Type) -> Type {
        match (self.partner_kind, &self.start) {
            (Partner::Tangent, _) => ty.tangent(),
            (_, None) => Type::lm(self.space.ty().clone(), ty.clone()),
            (kind, Some(start)) => {
                let (from, to) = start.ty().as_lm().expect("a map is given");
                if kind == Partner::PolymorphicR {
                    Type::lm(ty.clone(), to.clone())
                } else {
                    Type::lm(from.clone(), ty.clone())
                }
            }
        }
    }

    /// Returns the partner of a part of the argument, where it varies.
    fn parameter(&self, part: &Expr, path: &[usize], varying: &[Path], start: &Expr) -> Option<Expr> {
        if let Some(k) = varying.iter().position(|v| v == path) {
            return Some(match varying.len() {
                1 => start.clone(),
                n => self.component(k + 1, n, &self.space, start.clone()),
            });
        }
        if !varying.iter().any(|v| v.starts_with(path)) {
            return None;
        }
        let n = part.ty().as_tuple().expect("a path leads through tuples").len();
        let component = |i| {
            let part = Expr::get(i, part.clone());
            let partner = self.parameter(&part, &[path, &[i]].concat(), varying, start);
            self.or_zero(&(part, partner))
        };
        Some(self.tuple((1..=n).map(component).collect()))
    }
}

/// Blocks and bindings.
impl Paired<'_> {
    /// ∇̄ of a block: its bindings go to `out`.
    fn pair_block(&mut self, e: &Expr) -> Result<Pair, String> {
        let (bindings, result) = e.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        if result.is_atom() {
            return Ok((result.clone(), self.partner(result)));
        }
        let y = self.supply.fresh("y", result.ty().clone());
        self.binding(&Binding { pattern: Pattern::Var(y.clone()), rhs: result.clone() })?;
        Ok((Expr::var(&y), self.partner(&Expr::var(&y))))
    }

    /// ∇̄ of a block as a block that gives what `finish` makes of the pair.
    fn inner(
        &mut self,
        begin: impl FnOnce(&mut Self) -> Result<(), String>,
        e: &Expr,
        finish: impl FnOnce(&mut Self, Pair) -> Expr,
    ) -> Result<Expr, String> {
        let outer = std::mem::take(&mut self.out);
        let pair = begin(self).and_then(|()| self.pair_block(e));
        let result = pair.map(|pair| finish(self, pair));
        let bindings = std::mem::replace(&mut self.out, outer);
        Ok(Expr::block(bindings, result?))
    }

    /// ∇̄ of a block as a block that gives the pair.
    fn pair_of(&mut self, e: &Expr) -> Result<Expr, String> {
        self.inner(|_| Ok(()), e, |cx, pair| Expr::tuple([pair.0.clone(), cx.or_zero(&pair)]))
    }

    /// ∇̄ of a binding. What it needs is where it is.
    fn binding(&mut self, b: &Binding) -> Result<(), String> {
        let before = self.out.len();
        self.value_and_partner(b)?;
        place(&mut self.out[before..], b.rhs.span());
        Ok(())
    }

    fn value_and_partner(&mut self, b: &Binding) -> Result<(), String> {
        if b.rhs.ty().mentions_lm() {
            return Err("a linear map has no derivative".into());
        }
        if b.rhs.ty().mentions_record() {
            return Err(NO_RECORDS.into());
        }
        match &b.pattern {
            Pattern::Var(y) if self.varies(&b.rhs) => self.variable(y, &b.rhs),
            Pattern::Tuple(xs) if self.varies(&b.rhs) => {
                let whole = match b.rhs.as_var() {
                    Some(t) => t.clone(),
                    None => {
                        let t = self.supply.fresh("t", b.rhs.ty().clone());
                        self.variable(&t, &b.rhs)?;
                        t
                    }
                };
                let tuple = Expr::var(&whole);
                self.out.push(Binding { pattern: b.pattern.clone(), rhs: tuple.clone() });
                if let Some(partner) = self.partner(&tuple) {
                    for (i, x) in xs.iter().enumerate() {
                        let component = self.component(i + 1, xs.len(), &tuple, partner.clone());
                        self.bind_partner(x, Some(component));
                    }
                }
                Ok(())
            }
            Pattern::Var(_) | Pattern::Tuple(_) => {
                self.out.push(b.clone());
                Ok(())
            }
        }
    }

    /// Returns whether the value of the term can change with the function's argument.
    fn varies(&self, e: &Expr) -> bool {
        e.ty().is_differentiable() && free_variables(e).iter().any(|x| self.partners.contains_key(&x.id()))
    }

    /// Binds the value of `e` and its partner.
    fn variable(&mut self, y: &Var, e: &Expr) -> Result<(), String> {
        match e.kind() {
            Kind::App(Op::If, args) => {
                let (yes, no) = (self.pair_of(&args[1])?, self.pair_of(&args[2])?);
                self.bind_pair(y, Expr::conditional(args[0].clone(), yes, no).at(e.span()));
                Ok(())
            }
            Kind::App(Op::Call(f), args) => self.call(y, e, f, args),
            Kind::App(Op::Prim(p), args) => match (p, args.as_slice()) {
                (Prim::Build, [n, f]) => self.build(y, n, f),
                (Prim::SumBuild, [witness @ .., n, f]) => self.sum_build(y, witness, n, f),
                (Prim::Fold, [f, a, v]) | (Prim::Checkpoint, [_, f, a, v]) => self.fold(y, f, a, v),
                (Prim::Scanl, [f, a, v]) | (Prim::Replay, [_, f, a, v]) => self.scanl(y, f, a, v),
                (Prim::Loop, [n, f, a, w]) if self.partner_kind == Partner::Tangent => self.iteration(y, n, f, a, w),
                (Prim::Loop | Prim::AddAt | Prim::States, _) => self.as_one_map(y, e),
                _ => self.operator(y, e),
            },
            _ => self.operator(y, e),
        }
    }

    /// Returns a value, and its partner made from those of the arguments.
    fn operator(&mut self, y: &Var, e: &Expr) -> Result<(), String> {
        self.out.push(Binding { pattern: Pattern::Var(y.clone()), rhs: e.clone() });
        let partner = match e.kind() {
            Kind::App(op, args) => self.application(&Expr::var(y), op, args)?,
            Kind::Const(_) | Kind::Var(_) => self.partner(e),
            Kind::Lam(..) | Kind::Let(..) => return Err("a function that is no argument of a built-in".into()),
        };
        self.bind_partner(y, partner);
        Ok(())
    }

    /// `(y, dy) = e`, e a pair.
    fn bind_pair(&mut self, y: &Var, e: Expr) {
        let ty = e.ty().as_tuple().expect("a pair")[1].clone();
        let partner = self.supply.fresh(&self.partner_name(y), ty);
        self.out.push(Binding { pattern: Pattern::Tuple(vec![y.clone(), partner.clone()]), rhs: e });
        self.partners.insert(y.id(), Expr::var(&partner));
    }

    fn bind_partner(&mut self, x: &Var, partner: Option<Expr>) {
        let Some(partner) = partner.filter(|_| x.ty().is_differentiable()) else { return };
        if partner.is_atom() {
            self.partners.insert(x.id(), partner);
            return;
        }
        let dx = self.supply.fresh(&self.partner_name(x), partner.ty().clone());
        self.partners.insert(x.id(), Expr::var(&dx));
        self.out.push(Binding { pattern: Pattern::Var(dx), rhs: partner });
    }

    fn partner_name(&self, x: &Var) -> String {
        format!("{}{}", self.partner_kind.letter(), x.name())
    }

    /// Returns the partner of an atom.
    fn partner(&self, atom: &Expr) -> Option<Expr> {
        self.partners.get(&atom.as_var()?.id()).cloned()
    }

    fn pair(&self, atom: &Expr) -> Pair {
        (atom.clone(), self.partner(atom))
    }

    fn value(&mut self, x: &Var, rhs: Expr) {
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
    }

    fn bind_as(&mut self, name: &str, rhs: Expr) -> Expr {
        let x = self.supply.fresh(name, rhs.ty().clone());
        self.value(&x, rhs);
        Expr::var(&x)
    }
}

fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}

/// π(i) on tensors like v.
fn element(i: &Expr, v: &Expr) -> Expr {
    Expr::prim(Prim::LmIndex, [i.clone(), v.clone()])
}
