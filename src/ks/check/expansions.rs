//! Primitives on arrays in terms of others, by the text `expansions.ks`.
//!
//! ```text
//! (map2 f v w)  =  (build ($common_size v w) (lam (k : i) (f (tuple (index k v) (index k w)))))
//! ```
//!
//! A term becomes what the checker would make of the body in its place. The pass `expand_arrays` does so throughout a
//! definition.

use crate::derive::passes::expand_arrays::{expand_arrays, expanded, has_arrays};
use crate::ks::check::checked::{CheckOptions, Checked};
use crate::ks::check::checker::Checker;
use crate::ks::check::terms::types;
use crate::ks::check::written::{Definition, EXPANSIONS};
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scheme::Rule;
use lm::term::{Def, Expr, Kind, Op, Span, Supply};

/// Returns a primitive on arguments, in terms of others.
///
/// Panics when the primitive is none of those with an expansion.
pub fn expansion(p: Prim, args: Vec<Expr>, span: Span, supply: &mut Supply) -> Expr {
    let mut checker = Checker::new(CheckOptions::default());
    std::mem::swap(&mut checker.supply, supply);
    let expansion = checker.expansion_of(p, args, span);
    std::mem::swap(&mut checker.supply, supply);
    expansion
}

impl Checker {
    /// Returns a term without primitives that have an expansion.
    pub(super) fn without_arrays(&mut self, e: &Expr) -> Expr {
        let supply = &mut self.supply;
        expanded(e, &expansion, supply, &mut Rewrites::all())
    }

    /// Returns a primitive on arguments, in terms of others.
    fn expansion_of(&mut self, p: Prim, args: Vec<Expr>, span: Span) -> Expr {
        let definition = definition(p, &args);
        let instance = Rule::parse(&definition.typing).instance(&types(&args));
        let instance = instance.unwrap_or_else(|| panic!("`{}` does not take {args:?}", definition.name));
        let body = self.body_at(definition, instance, args, span);
        body.unwrap_or_else(|| panic!("expansions.ks: the body of `{}` is wrong: {:?}", definition.name, self.errors))
    }
}

fn definition(p: Prim, args: &[Expr]) -> &'static Definition {
    let has_some = matches!(p, Prim::Shift1L | Prim::Shift1R) && args.iter().all(is_never_empty);
    let name = if has_some { format!("{}_of_some", p.name()) } else { p.name().to_string() };
    let found = EXPANSIONS.iter().find(|definition| *definition.name == *name);
    found.unwrap_or_else(|| panic!("`{name}` has no expansion"))
}

/// Returns whether a vector has elements, whatever the arguments of its operator are.
fn is_never_empty(v: &Expr) -> bool {
    matches!(v.as_block().1.kind(), Kind::App(Op::Prim(Prim::Scanl | Prim::Scanr | Prim::VecInit), _))
}

impl Checked {
    /// Expands the primitives that have an expansion, and keeps the definitions with them as they are written.
    pub fn expand_arrays(&mut self) {
        let supply = &mut self.program.supply;
        let mut expanded = |def: &Def| expand_arrays(def, &expansion, supply, &mut Rewrites::all());
        for (name, def) in self.program.defs.iter_mut().filter(|(_, def)| has_arrays(&def.body)) {
            let written = std::mem::replace(def, expanded(def));
            self.with_arrays.insert(name.clone(), written);
        }
        for def in self.prelude.values_mut().filter(|def| has_arrays(&def.body)) {
            *def = expanded(def);
        }
    }
}
