//! A conditional whose results only one later conditional on the same condition uses, joins that one.
//!
//!   let u = if c then a else b in .. if c then e else f
//!      =   .. if c then (let u = a in e) else (let u = b in f)        u occurs in e and f only
//!
//! The counterpart of `merge`: what `slice` cut off and nothing computed before could take up goes
//! back to where it is used. No work is copied. Takes and gives: normal form.

use lm::effect::Effects;
use lm::scope::{occurrences, renamed};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};
use std::collections::HashMap;

/// The definition with records that only one conditional uses sunk into it.
pub fn sink(def: &Def, effects: &Effects, supply: &mut Supply) -> Def {
    let mut pass = Sink { effects, supply, uses: occurrences(&def.body) };
    Def { body: pass.block(&def.body), ..def.clone() }
}

struct Sink<'a> {
    effects: &'a Effects,
    supply: &'a mut Supply,
    uses: HashMap<u32, usize>,
}

impl Sink<'_> {
    fn block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut bindings = bindings.to_vec();
        let mut result = result.clone();
        for i in (0..bindings.len()).rev() {
            let Some(c) = condition(&bindings[i].rhs) else { continue };
            if self.effects.in_term(&bindings[i].rhs) {
                continue;
            }
            let later = (i + 1..bindings.len()).find(|&j| condition(&bindings[j].rhs) == Some(c));
            let target = later.map_or(&result, |j| &bindings[j].rhs);
            if condition(target) != Some(c) || !self.serves_only(&bindings[i], target) {
                continue;
            }
            let joined = self.joined(&bindings[i], target);
            match later {
                Some(j) => bindings[j].rhs = joined,
                None => result = joined,
            }
            bindings.remove(i);
        }
        let bindings = bindings.into_iter().map(|b| Binding { rhs: self.inside(&b.rhs), ..b }).collect();
        Expr::block(bindings, self.inside(&result))
    }

    fn inside(&mut self, e: &Expr) -> Expr {
        match e.args_of(&Op::If) {
            Some([c, yes, no]) => Expr::conditional(c.clone(), self.block(yes), self.block(no)).at(e.span()),
            _ => e.clone(),
        }
    }

    fn serves_only(&self, b: &Binding, target: &Expr) -> bool {
        let here = occurrences(target);
        b.pattern.vars().iter().all(|x| self.uses.get(&x.id()) == here.get(&x.id()))
    }

    fn joined(&mut self, b: &Binding, target: &Expr) -> Expr {
        let (Some([_, a1, a2]), Some([c, e1, e2])) = (b.rhs.args_of(&Op::If), target.args_of(&Op::If)) else {
            panic!("both are conditionals")
        };
        let (yes, no) = (self.branch(b, a1, e1), self.branch(b, a2, e2));
        Expr::conditional(c.clone(), yes, no).at(target.span())
    }

    fn branch(&mut self, b: &Binding, a: &Expr, e: &Expr) -> Expr {
        let (inner, result) = a.as_block();
        let unpack: Vec<Binding> = match (&b.pattern, result.args_of(&Op::Tuple)) {
            (Pattern::Tuple(xs), Some(parts)) => {
                let each = xs.iter().zip(parts);
                each.map(|(x, p)| Binding { pattern: Pattern::Var(x.clone()), rhs: p.clone() }).collect()
            }
            _ => vec![Binding { pattern: b.pattern.clone(), rhs: result.clone() }],
        };
        renamed(&Expr::block([inner.to_vec(), unpack].concat(), e.clone()), self.supply)
    }
}

/// The variable that a conditional branches on.
fn condition(e: &Expr) -> Option<u32> {
    match e.kind() {
        Kind::App(Op::If, args) => args[0].as_var().map(|x| x.id()),
        _ => None,
    }
}
