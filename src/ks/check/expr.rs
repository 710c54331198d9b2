//! Terms: from s-expressions to typed core terms.
//!
//! The result `None` means a term with an error, which is reported once, where it is found.

use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::check::names::{is_reserved, symbol};
use crate::ks::check::scope::Meaning;
use crate::ks::reader::{Sexp, Shape};
use lm::term::{Constant, Expr, FunName, Op, Span};
use std::sync::Arc;

impl Checker {
    /// Checks a term; `None` when it is wrong, which is reported.
    pub(super) fn expr(&mut self, s: &Sexp) -> Option<Expr> {
        match &s.shape {
            Shape::Symbol(name) => self.name(name, s.span),
            Shape::Float(x) => Some(Expr::float(*x).at(s.span)),
            Shape::Integer(i) => Some(Expr::integer(*i).at(s.span)),
            Shape::String(text) => Some(Expr::constant(Constant::String(text.clone())).at(s.span)),
            Shape::List(items) => self.list(items, s.span),
            Shape::Bracket(_) => {
                let name = self.fun_name(s)?;
                self.fail(error::function_as_value(name), s.span)
            }
            Shape::Bad => None,
        }
    }

    fn name(&mut self, name: &Arc<str>, span: Span) -> Option<Expr> {
        match self.scope.get(name) {
            Some(Meaning::Variable(x)) => return Some(Expr::var(x).at(span)),
            Some(Meaning::Function(_)) => return self.fail(error::function_as_value(name), span),
            Some(Meaning::Unknown) => return None,
            None => {}
        }
        match &**name {
            "true" => Some(Expr::constant(Constant::Bool(true)).at(span)),
            "false" => Some(Expr::constant(Constant::Bool(false)).at(span)),
            word if is_reserved(word) => self.fail(error::reserved(word), span),
            word if self.is_function(word) => self.fail(error::function_as_value(word), span),
            word => {
                let suggestion = number_meant(word).or_else(|| self.suggestions.closest(word, self.scope.names()));
                self.fail(error::unknown_variable(word, suggestion), span)
            }
        }
    }

    fn list(&mut self, items: &[Sexp], span: Span) -> Option<Expr> {
        let Some((head, args)) = items.split_first() else {
            return self.malformed("expression", "(tuple)", span);
        };
        match &head.shape {
            Shape::Symbol(word) if args.is_empty() && self.is_value(word) => self.expr(head),
            Shape::Symbol(word) => self.form(word, items, span),
            Shape::Bracket(_) => {
                let name = self.fun_name(head);
                match name {
                    Some(name) => self.call(&name, args, span, head.span),
                    None => self.judge_all(args),
                }
            }
            Shape::Bad => self.judge_all(args),
            Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::List(_) if args.is_empty() => {
                self.expr(head)
            }
            Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::List(_) => {
                self.judge_all(args);
                self.malformed("call", "(f e1 ... en)", span)
            }
        }
    }

    /// Returns whether `(name)` is only a name in parentheses, and no call.
    fn is_value(&self, word: &str) -> bool {
        let is_variable = |meaning: &Meaning| !matches!(meaning, Meaning::Function(_));
        matches!(word, "true" | "false") || self.scope.get(word).is_some_and(is_variable)
    }

    /// Terms looked at only for their errors.
    fn judge_all(&mut self, terms: &[Sexp]) -> Option<Expr> {
        terms.iter().for_each(|s| drop(self.expr(s)));
        None
    }

    fn form(&mut self, word: &Arc<str>, items: &[Sexp], span: Span) -> Option<Expr> {
        let args = &items[1..];
        match &**word {
            "let" => self.let_form(items, span),
            "if" => self.conditional(args, span),
            "assert" => self.assertion(args, span),
            "tuple" => {
                let parts: Vec<Option<Expr>> = args.iter().map(|arg| self.expr(arg)).collect();
                Expr::try_app(Op::Tuple, parts.into_iter().collect::<Option<_>>()?, span)
            }
            "$dummy" => {
                let [ty] = args else { return self.malformed("`$dummy`", "($dummy Type)", span) };
                let read = self.ty(ty);
                self.supported_type(read, ty.span).map(|ty| Expr::dummy(ty).at(span))
            }
            "$pack" => {
                let [name, e] = args else { return self.malformed("`$pack`", "($pack f e)", span) };
                let name = self.fun_name(name);
                let e = self.expr(e)?;
                Expr::try_app(Op::Pack(Arc::new(name?)), vec![e], span)
            }
            "$unpack" => {
                let [ty, e] = args else { return self.malformed("`$unpack`", "($unpack Type e)", span) };
                let (ty, e) = (self.ty(ty), self.expr(e));
                Expr::try_app(Op::Unpack(ty?), vec![e?], span)
            }
            "$jacobian_at" => {
                let [name, rest @ ..] = args else {
                    return self.malformed("`$jacobian_at`", "($jacobian_at f r s t)", span);
                };
                let name = self.fun_name(name)?;
                let rest = rest.iter().map(|e| self.expr(e)).collect::<Option<Vec<_>>>()?;
                self.jacobian_at(&name, rest, span)
            }
            "lam" => {
                self.lambda(items, span);
                self.fail(error::lambda_as_value(), span)
            }
            "deriv" if self.means_deriv() => self.deriv(args, span),
            "$zero" | "$zeros" | "$difference" if self.expansion.is_some() => self.vector_form(word, args, span),
            _ if is_reserved(word) && !self.is_function(word) => self.fail(error::reserved(word), items[0].span),
            _ => self.call_by_name(word, items, span),
        }
    }

    fn call_by_name(&mut self, word: &Arc<str>, items: &[Sexp], span: Span) -> Option<Expr> {
        match self.scope.get(word).cloned() {
            Some(Meaning::Function(function)) => self.beta(word, &function, &items[1..], span),
            Some(Meaning::Variable(x)) if !self.is_function(word) => {
                self.judge_all(&items[1..]);
                let ty = x.ty().clone();
                self.fail(error::not_a_function(word, &ty), items[0].span)
            }
            Some(Meaning::Unknown) if !self.is_function(word) => self.judge_all(&items[1..]),
            Some(Meaning::Variable(_) | Meaning::Unknown) | None => {
                self.call(&FunName::base(word), &items[1..], span, items[0].span)
            }
        }
    }

    fn conditional(&mut self, args: &[Sexp], span: Span) -> Option<Expr> {
        let [c, a, b] = args else { return self.malformed("`if`", "(if condition then else)", span) };
        let condition = self.condition("if", c);
        let (then, otherwise) = (self.expr(a), self.expr(b));
        let (condition, then, otherwise) = (condition?, then?, otherwise?);
        let types = (then.ty().clone(), otherwise.ty().clone());
        match Expr::try_app(Op::If, vec![condition, then, otherwise], span) {
            Some(e) => Some(e),
            None => self.fail(error::branches_disagree(&types.0, &types.1), span),
        }
    }

    fn assertion(&mut self, args: &[Sexp], span: Span) -> Option<Expr> {
        let [c, e] = args else { return self.malformed("`assert`", "(assert condition e)", span) };
        let (condition, e) = (self.condition("assert", c), self.expr(e));
        Expr::try_app(Op::Assert, vec![condition?, e?], span)
    }

    fn condition(&mut self, form: &'static str, s: &Sexp) -> Option<Expr> {
        let c = self.expr(s)?;
        match c.ty() {
            lm::types::Type::Bool => Some(c),
            found => self.fail(error::not_bool(form, found), s.span),
        }
    }
}

/// Returns the number meant by `.5`, which is a name.
fn number_meant(word: &str) -> Option<String> {
    let (sign, digits) = word.split_once('.')?;
    let is_meant = matches!(sign, "" | "-" | "+") && format!("0.{digits}").parse::<f64>().is_ok();
    (is_meant && !digits.is_empty()).then(|| format!("{sign}0.{digits}"))
}

/// Returns the parts of a form with the given head, redundant parentheses removed.
pub fn form_of<'a>(s: &'a Sexp, head: &str) -> Option<&'a [Sexp]> {
    let mut s = s;
    loop {
        let Shape::List(items) = &s.shape else { return None };
        match items.as_slice() {
            [one @ Sexp { shape: Shape::List(_), .. }] => s = one,
            [first, ..] if symbol(first).is_some_and(|word| &**word == head) => return Some(items),
            _ => return None,
        }
    }
}
