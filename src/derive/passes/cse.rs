//! Common subexpression elimination.
//!
//! ```text
//! ... e ... e ...   =   let t = e in ... t ... t ...
//! ```
//!
//! A term is put in normal form, each operator on atoms is looked up by operator and arguments, and
//! one seen before in an enclosing scope is replaced by its name. A conditional's branches see what
//! was computed before it, but give nothing to each other, so nothing is evaluated that was not.
//! `a + b` and `b + a` are the same, and so are functions that differ in the names of variables only. What has an
//! effect is never shared. A fold is the last state of the scan, where both are there.
//!
//! Source: working notes, sec. 5.1. Takes: normal form. Gives: normal form, each value once.

use crate::derive::forms::shown;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::term::{Atom, Binding, Constant, Def, Expr, Kind, Op, Pattern, Var};
use std::collections::HashMap;

/// The definition with common subexpressions shared.
pub fn cse(def: &Def, effects: &Effects) -> Def {
    let mut pass = Cse { effects, names: HashMap::new(), seen: HashMap::new() };
    Def { body: pass.block(&def.body), ..def.clone() }
}

/// A term with common subexpressions shared, apart from what is around it.
pub fn cse_of_term(e: &Expr, effects: &Effects) -> Expr {
    Cse { effects, names: HashMap::new(), seen: HashMap::new() }.block(e)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Argument {
    Atom(Atom),
    /// A function, as `canonical` writes it.
    Function(Vec<Token>),
}

/// A function's text with its own variables numbered: functions that differ in names only are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Op(Op, usize),
    Const(Constant),
    Free(u32),
    Bound(usize, lm::types::Type),
    Dummy(lm::types::Type),
    Let(usize),
    Binds(usize),
    Lam,
}

/// What a binding computes: enough to know it again.
type Key = (Op, Vec<Argument>);

struct Cse<'a> {
    effects: &'a Effects,
    /// Variables whose bindings were dropped.
    names: HashMap<u32, Expr>,
    /// What is known in this scope, and what holds it.
    seen: HashMap<Key, Pattern>,
}

impl Cse<'_> {
    fn block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut out = Vec::with_capacity(bindings.len());
        let mut added = Vec::new();
        for b in bindings {
            self.binding(b, &mut out, &mut added);
        }
        let result = self.simple(result);
        // A tuple stays in view: those who take blocks apart look for its parts.
        let key = self.key(&result).filter(|(op, _)| *op != Op::Tuple);
        let result = key.and_then(|k| self.seen.get(&k)).and_then(single).unwrap_or(result);
        for key in added {
            self.seen.remove(&key);
        }
        Expr::block(out, result)
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>, added: &mut Vec<Key>) {
        let rhs = self.simple(&b.rhs);
        if let (Pattern::Var(x), true) = (&b.pattern, rhs.is_atom()) {
            self.names.insert(x.id(), rhs);
            return;
        }
        if let (Pattern::Tuple(xs), Some(Atom::Var(whole))) = (&b.pattern, Atom::of(&rhs)) {
            self.components(xs, whole, added);
        }
        if let (Pattern::Tuple(xs), Some([_, yes, no])) = (&b.pattern, rhs.args_of(&Op::If)) {
            self.alias_equal_components(xs, yes, no);
        }
        let rhs = self.last_of_scan(rhs);
        let key = self.key(&rhs);
        let is_new = |key: &Key| !self.seen.contains_key(key);
        if let Some(key) = key.clone().filter(|key| is_new(key) && self.scan_for_fold(key, b, &rhs, out)) {
            added.push(key.clone());
            self.seen.insert(key, b.pattern.clone());
            return;
        }
        let known = key.as_ref().and_then(|k| self.seen.get(k));
        match known {
            Some(known) if same_form(known, &b.pattern) => {
                let pairs = b.pattern.vars().iter().zip(known.vars()).map(|(x, y)| (x.id(), Expr::var(y)));
                self.names.extend(pairs.collect::<Vec<_>>());
            }
            _ => {
                if let Some(key) = key.filter(|k| !self.seen.contains_key(k)) {
                    self.seen.insert(key.clone(), b.pattern.clone());
                    added.push(key);
                }
                out.push(Binding { pattern: b.pattern.clone(), rhs });
            }
        }
    }

    /// `fold f a v` after `states = scanl f a v` is the last of the states.
    fn last_of_scan(&self, rhs: Expr) -> Expr {
        let Some((Op::Prim(Prim::Fold), atoms)) = self.key(&rhs) else { return rhs };
        let states = self.seen.get(&(Op::Prim(Prim::Scanl), atoms)).and_then(single);
        states.map_or(rhs.clone(), |states| last(&rhs, states))
    }

    /// `y = fold f a v .. states = scanl f a v` is `states = scanl f a v, y = the last of them ..`.
    /// Whether it was so.
    fn scan_for_fold(&self, key: &Key, b: &Binding, rhs: &Expr, out: &mut Vec<Binding>) -> bool {
        let (Op::Prim(Prim::Scanl), atoms) = key else { return false };
        let fold = self.seen.get(&(Op::Prim(Prim::Fold), atoms.clone()));
        let Some(at) = fold.and_then(|y| out.iter().position(|b| b.pattern == *y)) else { return false };
        let Pattern::Var(states) = &b.pattern else { return false };
        let last = last(&out[at].rhs, Expr::var(states));
        out[at].rhs = last;
        out.insert(at, Binding { pattern: b.pattern.clone(), rhs: rhs.clone() });
        true
    }

    /// `(x1, .., xn) = t` makes xi another name of the i-th component of t.
    fn components(&mut self, xs: &[lm::term::Var], whole: u32, added: &mut Vec<Key>) {
        for (i, x) in xs.iter().enumerate() {
            let key = (Op::Get(i + 1, xs.len()), vec![Argument::Atom(Atom::Var(whole))]);
            match self.seen.get(&key).and_then(single) {
                Some(known) => drop(self.names.insert(x.id(), known)),
                None => {
                    self.seen.insert(key.clone(), Pattern::Var(x.clone()));
                    added.push(key);
                }
            }
        }
    }

    /// Two components of a conditional that are the same in either branch need one name.
    fn alias_equal_components(&mut self, xs: &[lm::term::Var], yes: &Expr, no: &Expr) {
        let (Some(yes), Some(no)) = (yes.as_block().1.args_of(&Op::Tuple), no.as_block().1.args_of(&Op::Tuple)) else {
            return;
        };
        let mut first: HashMap<(Atom, Atom), Expr> = HashMap::new();
        for (x, (a, b)) in xs.iter().zip(yes.iter().zip(no)) {
            let (Some(a), Some(b)) = (Atom::of(a), Atom::of(b)) else { continue };
            match first.get(&(a.clone(), b.clone())) {
                Some(same) => drop(self.names.insert(x.id(), same.clone())),
                None => drop(first.insert((a, b), Expr::var(x))),
            }
        }
    }

    /// An operator on atoms, the atoms replaced; branches and functions shared within.
    fn simple(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => self.names.get(&x.id()).unwrap_or(e).clone(),
            Kind::Let(..) => self.block(e),
            Kind::Lam(_, body) => {
                let shared = self.block(body);
                e.map_children(|_| shared.clone())
            }
            Kind::App(Op::If, args) => {
                let c = self.simple(&args[0]);
                let (yes, no) = (self.block(&args[1]), self.block(&args[2]));
                Expr::conditional(c, yes, no).at(e.span())
            }
            Kind::App(..) => e.map_children(|a| self.simple(a)),
        }
    }

    fn key(&self, e: &Expr) -> Option<Key> {
        let Kind::App(op, args) = e.kind() else { return None };
        if matches!(op, Op::If | Op::Dummy) || self.effects.in_term(e) {
            return None;
        }
        let mut atoms = args.iter().map(as_argument).collect::<Option<Vec<_>>>()?;
        let commutes =
            matches!(op, Op::Prim(Prim::Add)) || (matches!(op, Op::Prim(Prim::Mul)) && args[0].ty() == args[1].ty());
        if commutes && rank(&atoms[1]) < rank(&atoms[0]) {
            atoms.swap(0, 1);
        }
        Some((op.clone(), atoms))
    }
}

/// The value of a fold, of all its states.
fn last(fold: &Expr, states: Expr) -> Expr {
    let [_, _, v] = fold.args_of(&Op::Prim(Prim::Fold)).expect("a fold") else { panic!("a fold takes three") };
    let n = Expr::prim(Prim::Size, [v.clone()]);
    Expr::prim(Prim::Index, [n, states]).at(fold.span())
}

/// The one variable that holds the whole.
fn single(known: &Pattern) -> Option<Expr> {
    match known {
        Pattern::Var(x) => Some(Expr::var(x)),
        Pattern::Tuple(_) => None,
    }
}

/// Whether both name the whole, or both its components.
fn same_form(a: &Pattern, b: &Pattern) -> bool {
    match (a, b) {
        (Pattern::Var(_), Pattern::Var(_)) => true,
        (Pattern::Tuple(xs), Pattern::Tuple(ys)) => xs.len() == ys.len(),
        (Pattern::Var(_), Pattern::Tuple(_)) | (Pattern::Tuple(_), Pattern::Var(_)) => false,
    }
}

fn as_argument(e: &Expr) -> Option<Argument> {
    match e.kind() {
        Kind::Lam(..) => {
            let mut tokens = Vec::new();
            canonical(e, &mut HashMap::new(), &mut tokens);
            Some(Argument::Function(tokens))
        }
        _ => Atom::of(e).map(Argument::Atom),
    }
}

fn canonical(e: &Expr, bound: &mut HashMap<u32, usize>, out: &mut Vec<Token>) {
    let bind = |x: &Var, bound: &mut HashMap<u32, usize>| {
        let n = bound.len();
        bound.insert(x.id(), n);
    };
    match e.kind() {
        Kind::Const(c) => out.push(Token::Const(c.clone())),
        Kind::Var(x) => out.push(match bound.get(&x.id()) {
            Some(n) => Token::Bound(*n, x.ty().clone()),
            None => Token::Free(x.id()),
        }),
        Kind::App(Op::Dummy, _) => out.push(Token::Dummy(e.ty().clone())),
        Kind::App(op, args) => {
            out.push(Token::Op(op.clone(), args.len()));
            args.iter().for_each(|a| canonical(a, bound, out));
        }
        Kind::Let(bindings, body) => {
            out.push(Token::Let(bindings.len()));
            for b in bindings {
                canonical(&b.rhs, bound, out);
                out.push(Token::Binds(b.pattern.vars().len()));
                b.pattern.vars().iter().for_each(|x| bind(x, bound));
            }
            canonical(body, bound, out);
        }
        Kind::Lam(x, body) => {
            out.push(Token::Lam);
            bind(x, bound);
            canonical(body, bound, out);
        }
    }
}

/// An order on atoms, for operators that commute.
fn rank(a: &Argument) -> u64 {
    match a {
        Argument::Atom(Atom::Var(id)) => u64::from(*id),
        Argument::Atom(Atom::Const(_) | Atom::Dummy(_)) | Argument::Function(_) => u64::MAX,
    }
}

/// The postcondition: no variable is bound to an operator on atoms that another variable in scope is bound to. Where
/// variables of a pattern were bound to the first one's components, a variable for the whole is no name for them.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    Twice { effects: facts.effects, seen: HashMap::new() }.term(&def.body)
}

/// A search for terms that are computed twice.
struct Twice<'a> {
    effects: &'a Effects,
    /// The operators on atoms in scope, and whether a variable holds the first of each; else a tuple of variables does.
    seen: HashMap<(Op, Vec<Atom>), bool>,
}

impl Twice<'_> {
    fn term(&mut self, e: &Expr) -> Option<Expr> {
        let Kind::Let(bindings, body) = e.kind() else { return e.children().find_map(|c| self.term(c)) };
        let mut added = Vec::new();
        let mut found = None;
        for b in bindings {
            found = found.or_else(|| self.term(&b.rhs)).or_else(|| self.binding(b, &mut added));
        }
        found = found.or_else(|| self.term(body));
        for key in &added {
            self.seen.remove(key);
        }
        found
    }

    fn binding(&mut self, b: &Binding, added: &mut Vec<(Op, Vec<Atom>)>) -> Option<Expr> {
        let Kind::App(op, args) = b.rhs.kind() else { return None };
        let atoms = args.iter().map(Atom::of).collect::<Option<Vec<_>>>()?;
        if matches!(op, Op::If | Op::Dummy) || self.effects.in_term(&b.rhs) {
            return None;
        }
        let (key, is_var) = ((op.clone(), atoms), matches!(b.pattern, Pattern::Var(_)));
        match self.seen.get(&key) {
            Some(first) => (*first && is_var).then(|| shown(b)),
            None => {
                self.seen.insert(key.clone(), is_var);
                added.push(key);
                None
            }
        }
    }
}
