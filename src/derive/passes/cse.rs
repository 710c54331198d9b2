//! Computes equal terms once: common subexpression elimination.
//!
//! ```text
//! ... e ... e ...   =   let t = e in ... t ... t ...
//! ```
//!
//! Each operator on atoms is looked up by operator and arguments. If an enclosing scope has computed it, its name
//! replaces it. The branches of a conditional see what was computed before it, but give nothing to each other. So
//! nothing is evaluated that was not.
//!
//! `a + b` and `b + a` are the same, and so are functions that differ only in the names of variables and in the order of
//! their bindings. A term with an effect is never shared, nor is a tensor with one element that is not zero. A fold becomes
//! the last state of the scan, where the definition has both.
//!
//! Source: working notes, sec. 5.1. Takes: normal form. Gives: the same, each value once.

use crate::derive::forms::shown;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::free_variables;
use lm::term::{Atom, Binding, Constant, Def, Expr, Kind, Op, Pattern, Var};
use rustc_hash::FxHashMap;

/// Shares common subexpressions of a definition.
pub fn cse(def: &Def, effects: &Effects, rewrites: &mut Rewrites) -> Def {
    let mut pass = Cse { effects, rewrites, names: FxHashMap::default(), seen: FxHashMap::default() };
    Def { body: pass.share_in_block(&def.body), ..def.clone() }
}

/// Shares common subexpressions of a term, whatever is around it.
pub fn cse_of_term(e: &Expr, effects: &Effects) -> Expr {
    let rewrites = &mut Rewrites::all();
    Cse { effects, rewrites, names: FxHashMap::default(), seen: FxHashMap::default() }.share_in_block(e)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Argument {
    Atom(Atom),
    /// A function, as [`canonical`] writes it.
    Function(Vec<Token>),
}

/// A piece of the text of a function with its own variables numbered: equal functions have equal texts.
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

/// The key of a binding: its operator and arguments.
type Key = (Op, Vec<Argument>);

struct Cse<'a> {
    effects: &'a Effects,
    rewrites: &'a mut Rewrites,
    /// Variables whose bindings were dropped.
    names: FxHashMap<u32, Expr>,
    /// The terms computed in this scope, and the variables that hold them.
    seen: FxHashMap<Key, Pattern>,
}

impl Cse<'_> {
    fn share_in_block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut out = Vec::with_capacity(bindings.len());
        let mut added = Vec::new();
        for b in bindings {
            self.binding(b, &mut out, &mut added);
        }
        let result = self.simple(result);
        // A tuple stays in view: those who take blocks apart look for its parts.
        let known = self.variable_for(&result).filter(|_| result.args_of(&Op::Tuple).is_none());
        let known = known.filter(|_| self.rewrites.may("let-share"));
        let result = known.unwrap_or(result);
        for key in added {
            self.seen.remove(&key);
        }
        Expr::block(out, result)
    }

    fn binding(&mut self, b: &Binding, out: &mut Vec<Binding>, added: &mut Vec<Key>) {
        let rhs = self.simple(&b.rhs);
        if let (Pattern::Var(x), true) = (&b.pattern, rhs.is_atom())
            && self.rewrites.may("let-atom")
        {
            self.names.insert(x.id(), rhs);
            return;
        }
        if let (Pattern::Tuple(xs), Some([_, yes, no])) = (&b.pattern, rhs.args_of(&Op::If)) {
            self.alias_equal_components(xs, yes, no);
        }
        let mut rhs = self.last_of_scan(rhs);
        if let Pattern::Tuple(xs) = &b.pattern {
            let known = self.variable_for(&rhs).filter(|_| self.rewrites.may("let-share"));
            rhs = known.unwrap_or(rhs);
            if let Some(Atom::Var(whole)) = Atom::of(&rhs) {
                self.name_components(xs, whole, added);
            }
        }
        let key = self.key(&rhs);
        if let Some(key) = &key
            && !self.seen.contains_key(key)
            && self.scan_for_fold(key, b, &rhs, out)
        {
            added.push(key.clone());
            self.seen.insert(key.clone(), b.pattern.clone());
            return;
        }
        let known = key.as_ref().and_then(|k| self.seen.get(k));
        match known {
            Some(known) if same_form(known, &b.pattern) && self.rewrites.may("let-share") => {
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

    /// Returns the variable that holds the value of a term, if one does.
    fn variable_for(&self, e: &Expr) -> Option<Expr> {
        self.key(e).and_then(|key| self.seen.get(&key)).and_then(as_variable)
    }

    /// Replaces `fold f a v` by the last of the states, after `states = scanl f a v`.
    fn last_of_scan(&mut self, rhs: Expr) -> Expr {
        let Some((Op::Prim(Prim::Fold), atoms)) = self.key(&rhs) else { return rhs };
        let states = self.seen.get(&(Op::Prim(Prim::Scanl), atoms)).and_then(as_variable);
        let states = states.filter(|_| self.rewrites.may("fold-scanl"));
        states.map_or(rhs.clone(), |states| last_state(&rhs, states))
    }

    /// Replaces `y = fold f a v .. states = scanl f a v` by `states = scanl f a v, y = the last of them ..`. Returns
    /// whether it did.
    fn scan_for_fold(&mut self, key: &Key, b: &Binding, rhs: &Expr, out: &mut Vec<Binding>) -> bool {
        let (Op::Prim(Prim::Scanl), atoms) = key else { return false };
        let fold = self.seen.get(&(Op::Prim(Prim::Fold), atoms.clone()));
        let Some(at) = fold.and_then(|y| out.iter().position(|b| b.pattern == *y)) else { return false };
        let Pattern::Var(states) = &b.pattern else { return false };
        if !self.rewrites.may("fold-scanl") {
            return false;
        }
        let last = last_state(&out[at].rhs, Expr::var(states));
        out[at].rhs = last;
        out.insert(at, Binding { pattern: b.pattern.clone(), rhs: rhs.clone() });
        true
    }

    /// Makes xi of `(x1, .., xn) = t` another name of the i-th component of t.
    fn name_components(&mut self, xs: &[Var], whole: u32, added: &mut Vec<Key>) {
        for (i, x) in xs.iter().enumerate() {
            let key = (Op::Get(i + 1, xs.len()), vec![Argument::Atom(Atom::Var(whole))]);
            match self.seen.get(&key).and_then(as_variable) {
                Some(known) if self.rewrites.may("let-share") => drop(self.names.insert(x.id(), known)),
                Some(_) => {}
                None => {
                    self.seen.insert(key.clone(), Pattern::Var(x.clone()));
                    added.push(key);
                }
            }
        }
    }

    /// Gives one name to two components of a conditional that are equal in either branch.
    fn alias_equal_components(&mut self, xs: &[Var], yes: &Expr, no: &Expr) {
        let (Some(yes), Some(no)) = (yes.as_block().1.args_of(&Op::Tuple), no.as_block().1.args_of(&Op::Tuple)) else {
            return;
        };
        let mut first: FxHashMap<(Atom, Atom), Expr> = FxHashMap::default();
        for (x, (a, b)) in xs.iter().zip(yes.iter().zip(no)) {
            let (Some(a), Some(b)) = (Atom::of(a), Atom::of(b)) else { continue };
            match first.get(&(a.clone(), b.clone())) {
                Some(same) if self.rewrites.may("if-equal") => drop(self.names.insert(x.id(), same.clone())),
                Some(_) => {}
                None => drop(first.insert((a, b), Expr::var(x))),
            }
        }
    }

    /// Replaces the atoms of an operator by their names; shares within branches and functions.
    fn simple(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => self.names.get(&x.id()).unwrap_or(e).clone(),
            Kind::Let(..) => self.share_in_block(e),
            Kind::Lam(_, body) => {
                let shared = self.share_in_block(body);
                e.map_children(|_| shared.clone())
            }
            Kind::App(Op::If, args) => {
                let c = self.simple(&args[0]);
                let (yes, no) = (self.share_in_block(&args[1]), self.share_in_block(&args[2]));
                Expr::conditional(c, yes, no).at(e.span())
            }
            Kind::App(..) => e.map_children(|a| self.simple(a)),
        }
    }

    fn key(&self, e: &Expr) -> Option<Key> {
        let Kind::App(op, args) = e.kind() else { return None };
        if is_apart(op) || self.effects.in_term(e) {
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

/// Returns whether terms of an operator stay apart. A tensor with one element that is not zero costs what that element
/// costs where it is added to another one, and a tensor of zeros where it has a name that is used twice.
fn is_apart(op: &Op) -> bool {
    matches!(op, Op::If | Op::Dummy | Op::Prim(Prim::DeltaAt))
}

/// Returns the value of a fold, of all its states.
fn last_state(fold: &Expr, states: Expr) -> Expr {
    let [_, _, v] = fold.args_of(&Op::Prim(Prim::Fold)).expect("a fold") else { panic!("a fold takes three") };
    let n = Expr::prim(Prim::Size, [v.clone()]);
    Expr::prim(Prim::Index, [n, states]).at(fold.span())
}

/// Returns the variable that holds the whole, if one does.
fn as_variable(known: &Pattern) -> Option<Expr> {
    match known {
        Pattern::Var(x) => Some(Expr::var(x)),
        Pattern::Tuple(_) => None,
    }
}

/// Returns whether both patterns name the whole, or both its components.
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
            canonical(e, &mut FxHashMap::default(), &mut tokens);
            Some(Argument::Function(tokens))
        }
        _ => Atom::of(e).map(Argument::Atom),
    }
}

fn canonical(e: &Expr, bound: &mut FxHashMap<u32, usize>, out: &mut Vec<Token>) {
    let bind = |x: &Var, bound: &mut FxHashMap<u32, usize>| {
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
            for b in by_need(bindings, body) {
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

/// Returns the bindings of a block in the order in which its result needs them, each after those that it needs; then the
/// others. What has no effect may be in any order.
fn by_need<'e>(bindings: &'e [Binding], result: &Expr) -> Vec<&'e Binding> {
    let owner: FxHashMap<u32, usize> =
        bindings.iter().enumerate().flat_map(|(i, b)| b.pattern.vars().iter().map(move |x| (x.id(), i))).collect();
    let needed = |e: &Expr| free_variables(e).iter().rev().filter_map(|x| owner.get(&x.id()).copied()).collect();
    let mut is_done = vec![false; bindings.len()];
    let mut order = Vec::with_capacity(bindings.len());
    let mut left: Vec<usize> = (0..bindings.len()).rev().collect();
    left.extend::<Vec<usize>>(needed(result));
    while let Some(i) = left.last().copied() {
        let before: Vec<usize> = if is_done[i] { vec![] } else { needed(&bindings[i].rhs) };
        let before: Vec<usize> = before.into_iter().filter(|j| !is_done[*j]).collect();
        if before.is_empty() {
            left.pop();
            if !is_done[i] {
                is_done[i] = true;
                order.push(&bindings[i]);
            }
        } else {
            left.extend(before);
        }
    }
    order
}

/// Returns the rank of an argument, to order the arguments of operators that commute.
fn rank(a: &Argument) -> u64 {
    match a {
        Argument::Atom(Atom::Var(id)) => u64::from(*id),
        Argument::Atom(Atom::Const(_) | Atom::Dummy(_)) | Argument::Function(_) => u64::MAX,
    }
}

/// Returns what breaks the postcondition: an operator on atoms that a variable in scope is bound to is computed again.
/// A variable for a whole whose components a pattern has named is left alone.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    Duplicates { effects: facts.effects, seen: FxHashMap::default() }.term(&def.body)
}

/// A search for terms that are computed twice.
struct Duplicates<'a> {
    effects: &'a Effects,
    /// The operators on atoms in scope, and whether a variable holds the first of each; else a tuple of variables does.
    seen: FxHashMap<(Op, Vec<Atom>), bool>,
}

impl Duplicates<'_> {
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
        if is_apart(op) || self.effects.in_term(&b.rhs) {
            return None;
        }
        let key = (op.clone(), atoms);
        match self.seen.get(&key) {
            Some(first) => first.then(|| shown(b)),
            None => {
                self.seen.insert(key.clone(), matches!(b.pattern, Pattern::Var(_)));
                added.push(key);
                None
            }
        }
    }
}
