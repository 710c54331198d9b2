//! What a program gives besides its functions: external functions, rules, Jacobians by hand; and shapes, which
//! are no derivatives.

use super::{Error, Pipeline, checked};
use crate::derive::figures::by_hand;
use crate::derive::figures::fig06_jacobian::NotDifferentiable;
use crate::derive::figures::shape::shape;
use crate::derive::passes::dce;
use crate::derive::passes::rules::{EndlessRule, rules};
use lm::prim::Prim;
use lm::scope::{renamed, substitute};
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Op, Path, Pattern, Var};

impl Pipeline {
    /// The rules that do not come to an end, each with a function to which it was not applied for that
    /// reason; those that were not taken before.
    pub fn take_endless_rules(&mut self) -> Vec<EndlessRule> {
        std::mem::take(&mut self.endless)
    }

    /// The definition after the rules of the program.
    pub(in crate::derive) fn ruled(&mut self, def: &Def) -> Def {
        let (ruled, endless) = rules(def, &self.program.rules, &self.effects, &mut self.program.supply);
        self.endless.extend(endless);
        if ruled == *def { ruled } else { checked("rules", dce::dce(&ruled, &self.effects), |_| true) }
    }

    /// A function that is implemented elsewhere, as a call of itself.
    pub(in crate::derive) fn external(&mut self, name: &FunName) -> Option<Def> {
        let fun = self.program.externals.get(name)?.clone();
        let supply = &mut self.program.supply;
        let params: Vec<Var> = fun.params.iter().map(|ty| supply.fresh("x", ty.clone())).collect();
        let body = Expr::app(Op::Call(fun.clone()), params.iter().map(Expr::var).collect());
        Some(Def { fun, params, body })
    }

    /// `[wrt$1 f]`: f itself. What varies matters to its derivatives only.
    pub(in crate::derive) fn restricted(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let def = self.source(of)?;
        Ok(self.copy_named(&def, name))
    }

    /// A copy of a definition, of another name.
    pub(in crate::derive) fn copy_named(&mut self, def: &Def, name: &FunName) -> Def {
        let supply = &mut self.program.supply;
        let params: Vec<Var> = def.params.iter().map(|x| supply.fresh(x.name(), x.ty().clone())).collect();
        let by = def.params.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
        let body = substitute(&renamed(&def.body, supply), &by);
        Def::new(name.clone(), params, body)
    }

    /// `[fwd [wrt$1 f]]` or `[rev [wrt$1 f]]`, where the derivative of f is written by hand.
    pub(in crate::derive) fn restricted_by_hand(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let by_hand = self.source(&of.unrestricted().derived(mode.derivative()))?;
        let fun = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let supply = &mut self.program.supply;
        let s = supply.fresh("s", fun.argument());
        let args: Vec<Expr> = match fun.params.len() {
            1 => vec![Expr::var(&s)],
            n => (1..=n).map(|i| Expr::get(i, Expr::var(&s))).collect(),
        };
        let varying = of.varying().expect("what varies is said");
        let (v, body) = if mode == Mode::Forward {
            let dx = supply.fresh("dx", fun.varying().tangent());
            let part = |k: usize| if varying.len() == 1 { Expr::var(&dx) } else { Expr::get(k + 1, Expr::var(&dx)) };
            let whole: Vec<Expr> =
                args.iter().enumerate().map(|(i, e)| embedded(e, &[i + 1], &varying, &part)).collect();
            let whole = if let [one] = whole.as_slice() { one.clone() } else { Expr::tuple(whole) };
            let body = Expr::app(Op::Call(by_hand.fun.clone()), vec![Expr::var(&s), whole]);
            (dx, body)
        } else {
            let dr = supply.fresh("dr", fun.result.tangent());
            let all = Expr::app(Op::Call(by_hand.fun.clone()), vec![Expr::var(&s), Expr::var(&dr)]);
            let ds = supply.fresh("ds", all.ty().clone());
            let parts: Vec<Expr> = match fun.params.len() {
                1 => vec![Expr::var(&ds)],
                n => (1..=n).map(|i| Expr::get(i, Expr::var(&ds))).collect(),
            };
            (dr, Expr::block(vec![Binding { pattern: Pattern::Var(ds), rhs: all }], fun.varying_of(&parts)))
        };
        Ok(Def::new(of.derived(mode.derivative()), vec![s, v], body))
    }

    /// `[shape f]`.
    pub(in crate::derive) fn shape(&mut self, of: &FunName) -> Result<Def, Error> {
        let normal = self.normal_form(of)?;
        let mut supply = std::mem::take(&mut self.program.supply);
        let shape = shape(&normal, &self.program, &self.effects, &mut supply);
        self.program.supply = supply;
        self.finished(&checked("shape", shape, |_| true))
    }

    /// `[D f]` as its user wrote it, without names for maps: bound maps of a Jacobian all start from S.
    pub(in crate::derive) fn written_jacobian(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.source(&name.derived(Derivative::D))?;
        let Some(function) = by_hand::opaque_map(&jacobian.body) else {
            let body = by_hand::without_map_names(&jacobian.body);
            return Ok(checked("written", Def { body: renamed(&body, &mut self.program.supply), ..jacobian }, |_| {
                true
            }));
        };
        let reason = format!("[D {name}], written by hand, takes a linear map from `{function}`");
        Err(NotDifferentiable { function: name.clone(), reason }.into())
    }
}

/// The tangent of a part of the argument at a path: the given one where it varies, zero where nothing of it
/// does.
fn embedded(e: &Expr, path: &[usize], varying: &[Path], given: &impl Fn(usize) -> Expr) -> Expr {
    if let Some(k) = varying.iter().position(|v| v == path) {
        return given(k);
    }
    if !varying.iter().any(|v| v.starts_with(path)) {
        return Expr::prim(Prim::ZeroOf, [Expr::witness(e)]);
    }
    let n = e.ty().as_tuple().expect("a path leads through tuples").len();
    let component = |i| embedded(&Expr::get(i, e.clone()), &[path, &[i]].concat(), varying, given);
    Expr::tuple((1..=n).map(component).collect::<Vec<_>>())
}
