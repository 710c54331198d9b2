//! Transposition of a Jacobian, with the cotangents of each bound map gathered.
//!
//!   (let Dx = m in b)ᵀ  =  let Rx = (the sum of what reaches Dx in b) in ... mᵀ ∘ Rx ...
//!
//! The block is read backwards: each use of a bound map `Dx` sends it a cotangent map, from the
//! function's result to x; their sum, `Rx`, goes on through m, once. So the transposed Jacobian is
//! as long as the Jacobian. It is the transpose of `b[Dx := π2] ∘ (1 × m)`, the environment form of
//! the let, without the pairs.
//!
//! Source: working notes, Fig. 5 (laws `transpose-*` for all but the let). Takes: a simplified
//! Jacobian. Gives: the same with every bound map from the result's space.

use indexmap::IndexMap;
use lm::law::{codomain, is_free_to_copy, sum};
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::strategy::Strategy;
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Var};

/// The definition of the transposed map.
pub fn transpose(def: &Def, name: FunName, strategy: &Strategy, cx: &mut Rewriter) -> Result<Def, OutOfFuel> {
    let (s, t) = def.body.ty().as_lm().expect("a Jacobian is a linear map");
    let (s, t) = (Expr::dummy(s.clone()), codomain(&def.body).unwrap_or_else(|| Expr::dummy(t.clone())));
    let start = Expr::prim(Prim::LmOne, [t.clone()]);
    let mut pass = Transpose { strategy, cx, from: t, to: s };
    let mut scope = Scope::default();
    pass.block(&def.body, start, &mut scope)?;
    let zero = Expr::prim(Prim::LmZero, [pass.from.clone(), pass.to.clone()]);
    let result = sum(std::mem::take(&mut scope.direct)).unwrap_or(zero);
    Ok(Def::new(name, def.params.clone(), Expr::block(scope.out, result)))
}

struct Transpose<'a, 'b> {
    strategy: &'a Strategy,
    cx: &'a mut Rewriter<'b>,
    /// Witness of the domain of every cotangent map: the function's result.
    from: Expr,
    /// Witness of the function's argument.
    to: Expr,
}

/// What a block has given so far.
#[derive(Default)]
struct Scope {
    out: Vec<Binding>,
    /// The cotangent maps that reached each bound map.
    reached: IndexMap<u32, (Var, Vec<Expr>)>,
    /// The cotangent maps that reached the function's argument.
    direct: Vec<Expr>,
}

impl Transpose<'_, '_> {
    /// Sends the cotangent map `c` through a block.
    fn block(&mut self, e: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let (bindings, result) = e.as_block();
        let (maps, values): (Vec<&Binding>, Vec<&Binding>) =
            bindings.iter().partition(|b| b.rhs.ty().as_lm().is_some());
        scope.out.extend(values.into_iter().cloned());
        self.send(result, c, scope)?;
        for b in maps.into_iter().rev() {
            let Pattern::Var(dx) = &b.pattern else { panic!("a map is bound to a variable") };
            let Some((_, cotangents)) = scope.reached.shift_remove(&dx.id()) else { continue };
            let total = self.normal(&sum(cotangents).expect("a map was reached by something"), scope)?;
            let name = dx.name().strip_prefix('D').map_or("R".into(), |x| format!("R{x}"));
            let total = self.named(&name, total, scope);
            self.send(&b.rhs, total, scope)?;
        }
        Ok(())
    }

    /// Sends the cotangent map `c`, from the result to m's codomain, through m.
    fn send(&mut self, m: &Expr, c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        match m.kind() {
            Kind::Var(dx) => {
                scope.reached.entry(dx.id()).or_insert_with(|| (dx.clone(), Vec::new())).1.push(c);
                Ok(())
            }
            Kind::Let(..) => self.block(m, c, scope),
            Kind::App(Op::If, args) => self.conditional(args, c, scope),
            Kind::App(Op::Prim(Prim::LmZero), _) => Ok(()),
            Kind::App(Op::Prim(Prim::LmAdd), args) => {
                let c = self.named("R", c, scope);
                args.iter().try_for_each(|m| self.send(m, c.clone(), scope))
            }
            Kind::App(Op::Prim(Prim::LmVCat), args) => self.components(args, c, scope),
            Kind::App(Op::Prim(Prim::LmCompose), args) => {
                let back = compose(Expr::prim(Prim::LmTranspose, [args[0].clone()]), c);
                let c = self.normal(&back, scope)?;
                self.send(&args[1], c, scope)
            }
            Kind::Const(_) | Kind::App(..) | Kind::Lam(..) => {
                let back = compose(Expr::prim(Prim::LmTranspose, [m.clone()]), c);
                let back = self.normal(&back, scope)?;
                scope.direct.push(back);
                Ok(())
            }
        }
    }

    /// `(m1 × .. × mn)ᵀ ∘ c`: each map gets its component of c.
    fn components(&mut self, maps: &[Expr], c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let parts: Vec<Expr> = match c.args_of_prim(Prim::LmVCat) {
            Some(parts) => parts.to_vec(),
            None => {
                let c = self.named("R", c, scope);
                let witness = codomain(&c).expect("the shapes of cotangents are known");
                let select = |i| Expr::app(Op::LmGet(i, maps.len()), vec![witness.clone()]);
                let parts = (1..=maps.len()).map(|i| compose(select(i), c.clone()));
                parts.map(|p| self.normal(&p, scope)).collect::<Result<_, _>>()?
            }
        };
        maps.iter().zip(parts).try_for_each(|(m, part)| self.send(m, part, scope))
    }

    /// Both branches send to the maps bound outside; what they send is chosen by one conditional.
    fn conditional(&mut self, args: &[Expr], c: Expr, scope: &mut Scope) -> Result<(), OutOfFuel> {
        let c = self.named("R", c, scope);
        let (mut yes, mut no) = (Scope::default(), Scope::default());
        self.block(&args[1], c.clone(), &mut yes)?;
        self.block(&args[2], c, &mut no)?;
        let targets = Targets::of(&yes, &no, &self.to);
        if targets.0.is_empty() {
            return Ok(());
        }
        let (yes, no) = (self.branch(yes, &targets)?, self.branch(no, &targets)?);
        let chosen = self.named("R", Expr::conditional(args[0].clone(), yes, no), scope);
        let n = targets.0.len();
        let witness = Expr::tuple(targets.0.iter().map(|(_, w)| w.clone()).collect::<Vec<_>>());
        let witness = Expr::witness(&witness);
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

    /// A branch as one map, to the tuple of its targets.
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
    fn named(&mut self, name: &str, m: Expr, scope: &mut Scope) -> Expr {
        if is_free_to_copy(&m) {
            return m;
        }
        if let Some(parts) = m.args_of_prim(Prim::LmVCat) {
            let parts: Vec<Expr> = parts.iter().map(|p| self.named(name, p.clone(), scope)).collect();
            return Expr::prim(Prim::LmVCat, parts);
        }
        let r = self.cx.supply.fresh(name, m.ty().clone());
        let use_ = Expr::var(&r);
        scope.out.push(Binding { pattern: Pattern::Var(r), rhs: m });
        use_
    }
}

/// Where the branches of a conditional send cotangents: a bound map (or the function's argument,
/// `None`), each with a witness of its space.
struct Targets(Vec<(Option<Var>, Expr)>);

impl Targets {
    fn of(yes: &Scope, no: &Scope, argument: &Expr) -> Targets {
        let mut targets: IndexMap<u32, (Option<Var>, Expr)> = IndexMap::new();
        for (id, (dx, cotangents)) in yes.reached.iter().chain(&no.reached) {
            let space = codomain(&cotangents[0]).expect("the shapes of cotangents are known");
            targets.entry(*id).or_insert((Some(dx.clone()), space));
        }
        let mut targets: Vec<_> = targets.into_values().collect();
        if !(yes.direct.is_empty() && no.direct.is_empty()) {
            targets.push((None, argument.clone()));
        }
        Targets(targets)
    }
}

fn compose(m: Expr, n: Expr) -> Expr {
    Expr::prim(Prim::LmCompose, [m, n])
}
