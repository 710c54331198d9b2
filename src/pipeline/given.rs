//! What a program gives besides its functions: external functions, rules, Jacobians by hand; and shapes, which
//! are no derivatives.

use super::{Error, Pipeline, checked};
use crate::derivation::jacobian::NotDifferentiable;
use crate::derivation::shape::shape;
use crate::derivation::written;
use crate::passes::dead;
use crate::passes::rules::{EndlessRule, rules};
use lm::scope::renamed;
use lm::term::{Def, Expr, FunName, Op, Var};

impl Pipeline {
    /// The rules that do not come to an end, each with a function to which it was not applied for that
    /// reason; those that were not taken before.
    pub fn take_endless_rules(&mut self) -> Vec<EndlessRule> {
        std::mem::take(&mut self.endless)
    }

    /// The definition after the rules of the program.
    pub(super) fn ruled(&mut self, def: &Def) -> Def {
        let (ruled, endless) = rules(def, &self.program.rules, &self.effects, &mut self.program.supply);
        self.endless.extend(endless);
        if ruled == *def { ruled } else { checked("rules", dead::dead(&ruled, &self.effects), |_| true) }
    }

    /// A function that is implemented elsewhere, as a call of itself.
    pub(super) fn external(&mut self, name: &FunName) -> Option<Def> {
        let fun = self.program.externals.get(name)?.clone();
        let supply = &mut self.program.supply;
        let params: Vec<Var> = fun.params.iter().map(|ty| supply.fresh("x", ty.clone())).collect();
        let body = Expr::app(Op::Call(fun.clone()), params.iter().map(Expr::var).collect());
        Some(Def { fun, params, body })
    }

    /// `[shape f]`.
    pub(super) fn shape(&mut self, of: &FunName) -> Result<Def, Error> {
        let normal = self.normal_form(of)?;
        let mut supply = std::mem::take(&mut self.program.supply);
        let shape = shape(&normal, &self.program, &self.effects, &mut supply);
        self.program.supply = supply;
        self.finished(&checked("shape", shape, |_| true))
    }

    /// `[D f]` as its user wrote it, without names for maps: bound maps of a Jacobian all start from S.
    pub(super) fn written_jacobian(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.source(&name.derived("D"))?;
        let Some(function) = written::opaque_map(&jacobian.body) else {
            let body = written::without_map_names(&jacobian.body);
            return Ok(checked("written", Def { body: renamed(&body, &mut self.program.supply), ..jacobian }, |_| {
                true
            }));
        };
        let reason = format!("[D {name}], written by hand, takes a linear map from `{function}`");
        Err(NotDifferentiable { function: name.clone(), reason }.into())
    }
}
