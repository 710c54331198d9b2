//! Applies the rewrite rules of a program to a definition.
//!
//! ```text
//! template = replacement      wherever the template matches
//! ```
//!
//! A rule whose rewriting does not end is left out and reported; the others are applied. Takes and gives: any term.
//! Bindings that a replacement no longer uses become dead.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use crate::ks::diagnostic::Diagnostic;
use lm::effect::Effects;
use lm::law::{Law, Named};
use lm::rewriter::Rewriter;
use lm::rewrites::Rewrites;
use lm::strategy::Strategy;
use lm::term::{Def, Expr, FunName, Rule, Span, Supply};
use std::sync::Arc;

/// The number of steps that rules may take on a definition, besides [`FUEL_PER_NODE`] for each of its nodes.
const FUEL: usize = 1_000;
const FUEL_PER_NODE: usize = 10;

/// A rule that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndlessRule {
    /// Its name.
    pub rule: String,
    /// The function to which it was not applied.
    pub function: FunName,
    /// The place of its name.
    pub span: Span,
}

impl From<EndlessRule> for Diagnostic {
    fn from(EndlessRule { rule, function, span }: EndlessRule) -> Diagnostic {
        let message = format!("the rule `{rule}` does not come to an end in `{function}`, where it is not applied");
        Diagnostic::warning("W401", message)
            .remedy("write a rule that makes terms simpler and does not match its own result")
            .at(span)
    }
}

/// Applies all rules that end. Returns the definition, and the rules that do not end.
pub fn rules(
    def: &Def,
    rules: &[Rule],
    effects: &Effects,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> (Def, Vec<EndlessRule>) {
    let names = Arc::new(Named::of(def, effects));
    let mut left: Vec<&Rule> = rules.iter().collect();
    let mut endless = Vec::new();
    while !left.is_empty() {
        let laws = left.iter().map(|rule| Arc::new(Law::of_rule(rule, &names))).collect();
        let mut rewriter = Rewriter::new(supply, rewrites, FUEL + FUEL_PER_NODE * def.body.size());
        match rewriter.run(&Strategy::innermost(laws), &def.body) {
            Ok(body) => return (Def { body: body.unwrap_or(def.body.clone()), ..def.clone() }, endless),
            Err(stuck) => {
                let last = stuck.laws.first().expect("a law took the last step");
                let worst = left.iter().position(|rule| rule.name == *last).expect("it is one of these");
                let rule = left.remove(worst);
                endless.push(EndlessRule {
                    rule: rule.name.to_string(),
                    function: def.fun.name.clone(),
                    span: rule.span,
                });
            }
        }
    }
    (def.clone(), endless)
}

/// Returns what breaks the postcondition: a term that a rule matches, though the rule comes to an end.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let names = Arc::new(Named::default());
    let laws: Vec<Law> = facts.rules.iter().map(|rule| Law::of_rule(rule, &names)).collect();
    smallest(&def.body, |e| laws.iter().any(|law| law.rewrite(e, &mut Supply::default(), &mut Vec::new()).is_some()))
}
