//! Transposes a Jacobian, and gathers the cotangents of each bound map.
//!
//! ```text
//! (let Dx = m in b)ᵀ  =  let Rx = (the sum of what reaches Dx in b) in ... mᵀ ∘ Rx ...
//! ```
//!
//! The pass reads the block backwards. Each use of a bound map `Dx` sends it a cotangent map, from the function's
//! result to x. Their sum, `Rx`, goes on through m, once. So the transposed Jacobian is as long as the Jacobian. It is
//! the transpose of `b[Dx := π2] ∘ (1 × m)`, the environment form of the let, without the pairs.
//!
//! Source: working notes, Fig. 5 (laws `transpose-*` for all but the let). Takes: a simplified Jacobian. Gives: the
//! same with every bound map from the result's space.

mod parts;
mod places;

use crate::derive::forms::{smallest, without_unused_maps};
use crate::derive::postcondition::Facts;
use indexmap::IndexMap;
use lm::law::{is_free_to_copy, is_spread, sum};
use lm::notation::ks;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Var, place};
use lm::types::Type;
use parts::Part;

/// Returns the definition of the transposed map.
pub fn transpose(def: &Def, name: FunName, strategy: &Strategy, cx: &mut Rewriter) -> Result<Def, OutOfFuel> {
    let params: Vec<Expr> = def.params.iter().map(Expr::var).collect();
    let of = name.without_derivatives(1);
    let argument = Fun { name: of, ..(*def.fun).clone() }.varying_of(&params);
    transpose_from(def, name, argument, strategy, cx)
}

/// Returns the definition of the transposed map, whose domain is like `argument`.
pub fn transpose_from(
    def: &Def,
    name: FunName,
    argument: Expr,
    strategy: &Strategy,
    cx: &mut Rewriter,
) -> Result<Def, OutOfFuel> {
    let transposed = closed(&def.body, Expr::witness(&argument), strategy, cx)?;
    let transposed = if cx.rewrites.is_limited() { without_unused_maps(&transposed, &def.body) } else { transposed };
    Ok(Def::new(name, def.params.clone(), transposed))
}

/// Transposes a block of maps that uses no map bound outside. Its domain is like `to`, if the maps do not tell.
fn closed(body: &Expr, to: Expr, strategy: &Strategy, cx: &mut Rewriter) -> Result<Expr, OutOfFuel> {
    let (bindings, result) = body.as_block();
    let is_allowed = if bindings.is_empty() { !cx.rewrites.is_spent() } else { cx.rewrites.may("transpose-let") };
    if !is_allowed {
        return Ok(transposed(body));
    }
    for b in bindings {
        if let (Pattern::Var(x), Some(_)) = (&b.pattern, b.rhs.ty().as_lm()) {
            cx.context.spaces.bind(x, &b.rhs);
        }
    }
    let from = cx.context.spaces.codomain(result);
    let from = from.unwrap_or_else(|| panic!("a map whose result has no known shape: {}", ks::expr(result, 100)));
    let to = cx.context.spaces.domain(result).unwrap_or(to);
    let start = Expr::prim(Prim::LmOne, [from.clone()]);
    let parts = Part::all_of(&to, cx);
    let mut pass = Transpose { strategy, cx, from, to, parts };
    let mut scope = Scope::default();
    pass.transpose_block(body, start, &mut scope)?;
    pass.gather_parts(&mut scope)?;
    let zero = Expr::prim(Prim::LmZero, [pass.from.clone(), pass.to.clone()]);
    let result = sum(std::mem::take(&mut scope.direct)).unwrap_or(zero);
    let result = pass.normal(&result, &mut scope)?;
    Ok(Expr::block(scope.out, result))
}

struct Transpose<'a, 'b> {
    strategy: &'a Strategy,
    cx: &'a mut Rewriter<'b>,
    /// Witness of the domain of every cotangent map: the function's result.
    from: Expr,
    /// Witness of the function's argument.
    to: Expr,
    /// The components of the argument, if it is a tuple.
    parts: Vec<Part>,
}

/// The bindings that a block has given so far, and the cotangent maps that it has sent.
#[derive(Default)]
struct Scope {
    out: Vec<Binding>,
    /// The cotangent maps that reached each bound map.
    reached: IndexMap<u32, (Var, Vec<Expr>)>,
    /// The cotangent maps that reached the function's argument.
    direct: Vec<Expr>,
}

impl Scope {
    fn reach(&mut self, dx: &Var, c: Expr) {
        self.reached.entry(dx.id()).or_insert_with(|| (dx.clone(), Vec::new())).1.push(c);
    }
}

impl Transpose<'_, '_> {
    /// Sends the cotangent map `c` through a block.
    fn transpose_block(&mut self, e: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        // What holds where this block is evaluated holds nowhere else.
        let mark = self.cx.context.facts.mark();
        let sent = self.transpose_bindings(e, c, scope);
        self.cx.context.facts.forget_since(mark);
        sent
    }

    fn transpose_bindings(&mut self, e: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let (bindings, result) = e.as_block();
        let (maps, values): (Vec<&Binding>, Vec<&Binding>) =
            bindings.iter().partition(|b| b.rhs.ty().as_lm().is_some());
        values.iter().for_each(|b| self.cx.context.facts.sizes(b));
        scope.out.extend(values.into_iter().cloned());
        if self.cx.rewrites.is_limited() {
            // Terms that are left as they are may use them.
            scope.out.extend(maps.iter().copied().cloned());
        }
        for b in &maps {
            b.pattern.vars().iter().for_each(|dx| self.cx.context.spaces.bind(dx, &b.rhs));
        }
        self.send(result, c, scope)?;
        for b in maps.into_iter().rev() {
            let Pattern::Var(dx) = &b.pattern else { panic!("a map is bound to a variable") };
            let Some(total) = self.total(dx, &Expr::var(dx), scope)? else { continue };
            let name = dx.name().strip_prefix('D').map_or("R".into(), |x| format!("R{x}"));
            let total = self.bind_as(&name, total, scope);
            if !self.stops("let-once", &Expr::var(dx), &total, scope) {
                self.send(&b.rhs, total, scope)?;
            }
        }
        Ok(())
    }

    /// Takes the sum of what reached a map by its name; none, where nothing did, or no law may add it up.
    fn total(&mut self, dx: &Var, map: &Expr, scope: &mut Scope) -> Result<Option<Expr>, OutOfFuel> {
        let Some((_, cotangents)) = scope.reached.shift_remove(&dx.id()) else { return Ok(None) };
        if cotangents.len() > 1 && !self.cx.rewrites.may("compose-add") {
            scope.direct.extend(cotangents.into_iter().map(|c| after(transposed(map), c)));
            return Ok(None);
        }
        self.normal(&sum(cotangents).expect("a map was reached by something"), scope).map(Some)
    }

    /// Returns whether the law may not be applied to `mᵀ ∘ c`, which then stays as it is.
    fn stops(&mut self, law: &str, m: &Expr, c: &Expr, scope: &mut Scope) -> bool {
        self.stops_at(law, || after(transposed(m), c.clone()), scope)
    }

    /// Returns whether the law may not be applied to a term that reaches the argument, which then stays as it is.
    fn stops_at(&mut self, law: &str, term: impl FnOnce() -> Expr, scope: &mut Scope) -> bool {
        let may = self.cx.rewrites.may(law);
        if !may {
            scope.direct.push(term());
        }
        !may
    }

    /// Sends the cotangent map `c`, from the result to m's codomain, through m. New bindings have the place of m in the
    /// source.
    fn send(&mut self, m: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let before = scope.out.len();
        self.through(m, c, scope)?;
        place(&mut scope.out[before..], m.span());
        Ok(())
    }

    fn through(&mut self, m: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        match m.kind() {
            Kind::Var(dx) => {
                scope.reach(dx, c);
                Ok(())
            }
            Kind::App(Op::LmGet(i, n), _) if self.parts.len() == *n => {
                scope.reach(&self.parts[*i - 1].name, c);
                Ok(())
            }
            Kind::Let(..) => match self.stops("transpose-let", m, &c, scope) {
                true => Ok(()),
                false => self.transpose_block(m, c, scope),
            },
            Kind::App(Op::If, args) => self.conditional(m, args, c, scope),
            Kind::App(Op::Prim(Prim::LmZero), args) => {
                let zero = |from: &Expr| Expr::prim(Prim::LmZero, [from.clone(), args[0].clone()]);
                let from = self.from.clone();
                let _ = self.stops("transpose-zero", m, &c, scope)
                    || !is_one(&c) && self.stops_at("zero-compose", || compose(zero(&args[1]), c), scope)
                    || self.stops_at("add-zero", || zero(&from), scope);
                Ok(())
            }
            Kind::App(Op::Prim(Prim::LmAdd), args) => {
                let c = self.bind_as("R", c, scope);
                if self.stops("transpose-add", m, &c, scope) {
                    return Ok(());
                }
                let add = |c: Expr| after(Expr::prim(Prim::LmAdd, args.iter().map(transposed)), c);
                if is_one(&c) || !self.stops_at("add-compose", || add(c.clone()), scope) {
                    args.iter().try_for_each(|m| self.send(m, c.clone(), scope))?;
                }
                Ok(())
            }
            Kind::App(Op::Prim(Prim::LmVCat), args) => self.components(m, args, c, scope),
            Kind::App(Op::Prim(Prim::LmTo), args) => match self.stops("transpose-to", m, &c, scope) {
                true => Ok(()),
                false => self.send(&args[1], c, scope),
            },
            Kind::App(Op::Prim(Prim::LmVCatV), args) => {
                let [w, maps] = args.as_slice() else { panic!("a Jacobian's V has a witness") };
                self.elements(m, [w, maps], c, scope)
            }
            Kind::App(Op::Prim(Prim::LmAddV), args) => {
                let c = self.bind_as("R", c, scope);
                if self.stops("transpose-sum", m, &c, scope) {
                    return Ok(());
                }
                let (n, i, map) = family(&args[1]).expect("a Jacobian's sum is over a build");
                self.transpose_family(n, i, map, c, scope)
            }
            Kind::App(Op::Prim(Prim::LmCompose), args) => {
                if self.stops("transpose-compose", m, &c, scope) {
                    return Ok(());
                }
                let pair = |c: Expr| after(compose(transposed(&args[1]), transposed(&args[0])), c);
                if !is_one(&c) && self.stops_at("compose-assoc", || pair(c.clone()), scope) {
                    return Ok(());
                }
                let back = after(self.leaf(&args[0])?, c).placed(args[0].span());
                let c = self.normal(&back, scope)?;
                self.send(&args[1], c, scope)
            }
            Kind::Const(_) | Kind::App(..) | Kind::Lam(..) => {
                let back = after(self.leaf(m)?, c).placed(m.span());
                let back = self.normal(&back, scope)?;
                scope.direct.push(back);
                Ok(())
            }
        }
    }

    /// Transposes a map that uses no bound map: the laws push the transposition inwards.
    fn leaf(&mut self, m: &Expr) -> Result<Expr, OutOfFuel> {
        match m.args_of_prim(Prim::LmFold) {
            Some(fold) if self.cx.rewrites.may("transpose-fold") => self.recurrence(fold),
            _ => Ok(transposed(m)),
        }
    }

    /// Sends `(m1 × .. × mn)ᵀ ∘ c`: each map gets its component of c.
    fn components(&mut self, m: &Expr, maps: &[Expr], c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let given = c.args_of_prim(Prim::LmVCat).map(<[Expr]>::to_vec);
        let c = if given.is_some() { c } else { self.bind_as("R", c, scope) };
        let by = if given.is_some() { "hcat-vcat" } else { "hcat-get" };
        let row = |c: Expr| after(Expr::prim(Prim::LmHCat, maps.iter().map(transposed)), c);
        if self.stops("transpose-vcat", m, &c, scope) || self.stops_at(by, || row(c.clone()), scope) {
            return Ok(());
        }
        let parts: Vec<Expr> = match given {
            Some(parts) => parts,
            None => {
                let witness = self.cx.context.spaces.codomain(&c).expect("the shapes of cotangents are known");
                let select = |i| Expr::app(Op::LmGet(i, maps.len()), vec![witness.clone()]);
                let parts = (1..=maps.len()).map(|i| after(select(i), c.clone()));
                parts.map(|p| self.normal(&p, scope)).collect::<Result<_, _>>()?
            }
        };
        maps.iter().zip(parts).try_for_each(|(m, part)| self.send(m, part, scope))
    }

    /// Sends through both branches to the maps bound outside; one conditional chooses what they send.
    fn conditional(&mut self, m: &Expr, args: &[Expr], c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let c = self.bind_as("R", c, scope);
        if self.stops("transpose-if", m, &c, scope) {
            return Ok(());
        }
        let chosen = |c| after(Expr::conditional(args[0].clone(), transposed(&args[1]), transposed(&args[2])), c);
        if !is_one(&c) && self.stops_at("if-compose", || chosen(c.clone()), scope) {
            return Ok(());
        }
        let (mut yes, mut no) = (Scope::default(), Scope::default());
        self.sends_block(&args[1], c.clone(), &mut yes)?;
        self.sends_block(&args[2], c, &mut no)?;
        let targets = self.targets(&[&yes, &no]);
        if self.stays_ungathered(&targets) {
            let whole = Expr::conditional(args[0].clone(), self.ungathered(yes), self.ungathered(no));
            scope.direct.push(whole);
            return Ok(());
        }
        if targets.0.is_empty() {
            return Ok(());
        }
        let (yes, no) = (self.branch(yes, &targets)?, self.branch(no, &targets)?);
        self.distribute(Expr::conditional(args[0].clone(), yes, no), targets, scope)
    }

    /// Sends a cotangent map through a block with a scope of its own.
    fn sends_block(&mut self, e: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let is_block = matches!(e.kind(), Kind::Let(..));
        match is_block && self.stops("transpose-let", e, &c, scope) {
            true => Ok(()),
            false => self.transpose_block(e, c, scope),
        }
    }

    /// Returns whether branches, or the steps of a loop, keep what they send to each of their targets: no law may gather
    /// it.
    fn stays_ungathered(&mut self, targets: &Targets) -> bool {
        match targets.0.as_slice() {
            [(None, _)] => self.cx.rewrites.is_spent(),
            _ => !self.cx.rewrites.may("gather"),
        }
    }

    /// Returns a branch as one map, to the function's argument.
    fn ungathered(&mut self, scope: Scope) -> Expr {
        let reached = scope.reached.into_values();
        let sent = reached.flat_map(|(dx, cs)| {
            let map = transposed(&self.named(&dx));
            cs.into_iter().map(move |c| after(map.clone(), c))
        });
        let parts = scope.direct.into_iter().chain(sent).collect();
        let zero = || Expr::prim(Prim::LmZero, [self.from.clone(), self.to.clone()]);
        Expr::block(scope.out, sum(parts).unwrap_or_else(zero))
    }

    /// Sends `V(v)ᵀ ∘ c`: each map gets its element of c.
    fn elements(&mut self, m: &Expr, [w, maps]: [&Expr; 2], c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let c = self.bind_as("R", c, scope);
        if self.stops("transpose-build", m, &c, scope) {
            return Ok(());
        }
        let element = |i: Expr| after(Expr::prim(Prim::LmIndex, [i, w.clone()]), c.clone());
        if let Some(parts) = maps.args_of_prim(Prim::VecInit) {
            let mut numbered = parts.iter().enumerate();
            return numbered.try_for_each(|(k, m)| self.send(m, element(Expr::integer(k as i64)), scope));
        }
        let (n, i, map) = family(maps).expect("a Jacobian's V is over a build or a literal");
        self.transpose_family(n, i, map, element(Expr::var(i)), scope)
    }

    /// Sends through every map of a family to the maps bound outside, and sums what they send.
    fn transpose_family(&mut self, n: &Expr, i: &Var, map: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let mut inner = Scope::default();
        let c = self.normal(&c, &mut inner)?;
        let c = self.bind_as("R", c, &mut inner);
        self.sends_block(map, c, &mut inner)?;
        let targets = self.targets(&[&inner]);
        let family = |step: Expr| Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), step)]);
        if self.stays_ungathered(&targets) {
            let maps = family(self.ungathered(inner));
            scope.direct.push(Expr::prim(Prim::LmAddV, [self.to.clone(), maps]));
            return Ok(());
        }
        if targets.0.is_empty() {
            return Ok(());
        }
        if let Some(sent) = self.by_places(n, i, &inner, &targets)
            && self.cx.rewrites.may("sum-of-places")
        {
            let sent = targets.0.into_iter().zip(sent);
            return sent
                .into_iter()
                .try_for_each(|(target, sent)| self.send_by_places([n, &Expr::var(i)], &inner, sent, target, scope));
        }
        let maps = family(self.branch(inner, &targets)?);
        let sum = Expr::prim(Prim::LmAddV, [targets.witness(), maps]);
        self.distribute(sum, targets, scope)
    }

    /// Returns `lmFold(n, λi. M(i))ᵀ = lmFold(n, λk. M(n - 1 - k)ᵀ)`.
    fn recurrence(&mut self, fold: &[Expr]) -> Result<Expr, OutOfFuel> {
        let [n, from, to, f] = fold else { panic!("lmFold has four arguments") };
        let Kind::Lam(i, body) = f.kind() else { panic!("the steps of lmFold are a function") };
        let k = self.cx.supply.fresh("k", Type::Integer);
        let last = Expr::prim(Prim::Sub, [n.clone(), Expr::integer(1)]);
        let back = Expr::prim(Prim::Sub, [last, Expr::var(&k)]);
        let transposed = closed(body, from.clone(), self.strategy, self.cx)?;
        let step = Expr::block(vec![Binding { pattern: Pattern::Var(i.clone()), rhs: back }], transposed);
        Ok(Expr::prim(Prim::LmFold, [n.clone(), to.clone(), from.clone(), Expr::lam(k, step)]))
    }

    /// Returns the targets of the cotangents that the scopes send.
    fn targets(&self, scopes: &[&Scope]) -> Targets {
        let mut targets: IndexMap<u32, (Option<Var>, Expr)> = IndexMap::new();
        for (id, (dx, cotangents)) in scopes.iter().flat_map(|scope| &scope.reached) {
            let space = self
                .cx
                .context
                .spaces
                .codomain(&Expr::var(dx))
                .or_else(|| self.cx.context.spaces.codomain(&cotangents[0]));
            let space = space.expect("the shapes of cotangents are known");
            targets.entry(*id).or_insert((Some(dx.clone()), space));
        }
        let mut targets: Vec<_> = targets.into_values().collect();
        if scopes.iter().any(|scope| !scope.direct.is_empty()) {
            targets.push((None, self.to.clone()));
        }
        Targets(targets)
    }

    /// Sends each target its component of a conditional's or a loop's result.
    fn distribute(&mut self, map: Expr, targets: Targets, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let witness = targets.witness();
        let n = targets.0.len();
        let chosen = if n > 1 { self.bound("R", map, scope) } else { self.bind_as("R", map, scope) };
        if let Some(r) = chosen.as_var() {
            // The branches of a conditional may say nothing of it.
            self.cx.context.spaces.bind_codomain(r, witness.clone());
        }
        for (i, (target, _)) in targets.0.into_iter().enumerate() {
            let part = match n {
                1 => chosen.clone(),
                _ => compose(Expr::app(Op::LmGet(i + 1, n), vec![witness.clone()]), chosen.clone()),
            };
            match target {
                Some(dx) => self.send(&Expr::var(&dx), part, scope)?,
                None => scope.direct.push(part),
            }
        }
        Ok(())
    }

    /// Returns a branch as one map, to the tuple of its targets.
    fn branch(&mut self, mut scope: Scope, targets: &Targets) -> Result<Expr, OutOfFuel> {
        let mut parts = Vec::new();
        for (target, witness) in &targets.0 {
            let cotangents = match target {
                Some(dx) => scope.reached.shift_remove(&dx.id()).map(|(_, cs)| cs).unwrap_or_default(),
                None => std::mem::take(&mut scope.direct),
            };
            let zero = || Expr::prim(Prim::LmZero, [self.from.clone(), witness.clone()]);
            parts.push(sum(cotangents).unwrap_or_else(zero));
        }
        let whole = if parts.len() == 1 { parts.remove(0) } else { Expr::prim(Prim::LmVCat, parts) };
        let whole = self.normal(&whole, &mut scope)?;
        Ok(Expr::block(scope.out, whole))
    }

    fn normal(&mut self, m: &Expr, scope: &mut Scope) -> Result<Expr, OutOfFuel> {
        let m = self.cx.run(self.strategy, m)?.unwrap_or_else(|| m.clone());
        let (bindings, result) = m.as_block();
        scope.out.extend(bindings.iter().cloned());
        Ok(result.clone())
    }

    /// Gives the map a name, unless it is free to copy, or a juxtaposition of maps that are.
    fn bind_as(&mut self, name: &str, m: Expr, scope: &mut Scope) -> Expr {
        if is_free_to_copy(&m) || self.cx.rewrites.is_spent() {
            return m;
        }
        if let Some(parts) = m.args_of_prim(Prim::LmVCat) {
            let parts: Vec<Expr> = parts.iter().map(|p| self.bind_as(name, p.clone(), scope)).collect();
            return Expr::prim(Prim::LmVCat, parts);
        }
        // An element of what has one vector for all elements is that vector.
        if let Some([spread, c]) = m.args_of_prim(Prim::LmCompose)
            && is_spread(spread)
            && is_free_to_copy(spread)
        {
            let c = self.bind_as(name, c.clone(), scope);
            return compose(spread.clone(), c);
        }
        if self.cx.rewrites.may("let-name") { self.bound(name, m, scope) } else { m }
    }

    /// Gives the map a name.
    fn bound(&mut self, name: &str, m: Expr, scope: &mut Scope) -> Expr {
        let r = self.cx.supply.fresh(name, m.ty().clone());
        let use_ = Expr::var(&r);
        self.cx.context.spaces.bind(&r, &m);
        scope.out.push(Binding { pattern: Pattern::Var(r), rhs: m });
        use_
    }
}

/// The targets of the cotangents of branches, or of the steps of a loop: a bound map (or the function's argument,
/// `None`), each with a witness of its space.
struct Targets(Vec<(Option<Var>, Expr)>);

impl Targets {
    /// Returns a witness of the tuple of the targets' spaces; of the one target's space.
    fn witness(&self) -> Expr {
        let parts: Vec<Expr> = self.0.iter().map(|(_, w)| w.clone()).collect();
        let whole = if let [one] = parts.as_slice() { one.clone() } else { Expr::tuple(parts) };
        Expr::witness(&whole)
    }
}

/// Returns size, index and map of a family of maps.
fn family(maps: &Expr) -> Option<(&Expr, &Var, &Expr)> {
    match maps.args_of_prim(Prim::Build)? {
        [n, f] => match f.kind() {
            Kind::Lam(i, map) => Some((n, i, map)),
            _ => None,
        },
        _ => None,
    }
}

fn compose(m: Expr, n: Expr) -> Expr {
    Expr::prim(Prim::LmCompose, [m, n])
}

/// Returns `m ∘ c`; m itself, if c is the identity.
fn after(m: Expr, c: Expr) -> Expr {
    if is_one(&c) { m } else { compose(m, c) }
}

fn is_one(m: &Expr) -> bool {
    m.args_of_prim(Prim::LmOne).is_some()
}

fn transposed(m: &Expr) -> Expr {
    Expr::prim(Prim::LmTranspose, [m.clone()])
}

/// Returns what breaks the postcondition: a transposed operator that a law transposes.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    smallest(&def.body, |e| e.args_of_prim(Prim::LmTranspose).is_some_and(|m| is_transposable(&m[0])))
}

fn is_transposable(m: &Expr) -> bool {
    use Prim::{
        LmAdd, LmAddV, LmCompose, LmDot, LmFold, LmHCat, LmOne, LmScale, LmScaleR, LmTranspose, LmVCat, LmVCatV, LmZero,
    };
    match m.kind() {
        Kind::Let(..) => true,
        Kind::App(Op::If | Op::LmGet(..), _) => true,
        Kind::App(Op::Prim(LmAdd | LmAddV | LmCompose | LmDot | LmFold | LmHCat | LmOne | LmScale), _) => true,
        Kind::App(Op::Prim(LmScaleR | LmTranspose | LmVCat | LmVCatV | LmZero), _) => true,
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Lam(..) => false,
    }
}
