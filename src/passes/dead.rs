//! Drops bindings nobody uses, and components of conditionals' results nobody uses.
//!
//!   let x = e in b   =   b                                                           x not in b
//!   let (x, u) = if c then (e, v) else (f, w) in b   =   let x = if c then e else f in b    u not in b
//!
//! A binding with an effect (`print`, `$trace`) stays. A run-time error that a dropped binding would
//! have raised goes with it. One walk, from the result backwards.
//! Takes and gives: any term.

use lm::effect::Effects;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern};
use std::collections::HashSet;

/// The definition without dead bindings.
pub fn dead(def: &Def, effects: &Effects) -> Def {
    let mut pass = Dead { effects, used: HashSet::new() };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct Dead<'a> {
    effects: &'a Effects,
    /// The variables used by what was walked so far.
    used: HashSet<u32>,
}

impl Dead<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => {
                self.used.insert(x.id());
                e.clone()
            }
            Kind::App(..) | Kind::Lam(..) => e.map_children(|a| self.term(a)),
            Kind::Let(bindings, body) => {
                let body = self.term(body);
                let mut kept: Vec<Binding> = bindings.iter().rev().filter_map(|b| self.binding(b)).collect();
                kept.reverse();
                Expr::block(kept, body)
            }
        }
    }

    fn binding(&mut self, b: &Binding) -> Option<Binding> {
        let live: Vec<bool> = b.pattern.vars().iter().map(|x| self.used.contains(&x.id())).collect();
        if !live.contains(&true) && !self.effects.in_term(&b.rhs) {
            return None;
        }
        let narrowed = match (&b.pattern, b.rhs.args_of(&Op::If)) {
            (Pattern::Tuple(_), Some([c, yes, no])) if live.contains(&false) && live.contains(&true) => {
                let rhs = Expr::conditional(c.clone(), components(yes, &live), components(no, &live));
                let vars = b.pattern.vars().iter().zip(&live).filter(|(_, l)| **l).map(|(x, _)| x.clone());
                let mut vars: Vec<_> = vars.collect();
                let pattern = if vars.len() == 1 { Pattern::Var(vars.remove(0)) } else { Pattern::Tuple(vars) };
                Binding { pattern, rhs: rhs.at(b.rhs.span()) }
            }
            _ => b.clone(),
        };
        Some(Binding { rhs: self.term(&narrowed.rhs), ..narrowed })
    }
}

/// The live components of a branch's tuple; the component itself when there is one.
fn components(branch: &Expr, live: &[bool]) -> Expr {
    let (bindings, result) = branch.as_block();
    let chosen = live.iter().enumerate().filter(|(_, l)| **l).map(|(i, _)| i + 1);
    let result = match result.args_of(&Op::If) {
        Some([c, yes, no]) => Expr::conditional(c.clone(), components(yes, live), components(no, live)),
        _ => {
            let mut parts: Vec<Expr> = chosen.map(|i| Expr::get(i, result.clone())).collect();
            if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
        }
    };
    Expr::block(bindings.to_vec(), result)
}
