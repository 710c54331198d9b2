//! Let: one binding, several, tuple patterns.
//!
//! ```text
//! (let (p e) body)    (let ((p1 e1) ... (pn en)) body)    p is x or (x1 ... xn)
//! ```
//!
//! A chain of lets, each the body of the one before, becomes one flat block.

use crate::ks::check::checker::Checker;
use crate::ks::check::expr::form_of;
use crate::ks::check::names::{is_reserved, symbol};
use crate::ks::check::scope::Meaning;
use crate::ks::check::{builtins, error};
use crate::ks::reader::{Sexp, Shape};
use lm::term::{Binding, Expr, Pattern, Span};
use lm::types::Type;
use std::sync::Arc;

const TWO_BINDINGS: &str = "write two bindings as `(let (x a) (let (y b) body))`, if that is what is meant";
const GRAMMAR: &str = "(let ((x1 e1) ... (xn en)) body)";

impl Checker {
    /// Checks `(let bindings body)`.
    pub(super) fn let_form(&mut self, items: &[Sexp], span: Span) -> Option<Expr> {
        let mark = self.scope.mark();
        let result = self.chain(items, span);
        self.scope.forget(mark);
        result
    }

    fn chain(&mut self, items: &[Sexp], span: Span) -> Option<Expr> {
        let mut chain = items;
        let mut bindings = Vec::new();
        let mut is_good = true;
        loop {
            let [_, pairs, body] = chain else { return self.malformed("`let`", GRAMMAR, span) };
            match self.pairs(pairs) {
                None => return self.malformed("`let`", GRAMMAR, pairs.span),
                Some(pairs) => {
                    for (pattern, rhs) in pairs {
                        match self.binding(pattern, rhs) {
                            Some(binding) => bindings.push(binding),
                            None => is_good = false,
                        }
                    }
                }
            }
            match form_of(body, "let") {
                Some(inner) => chain = inner,
                None => {
                    let body = self.expr(body)?;
                    return is_good.then(|| Expr::block(bindings, body).at(span));
                }
            }
        }
    }

    /// Returns the patterns and terms of `(p e)` or `((p1 e1) ... (pn en))`; `None` when it is neither.
    fn pairs<'a>(&self, s: &'a Sexp) -> Option<Vec<(&'a Sexp, &'a Sexp)>> {
        let Shape::List(items) = &s.shape else { return None };
        if let [pattern, rhs] = items.as_slice()
            && (symbol(pattern).is_some() || self.is_tuple_binding(pattern, rhs) || self.is_nested(pattern, rhs))
        {
            return Some(vec![(pattern, rhs)]);
        }
        let pair = |item: &'a Sexp| match &item.shape {
            Shape::List(parts) => match parts.as_slice() {
                [pattern, rhs] => Some((pattern, rhs)),
                _ => None,
            },
            _ => None,
        };
        items.iter().map(pair).collect()
    }

    /// Returns whether `(pattern rhs)` binds a tuple. See Note [Two readings of a let].
    fn is_tuple_binding(&self, pattern: &Sexp, rhs: &Sexp) -> bool {
        let Shape::List(names) = &pattern.shape else { return false };
        if names.iter().any(|name| symbol(name).is_none_or(|name| is_reserved(name))) {
            return false;
        }
        let ([_, second], Shape::List(parts)) = (names.as_slice(), &rhs.shape) else { return true };
        match parts.as_slice() {
            [head, _] => match &head.shape {
                Shape::List(_) => false,
                Shape::Symbol(word) => {
                    let second = symbol(second).expect("all names are symbols");
                    let is_no_binding = self.is_function(word) && self.scope.get(second).is_none();
                    is_reserved(word) || self.may_give_pair(word) || is_no_binding
                }
                Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::Bracket(_) | Shape::Bad => true,
            },
            _ => true,
        }
    }

    /// Returns whether `(pattern rhs)` can only take apart a tuple of tuples. It is then no pair of bindings: its first
    /// part is no binding, or binds a pattern, and its second part is a term.
    fn is_nested(&self, pattern: &Sexp, rhs: &Sexp) -> bool {
        let Shape::List(parts) = &pattern.shape else { return false };
        if !is_pattern(pattern) || parts.iter().all(|part| symbol(part).is_some()) {
            return false;
        }
        let (is_call, may_bind) = match &rhs.shape {
            Shape::List(second) => {
                let head = second.first().and_then(symbol);
                (head.is_some_and(|word| is_reserved(word) || self.is_function(word)), second.len() == 2)
            }
            _ => (true, false),
        };
        let [first, term] = parts.as_slice() else { return is_call };
        is_call && (!self.may_have_value(term) || (symbol(first).is_none() && !may_bind))
    }

    /// Returns whether a name, or a list of names, may be a term.
    fn may_have_value(&self, s: &Sexp) -> bool {
        let head = match &s.shape {
            Shape::List(parts) => &parts[0],
            _ => s,
        };
        symbol(head).is_none_or(|word| is_reserved(word) || self.is_function(word) || self.scope.get(word).is_some())
    }

    /// Returns whether a name is that of a function whose result may be a pair.
    fn may_give_pair(&self, function: &str) -> bool {
        let is_pair = |ty: &Type| ty.as_tuple().is_some_and(|parts| parts.len() == 2);
        let overloads = self.functions.overloads(function);
        match self.scope.get(function) {
            Some(Meaning::Function(f)) => matches!(f.ty(), Type::Lam(_, result) if is_pair(result)),
            _ if overloads.is_empty() => builtins::may_give_tuple(function),
            _ => overloads.iter().any(|e| is_pair(&e.fun.result)),
        }
    }

    fn binding(&mut self, pattern: &Sexp, rhs: &Sexp) -> Option<Binding> {
        let may_be_binding = matches!(&rhs.shape, Shape::List(parts) if parts.len() == 2);
        let rhs = self.expr(rhs);
        let ty = rhs.as_ref().map(|e| e.ty().clone());
        let pattern = match &pattern.shape {
            Shape::List(names) => self.tuple_pattern(names, ty, pattern.span, may_be_binding),
            _ => {
                let name = self.let_binder(pattern);
                name.and_then(|name| self.bind(&name, ty)).map(Pattern::Var)
            }
        };
        Some(Binding { pattern: pattern?, rhs: rhs? })
    }

    /// Returns the name of a variable that a `let` binds. Warns if it is the name of a function.
    fn let_binder(&mut self, s: &Sexp) -> Option<Arc<str>> {
        let name = self.binder(s)?;
        let is_quiet = self.expansion.is_some() || self.options.orphan_derivatives;
        if !is_quiet && self.is_function(&name) && !self.is_of_library(&name) {
            self.warnings.push(error::hidden_function(&name).at(s.span));
        }
        Some(name)
    }

    /// Brings a variable into scope; without a type, as one with an error.
    pub(super) fn bind(&mut self, name: &Arc<str>, ty: Option<Type>) -> Option<lm::term::Var> {
        let x = ty.map(|ty| self.supply.fresh(name, ty));
        self.scope.bind(name, x.clone().map_or(Meaning::Unknown, Meaning::Variable));
        x
    }

    /// Brings the names of a pattern that is wrong into scope, so that no use of them is reported.
    fn bind_unknown(&mut self, pattern: &Sexp) {
        match &pattern.shape {
            Shape::List(parts) => parts.iter().for_each(|part| self.bind_unknown(part)),
            _ => symbol(pattern).into_iter().for_each(|name| drop(self.bind(name, None))),
        }
    }

    /// `may_be_binding`: the term that is taken apart looks like a binding, too.
    fn tuple_pattern(&mut self, names: &[Sexp], ty: Option<Type>, span: Span, may_be_binding: bool) -> Option<Pattern> {
        if let Some(inner) = names.iter().find(|name| matches!(name.shape, Shape::List(_)) && is_pattern(name)) {
            names.iter().for_each(|name| self.bind_unknown(name));
            return self.fail(error::nested_pattern(), inner.span);
        }
        let parts = ty.as_ref().and_then(Type::as_tuple).filter(|parts| parts.len() == names.len());
        if let (Some(found), None) = (&ty, parts) {
            let error = error::wrong_pattern(names.len(), found);
            self.fail::<()>(if names.len() == 2 && may_be_binding { error.remedy(TWO_BINDINGS) } else { error }, span);
        }
        let mut bound = Vec::new();
        let mut vars = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let word = self.let_binder(name);
            let ty = parts.map(|parts| parts[i].clone());
            vars.push(word.as_ref().and_then(|word| self.bind(word, ty)));
            bound.extend(word.map(|word| (word, name.span)));
        }
        self.distinct(&bound, "pattern");
        vars.into_iter().collect::<Option<Vec<_>>>().map(Pattern::Tuple)
    }
}

/// Returns whether the s-expression is a name or a list of patterns.
fn is_pattern(s: &Sexp) -> bool {
    match &s.shape {
        Shape::List(parts) => !parts.is_empty() && parts.iter().all(is_pattern),
        _ => symbol(s).is_some_and(|name| !is_reserved(name)),
    }
}

// Note [Two readings of a let]
//
// `(let ((a b) (c d)) e)` is either the tuple pattern `a b` for the call `(c d)`, or the two
// bindings `a = b` and `c = d`. It is a tuple pattern when c is a function that may give a pair: a built-in whose result
// type is a tuple or depends on its arguments, or a function of the program that gives pairs. What else is in scope does
// not matter, so a new variable around a `let` does not change what it means. A name of the library is no function here
// if b is a variable: programs may have such variables.
//
// When c is another function, the pattern is an error. So is the second reading if b is no variable; the error is then
// that of the pattern.
