//! Arguments that are functions: `(lam (x : T) e)`, and functions named, `(map sin v)`.
//!
//! ```text
//! f  =  (lam (x : S) (f x))      where S is what the call applies f to, by the types of its other arguments
//! ```
//!
//! S chooses among several functions of the name.

use crate::ks::check::checker::Checker;
use crate::ks::check::declaration::is_one_param;
use crate::ks::check::expr::form_of;
use crate::ks::check::names::{is_projection, is_reserved, symbol};
use crate::ks::check::scope::Meaning;
use crate::ks::check::terms::{apply, bound, gather, types, with_argument};
use crate::ks::check::{builtins, error};
use crate::ks::reader::{Sexp, Shape};
use lm::scheme::Rule;
use lm::sizes::SizedType;
use lm::term::{Expr, FunName, Kind, Op, Span};
use lm::types::Type;
use std::sync::Arc;

/// An argument of a call.
#[derive(Debug)]
pub enum Argument {
    /// A term.
    Term(Expr),
    /// A function's name.
    Named(FunName, Span),
}

impl Argument {
    fn ty(&self) -> Option<Type> {
        match self {
            Argument::Term(e) => Some(e.ty().clone()),
            Argument::Named(..) => None,
        }
    }
}

/// One of the ways in which a name takes its arguments.
enum Taker {
    Definition(Vec<Type>),
    Builtin(&'static Rule),
}

impl Taker {
    /// Returns the type of the i-th argument's own argument, if the types of other arguments tell. The i-th argument
    /// is a function.
    fn domain(&self, types: &[Option<Type>], i: usize) -> Option<Type> {
        match self {
            Taker::Builtin(rule) => rule.domain(types, i),
            Taker::Definition(params) => {
                let agrees = |(p, t): (&Type, &Option<Type>)| t.as_ref().is_none_or(|t| t == p);
                match params.get(i)? {
                    Type::Lam(s, _) if params.len() == types.len() && params.iter().zip(types).all(agrees) => {
                        Some((**s).clone())
                    }
                    _ => None,
                }
            }
        }
    }
}

impl Checker {
    /// Returns the arguments as given, of `(f (tuple a b))` a and b when there is a function among them, since no tuple
    /// can hold one.
    pub(super) fn spread<'a>(&self, args: &'a [Sexp]) -> &'a [Sexp] {
        match args {
            [one] => match form_of(one, "tuple") {
                Some([_, parts @ ..]) if parts.iter().any(|part| self.is_function_argument(part)) => parts,
                _ => args,
            },
            _ => args,
        }
    }

    fn is_function_argument(&self, s: &Sexp) -> bool {
        match &s.shape {
            Shape::Bracket(_) => true,
            Shape::Symbol(name) => match self.scope.get(name) {
                Some(meaning) => matches!(meaning, Meaning::Function(_)),
                None => self.is_function_name(name),
            },
            _ => form_of(s, "lam").is_some(),
        }
    }

    fn is_function_name(&self, name: &str) -> bool {
        (!is_reserved(name) || is_projection(name)) && self.known_name(&FunName::base(name)).is_some()
    }

    /// Returns an argument of a call.
    pub(super) fn argument(&mut self, s: &Sexp) -> Option<Argument> {
        if let Shape::Bracket(_) = s.shape {
            return Some(Argument::Named(self.fun_name(s)?, s.span));
        }
        if let Some(name) = symbol(s) {
            match self.scope.get(name) {
                Some(Meaning::Function(f)) => {
                    let f = f.clone();
                    return Some(Argument::Term(self.function_renamed(&f)));
                }
                None if self.is_function_name(name) => return Some(Argument::Named(FunName::base(name), s.span)),
                Some(Meaning::Variable(_) | Meaning::Unknown) | None => {}
            }
        }
        let term = match form_of(s, "lam") {
            Some(items) => self.lambda(items, s.span),
            None => self.expr(s),
        };
        term.map(Argument::Term)
    }

    /// Returns the arguments of a call of `name`, the functions among them made of their names.
    pub(super) fn with_functions(&mut self, name: &FunName, args: Vec<Argument>, span: Span) -> Option<Vec<Expr>> {
        if args.iter().all(|arg| matches!(arg, Argument::Term(_))) {
            let term = |arg| if let Argument::Term(e) = arg { Some(e) } else { None };
            return args.into_iter().map(term).collect();
        }
        let mut refusal = None;
        for taker in self.takers(name) {
            let reported = self.errors.len();
            let terms = self.made_for(&taker, &args);
            let is_taken = |terms: &Vec<Expr>| match &taker {
                Taker::Definition(params) => types(terms) == *params,
                Taker::Builtin(_) => builtins::select(&name.base, &types(terms)).is_some(),
            };
            match terms {
                Some(Some(terms)) if is_taken(&terms) => return Some(terms),
                Some(Some(terms)) => {
                    self.wrong_arguments::<()>(name, &terms, span);
                }
                Some(None) | None => {}
            }
            refusal = refusal.or(self.errors.drain(reported..).next());
        }
        if let Some(error) = refusal {
            self.errors.push(error);
            return None;
        }
        for arg in &args {
            if let Argument::Named(function, span) = arg {
                self.fail::<()>(error::function_as_argument(function, name), *span);
            }
        }
        None
    }

    fn takers(&self, name: &FunName) -> Vec<Taker> {
        let overloads = if self.expansion.is_none() { self.functions.overloads(&name.base) } else { &[] };
        let definitions = overloads.iter().map(|e| Taker::Definition(e.fun.params.clone()));
        let rows = builtins::rules(&name.base).map(Taker::Builtin);
        if name.derivations.is_empty() { definitions.chain(rows).collect() } else { Vec::new() }
    }

    /// Checks the arguments, the functions among them as `taker` calls them. Starts with functions whose argument types
    /// are known. Returns `None` if an argument is wrong, which is reported; `Some(None)` if a type stays unknown.
    fn made_for(&mut self, taker: &Taker, args: &[Argument]) -> Option<Option<Vec<Expr>>> {
        let mut known: Vec<Option<Type>> = args.iter().map(Argument::ty).collect();
        let mut terms: Vec<Option<Expr>> = args.iter().map(|_| None).collect();
        for (term, arg) in terms.iter_mut().zip(args) {
            if let Argument::Term(e) = arg {
                *term = Some(e.clone());
            }
        }
        while let Some((i, s)) = (0..args.len()).find_map(|i| {
            let s = taker.domain(&known, i).filter(|_| terms[i].is_none())?;
            Some((i, s))
        }) {
            let Argument::Named(name, span) = &args[i] else { panic!("checker: a term has its type") };
            let function = self.function_of(name, s, *span)?;
            known[i] = Some(function.ty().clone());
            terms[i] = Some(function);
        }
        Some(terms.into_iter().collect())
    }

    /// Returns `(lam (x : S) (f x))`.
    fn function_of(&mut self, name: &FunName, s: Type, span: Span) -> Option<Expr> {
        let Some(known) = self.known_name(name) else {
            return if self.functions.is_broken(&name.base) { None } else { self.unknown(&name.base, span) };
        };
        let x = self.supply.fresh("x", s);
        let body = self.call_of(&known, vec![Expr::var(&x).at(span)], span)?;
        Some(Expr::lam(x, body).at(span))
    }

    /// Checks `(lam (x : T) e)`.
    pub(super) fn lambda(&mut self, items: &[Sexp], span: Span) -> Option<Expr> {
        if let [_, params @ .., _] = items
            && params.len() > 1
            && params.iter().all(is_one_param)
        {
            return self.several_variables(params, params[0].span);
        }
        let [_, param, body] = items else { return self.malformed("`lam`", "(lam (x : Type) e)", span) };
        if let Shape::List(items) = &param.shape
            && items.len() != 1
            && items.iter().all(is_one_param)
        {
            return self.several_variables(items, param.span);
        }
        let param = self.param(param, Checker::supported_type)?;
        let mark = self.scope.mark();
        // Its type may mention variables of the same name outside.
        let (sized, ty_span) = (param.sized.clone(), param.span);
        let x = param.ty.map(|ty| self.supply.fresh(&param.name, ty));
        let is_known = match (&x, sized) {
            (Some(x), Some(sized)) => self.annotate(x, &sized, ty_span).is_some(),
            _ => true,
        };
        self.scope.bind(&param.name, x.clone().map_or(Meaning::Unknown, Meaning::Variable));
        let body = self.expr(body);
        self.scope.forget(mark);
        if !is_known {
            return None;
        }
        Some(Expr::lam(x?, body?).at(span))
    }

    /// Reports a `lam` that is written like a definition of several parameters, or of none.
    fn several_variables(&mut self, params: &[Sexp], span: Span) -> Option<Expr> {
        let params: Vec<_> = params.iter().map(|p| self.param(p, Checker::supported_type)).collect();
        let params: Vec<(Arc<str>, SizedType)> =
            params.into_iter().map(|p| p.and_then(|p| Some((p.name, p.sized?)))).collect::<Option<_>>()?;
        self.fail(error::variables_of_lam(&params), span)
    }

    /// Checks `(f e)` for a parameter f that is a function: its body with its variable bound.
    pub(super) fn beta(&mut self, name: &Arc<str>, function: &Expr, args: &[Sexp], span: Span) -> Option<Expr> {
        let args: Vec<Option<Expr>> = args.iter().map(|arg| self.expr(arg)).collect();
        let args = args.into_iter().collect::<Option<Vec<Expr>>>()?;
        let found = types(&args);
        let arg = gather(args, span);
        let copy = self.function_renamed(function);
        let Kind::Lam(x, body) = copy.kind() else { panic!("{copy:?} is no function") };
        if arg.ty() != x.ty() {
            let expected = vec![x.ty().to_string()];
            return self.fail(error::wrong_arguments(name, &expected, &found), span);
        }
        // A function that only calls another one needs no name for its argument.
        if let Kind::App(Op::Call(g), given) = body.kind()
            && matches!(given.as_slice(), [y] if y.as_var() == Some(x))
        {
            return Some(apply(Op::Call(g.clone()), vec![arg], span));
        }
        // A size that is said of the variable is checked where it is bound.
        let has_sizes = self.annotations.contains_key(&x.id());
        Some(if has_sizes { bound(x, arg, body) } else { with_argument(x, arg, body) }.at(span))
    }
}
