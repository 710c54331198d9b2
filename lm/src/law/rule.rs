//! Matches and applies the rules of a program.
//!
//! ```text
//! (rule "name" ((x : Float) ...) template replacement)        template = replacement, from left to right
//! ```
//!
//! A parameter matches any term of its type that uses no variable bound by the template around it. A parameter that
//! the template mentions twice matches the same term twice. Bound variables match bound variables. The names that a
//! let gives do not count: a variable matches the term that it is bound to.
//!
//! A parameter f that is a function is applied to a bound variable in the template: `f(i)` matches any term that uses no
//! other variable bound there. In the replacement, `f(k)` is that term with k for i (Miller's patterns: at most one match).

use super::matching::name_it;
use crate::alpha;
use crate::effect::Effects;
use crate::scope::{free_variables, occurrences, renamed, substitute};
use crate::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Rule, Supply, Var};
use rustc_hash::FxHashMap;

/// The term that each variable of a definition is bound to, if that has no effect.
#[derive(Debug, Default)]
pub struct Named {
    terms: FxHashMap<u32, Expr>,
    effects: Effects,
}

impl Named {
    /// Returns the names of a definition, among functions with these effects.
    pub fn of(def: &Def, effects: &Effects) -> Named {
        let mut terms = FxHashMap::default();
        def.body.visit_bindings(|b| {
            if !effects.in_term(&b.rhs) {
                terms.extend(meanings(b));
            }
        });
        Named { terms, effects: effects.clone() }
    }
}

/// Returns the term of each variable of a binding.
fn meanings(b: &Binding) -> Vec<(u32, Expr)> {
    match &b.pattern {
        Pattern::Var(x) => vec![(x.id(), b.rhs.clone())],
        Pattern::Tuple(xs) => {
            let part = |(i, x): (usize, &Var)| (x.id(), Expr::get(i + 1, b.rhs.clone()));
            xs.iter().enumerate().map(part).collect()
        }
    }
}

/// Returns a template with names replaced by their terms.
pub fn without_names(e: &Expr) -> Expr {
    match e.kind() {
        Kind::Let(bindings, body) => {
            let mut by = FxHashMap::default();
            for b in bindings {
                let rhs = substitute(&without_names(&b.rhs), &by);
                by.extend(meanings(&Binding { pattern: b.pattern.clone(), rhs }));
            }
            substitute(&without_names(body), &by)
        }
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => e.map_children(without_names),
    }
}

/// Returns the replacement for `e`, if the template, which has no names, matches it.
///
/// If the replacement uses a term more than once, a new binding on `floats` names the term. A term with an
/// effect is not matched.
pub fn rewrite(rule: &Rule, named: &Named, e: &Expr, supply: &mut Supply, floats: &mut Vec<Binding>) -> Option<Expr> {
    let is_named = matches!(e.kind(), Kind::Var(_) | Kind::Let(..));
    let mut matching = Matching {
        rule,
        named,
        terms: FxHashMap::default(),
        functions: Vec::new(),
        bound: FxHashMap::default(),
        inner: Vec::new(),
    };
    if is_named || !matching.matches(&rule.template, e) || named.effects.in_term(e) {
        return None;
    }
    let uses = occurrences(&rule.replacement);
    let mut terms = FxHashMap::default();
    for x in &rule.params {
        let term = renamed(matching.terms.get(&x.id())?, supply);
        let is_copied = uses.get(&x.id()).is_some_and(|n| *n > 1);
        terms.insert(x.id(), if is_copied { name_it(&term, supply, floats) } else { term });
    }
    let replacement = with_functions(&renamed(&rule.replacement, supply), &matching.functions, supply);
    Some(substitute(&replacement, &terms))
}

/// Returns a replacement with the terms of functions in place of their calls: `f(e) = let i = e in b`, for f = λi. b.
fn with_functions(e: &Expr, functions: &[(FunName, Var, Expr)], supply: &mut Supply) -> Expr {
    let e = e.map_children(|child| with_functions(child, functions, supply));
    let Kind::App(Op::Call(f), args) = e.kind() else { return e };
    let Some((_, i, body)) = functions.iter().find(|(name, ..)| *name == f.name) else { return e };
    let binding = Binding { pattern: Pattern::Var(i.clone()), rhs: args[0].clone() };
    renamed(&Expr::block(vec![binding], body.clone()), supply)
}

struct Matching<'a> {
    rule: &'a Rule,
    named: &'a Named,
    /// The term of each parameter.
    terms: FxHashMap<u32, Expr>,
    /// The term of each function, with its variable.
    functions: Vec<(FunName, Var, Expr)>,
    /// The variable that matches each variable bound by a function of the template.
    bound: FxHashMap<u32, Var>,
    /// The names that the matched term gives inside of it, in order.
    inner: Vec<Binding>,
}

impl Matching<'_> {
    fn matches(&mut self, template: &Expr, e: &Expr) -> bool {
        if template.ty() != e.ty() {
            return false;
        }
        match (template.kind(), e.kind()) {
            (Kind::Var(x), _) if self.rule.params.contains(x) => self.parameter(x, e),
            (Kind::App(Op::Call(f), args), _) if self.rule.functions.contains(f) => self.function(&f.name, &args[0], e),
            (Kind::Var(x), Kind::Var(y)) if self.bound.get(&x.id()) == Some(y) => true,
            (Kind::Const(c), Kind::Const(d)) => c == d,
            (Kind::App(f, args), Kind::App(g, others)) if f == g && *f != Op::Dummy => {
                args.len() == others.len() && args.iter().zip(others).all(|(a, b)| self.matches(a, b))
            }
            (Kind::App(Op::Dummy, _), Kind::App(Op::Dummy, _)) => true,
            (Kind::Lam(x, body), Kind::Lam(y, other)) => {
                self.bound.insert(x.id(), y.clone());
                x.ty() == y.ty() && self.matches(body, other)
            }
            (_, Kind::Var(y)) => match self.named.terms.get(&y.id()) {
                Some(e) => self.matches(template, e),
                None => false,
            },
            (_, Kind::Let(bindings, body)) => {
                // A template that looks through a name twice sees the inner terms twice.
                let new = bindings.iter().filter(|b| !self.inner.contains(b));
                let new: Vec<Binding> = new.cloned().collect();
                self.inner.extend(new);
                self.matches(template, body)
            }
            (Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) | Kind::Let(..), _) => false,
        }
    }

    /// Returns the term with the names that it uses and that the matched term gives inside.
    fn with_inner_names(&self, e: &Expr) -> Expr {
        let mut used = free_variables(e);
        let mut kept: Vec<Binding> = Vec::new();
        for b in self.inner.iter().rev() {
            if b.pattern.vars().iter().any(|x| used.contains(x)) {
                used.extend(free_variables(&b.rhs));
                kept.push(b.clone());
            }
        }
        let mut by = FxHashMap::default();
        let mut out = Vec::new();
        for b in kept.into_iter().rev() {
            let rhs = substitute(&b.rhs, &by);
            match &b.pattern {
                Pattern::Var(x) if rhs.is_atom() => drop(by.insert(x.id(), rhs)),
                _ => out.push(Binding { rhs, ..b }),
            }
        }
        Expr::block(out, substitute(e, &by))
    }

    fn parameter(&mut self, x: &Var, e: &Expr) -> bool {
        let e = self.with_inner_names(e);
        if let Some(term) = self.terms.get(&x.id()) {
            return alpha::exprs(term, &e);
        }
        let is_free = !self.mentions_bound(&e, None);
        if is_free {
            self.terms.insert(x.id(), e);
        }
        is_free
    }

    /// Matches `f(i)`.
    fn function(&mut self, f: &FunName, i: &Expr, e: &Expr) -> bool {
        let e = self.with_inner_names(e);
        let i =
            i.as_var().and_then(|i| self.bound.get(&i.id())).expect("a template applies f to a bound variable").clone();
        match self.functions.iter().find(|(name, ..)| name == f) {
            Some((_, j, body)) => {
                let lambda = |x: &Var, body: &Expr| Expr::lam(x.clone(), body.clone());
                alpha::exprs(&lambda(j, body), &lambda(&i, &e))
            }
            None => {
                let is_free = !self.mentions_bound(&e, Some(&i));
                self.functions.push((f.clone(), i, e));
                is_free
            }
        }
    }

    /// Returns whether a term uses a variable that the template binds around it, other than one.
    fn mentions_bound(&self, e: &Expr, other: Option<&Var>) -> bool {
        free_variables(e).iter().any(|y| Some(y) != other && self.bound.values().any(|z| z == y))
    }
}
