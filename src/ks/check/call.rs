//! Calls: of defined functions, of built-ins, of derivatives.
//!
//! A function of n parameters takes one n-tuple: `(f a b)` and `(f (tuple a b))` mean the same. In
//! the core a call has one argument per parameter, so tuples are taken apart or put together here.

use crate::derive::typing;
use crate::ks::check::arguments::Argument;
use crate::ks::check::builtins::{self, Builtin, Meaning, builtin_function};
use crate::ks::check::checker::Checker;
use crate::ks::check::copies::takes_functions;
use crate::ks::check::error;
use crate::ks::check::expansions::expansion;
use crate::ks::check::names::{is_projection, old_spelling, projection};
use crate::ks::check::scope::Meaning as Scoped;
use crate::ks::check::terms::{apply, argument_type, gather, types};
use crate::ks::reader::Sexp;
use lm::prim::Prim;
use lm::term::{Binding, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Span};
use lm::types::Type;
use std::sync::Arc;

impl Checker {
    /// Checks `(name args)`.
    pub(super) fn call(&mut self, name: &FunName, args: &[Sexp], span: Span, name_span: Span) -> Option<Expr> {
        let args: Vec<Option<Argument>> = self.spread(args).iter().map(|arg| self.argument(arg)).collect();
        let Some(name) = self.known_name(name) else {
            return match self.scope.get(&name.base) {
                _ if self.functions.is_broken(&name.base) => None,
                Some(Scoped::Function(_)) if !name.derivations.is_empty() => {
                    self.fail(error::derivative_of_parameter(&name.base), name_span)
                }
                _ => self.unknown(&name.base, name_span),
            };
        };
        let name = self.not_too_deep(name, name_span)?;
        let args = args.into_iter().collect::<Option<Vec<Argument>>>()?;
        let args = self.with_functions(&name, args, span)?;
        self.call_of(&name, args, span)
    }

    /// Returns a call of a known name.
    pub(super) fn call_of(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        match name.derivations.is_empty() {
            true if is_projection(&name.base) => self.get(&name.base, args, span),
            true => self.plain_call(name, args, span),
            false => self.derived_call(name, args, span),
        }
    }

    /// Returns the name, its old spelling resolved; `None` when no function has it.
    pub(super) fn known_name(&self, name: &FunName) -> Option<FunName> {
        let has_orphan = |name: &FunName| self.functions.derivatives(&name.derivations, &name.base).next().is_some();
        let is_known =
            |name: &FunName| self.is_function(&name.base) || (!name.derivations.is_empty() && has_orphan(name));
        if is_known(name) {
            return Some(name.clone());
        }
        if self.functions.is_broken(&name.base) || name.overload.is_some() {
            return None;
        }
        let mut old = old_spelling(&name.base)?;
        old.derivations.splice(0..0, name.derivations.iter().cloned());
        is_known(&old).then_some(old)
    }

    /// Returns whether a definition or a built-in has that name.
    pub(super) fn is_function(&self, base: &str) -> bool {
        !self.functions.overloads(base).is_empty() || builtins::rows(base).next().is_some() || is_projection(base)
    }

    /// Returns whether a name means a function of the library, which the program does not define.
    pub(super) fn is_of_library(&self, base: &str) -> bool {
        self.functions.overloads(base).is_empty() && builtins::rows(base).any(Builtin::is_library)
    }

    /// Reports a name that is no function's.
    pub(super) fn unknown<T>(&mut self, name: &str, span: Span) -> Option<T> {
        // As long as the borrow of the other names.
        let builtins = builtins::names().map(|name| -> &str { name });
        let suggestion = self.suggestions.function(name, self.functions.names().chain(builtins));
        self.fail(error::unknown_function(name, suggestion), span)
    }

    /// Returns `(get$i$n t)`, `(lmGet$i$n t)`.
    fn get(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let (family, indices) = name.split_once('$')?;
        let Some((i, n)) = projection(indices) else {
            return self.fail(error::bad_projection(name), span);
        };
        let op = if family == "get" { Op::Get(i, n) } else { Op::LmGet(i, n) };
        let tuple = gather(args, span);
        let found = tuple.ty().clone();
        match Expr::try_app(op, vec![tuple], span) {
            Some(e) => Some(e),
            None => self.fail(error::wrong_projection(name, &found), span),
        }
    }

    fn plain_call(&mut self, name: &FunName, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let types = types(&args);
        let argument = argument_type(&types);
        if name.overload.as_ref().is_some_and(|ty| *ty != argument) {
            return self.wrong_arguments(name, &args, span);
        }
        if let Some(entry) = self.functions.select(&name.base, &argument).filter(|_| self.expansion.is_none()) {
            let fun = entry.fun.clone();
            if takes_functions(&fun) {
                return self.specialised_call(&fun, args, span);
            }
            let params = fun.params.clone();
            return Some(self.fit(args, &params, span, |args| apply(Op::Call(fun), args, span)));
        }
        self.has_few_components(name, &types, span)?;
        if let Some(row) = builtins::select(&name.base, &types) {
            return self.builtin(row, args, span);
        }
        let parts = argument.as_tuple().map(<[Type]>::to_vec).filter(|_| args.len() == 1);
        match parts.and_then(|parts| Some((builtins::select(&name.base, &parts)?, parts))) {
            Some((row, parts)) => {
                let (bindings, args) = self.take_apart(args, parts.len(), span);
                Some(Expr::block(bindings, self.builtin(row, args, span)?))
            }
            None => self.wrong_arguments(name, &args, span),
        }
    }

    /// Reports a tuple of too many components, where code for each of them would be made. Tuples of tuples may be small
    /// to write and have any number.
    fn has_few_components(&mut self, name: &FunName, types: &[Type], span: Span) -> Option<()> {
        const MOST: usize = 1_024;
        let count = types.iter().map(Type::component_count).max().unwrap_or(0);
        match &*name.base {
            "eq" | "ne" | "print" | "shape" | "$trace" if count > MOST => {
                self.fail(error::too_many_components(&name.base, MOST, count), span)
            }
            _ => Some(()),
        }
    }

    /// Returns a built-in applied to arguments that its row admits. If a derivative of it is written by hand, this is a
    /// call of a definition, for which that derivative counts.
    pub(super) fn builtin(&mut self, row: &Builtin, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let argument = argument_type(&types(&args));
        if !self.functions.has_derivative(&row.name, &argument) {
            return self.body_of(row, args, span);
        }
        let fun = self.defined_builtin(&builtin_function(&row.name, &argument)?, span)?;
        let params = fun.params.clone();
        Some(self.fit(args, &params, span, |args| apply(Op::Call(Arc::new(fun)), args, span)))
    }

    /// Returns what a call of a built-in stands for.
    pub(super) fn body_of(&mut self, row: &Builtin, mut args: Vec<Expr>, span: Span) -> Option<Expr> {
        if let Some(called) = self.options.called
            && self.expansion.is_none()
            && span != Span::default()
        {
            called(&row.name, &types(&args));
        }
        match row.meaning {
            Meaning::Core(prim) | Meaning::Primitive(prim) => {
                self.warn_of_literals(prim, &args, span);
                Some(apply(Op::Prim(prim), args, span))
            }
            Meaning::Argument => {
                let argument = args.pop()?;
                if let (Kind::App(Op::Call(f), _), "$inline") = (argument.kind(), &*row.name) {
                    self.checked.marked.insert((f.name.clone(), argument.span()));
                }
                Some(argument)
            }
            Meaning::MulInteger => {
                let n = apply(Op::Prim(Prim::ToFloat), vec![args.pop()?], span);
                args.push(n);
                Some(apply(Op::Prim(Prim::Mul), args, span))
            }
            Meaning::Componentwise(prim) => Some(self.componentwise(prim, args, span)),
            Meaning::Generic(number) => self.expand(row, number, args, span),
            Meaning::Shape => Some(self.shape_of(args.pop()?, span)),
            Meaning::SparseTupled => self.sparse_tupled(args, span),
            Meaning::Variant => Some(apply(Op::If, args, span)),
            Meaning::Checkpoint => self.checkpoint(args, span),
        }
    }

    /// Returns `$checkpoint k f a v`, for k and `fold f a v`.
    fn checkpoint(&mut self, mut args: Vec<Expr>, span: Span) -> Option<Expr> {
        let (fold, k) = (self.without_reduce(args.pop()?), args.pop()?);
        let (bindings, fold) = fold.as_block();
        let Some(fold) = fold.args_of_prim(Prim::Fold) else { return self.fail(error::no_fold(), span) };
        let (mut all, k) = self.name_of(k);
        all.extend(bindings.iter().cloned());
        let fold = apply(Op::Prim(Prim::Checkpoint), [vec![k], fold.to_vec()].concat(), span);
        Some(Expr::block(all, fold))
    }

    /// Returns a term that may be a fold, or a `reduce`, as a fold.
    fn without_reduce(&mut self, e: Expr) -> Expr {
        let (bindings, last) = e.as_block();
        match last.args_of_prim(Prim::Reduce) {
            Some(args) => {
                let fold = expansion("reduce", args.to_vec(), last.span(), &mut self.supply);
                Expr::block(bindings.to_vec(), fold).at(e.span())
            }
            None => e,
        }
    }

    /// Gives `build` one argument per parameter.
    pub(super) fn fit(
        &mut self,
        args: Vec<Expr>,
        params: &[Type],
        span: Span,
        build: impl FnOnce(Vec<Expr>) -> Expr,
    ) -> Expr {
        let (bindings, args) = self.arguments(args, params, span);
        Expr::block(bindings, build(args))
    }

    /// Returns one argument per parameter, and the bindings they need.
    pub(super) fn arguments(&mut self, args: Vec<Expr>, params: &[Type], span: Span) -> (Vec<Binding>, Vec<Expr>) {
        if types(&args) == params {
            (Vec::new(), args)
        } else if params.len() == 1 {
            (Vec::new(), vec![gather(args, span)])
        } else {
            self.take_apart(args, params.len(), span)
        }
    }

    /// Returns the components of the one tuple given; arguments already apart stay.
    pub(super) fn take_apart(&mut self, mut args: Vec<Expr>, count: usize, span: Span) -> (Vec<Binding>, Vec<Expr>) {
        if args.len() == count && count != 1 {
            return (Vec::new(), args);
        }
        let tuple = args.pop().expect("a tuple is given in place of several arguments");
        if let Kind::App(Op::Tuple, parts) = tuple.kind() {
            return (Vec::new(), parts.clone());
        }
        let (bindings, whole) = self.name_of(tuple);
        let part = |i| apply(Op::Get(i, count), vec![whole.clone()], span);
        (bindings, (1..=count).map(part).collect())
    }

    /// Returns a variable for the term, unless it is one.
    pub(super) fn name_of(&mut self, e: Expr) -> (Vec<Binding>, Expr) {
        if e.as_var().is_some() {
            return (Vec::new(), e);
        }
        let x = self.supply.fresh("t", e.ty().clone());
        let use_of = Expr::var(&x).at(e.span());
        (vec![Binding { pattern: Pattern::Var(x), rhs: e }], use_of)
    }

    /// Returns a variable for each of the terms.
    pub(super) fn names_of(&mut self, args: Vec<Expr>) -> (Vec<Binding>, Vec<Expr>) {
        let (bindings, names): (Vec<_>, Vec<Expr>) = args.into_iter().map(|arg| self.name_of(arg)).unzip();
        (bindings.into_iter().flatten().collect(), names)
    }

    /// Returns a vector operation: on types without discrete parts the primitive itself, else by component.
    ///
    /// The last argument of `add` and the argument of the others may be a tangent, where discrete
    /// parts are units; discrete parts of the result are those of the operand, and add nothing to a
    /// dot product.
    pub(super) fn componentwise(&mut self, prim: Prim, args: Vec<Expr>, span: Span) -> Expr {
        let operand = if prim == Prim::Mul { &args[1] } else { &args[0] };
        let ty = operand.ty().clone();
        if ty.tangent() == ty {
            return apply(Op::Prim(prim), args, span);
        }
        if let Type::Tensor(..) = ty
            && ty.is_differentiable()
        {
            return self.elementwise(prim, args, span);
        }
        let Some(parts) = ty.as_tuple() else {
            return if prim == Prim::Dot { Expr::float(0.0) } else { operand.clone() };
        };
        let (bindings, named) = self.names_of(args);
        let component = |e: &Expr, i| match e.ty() {
            Type::Float => e.clone(),
            _ => apply(Op::Get(i, parts.len()), vec![e.clone()], span),
        };
        // Discrete parts of a dot product are not computed at all.
        let indices = (1..=parts.len()).filter(|&i| prim != Prim::Dot || parts[i - 1].is_differentiable());
        let components: Vec<Expr> =
            indices.map(|i| self.componentwise(prim, named.iter().map(|e| component(e, i)).collect(), span)).collect();
        let sum = |a, b| apply(Op::Prim(Prim::Add), vec![a, b], span);
        let whole = match prim {
            Prim::Dot => components.into_iter().reduce(sum).unwrap_or_else(|| Expr::float(0.0)),
            _ => apply(Op::Tuple, components, span),
        };
        Expr::block(bindings, whole)
    }

    /// Reports arguments that no function of the name takes.
    pub(super) fn wrong_arguments<T>(&mut self, name: &FunName, args: &[Expr], span: Span) -> Option<T> {
        if self.functions.is_broken(&name.base) {
            return None;
        }
        if name.derivations.is_empty() && builtins::takes_no_functions(&name.base, &types(args)) {
            return self.fail(error::lambda_as_argument(name), span);
        }
        let found = types(args);
        let (expected, arities) = self.alternatives(name, &found);
        let error = match (arities.first(), found.as_slice()) {
            // As of the pair that a fold gives.
            (Some(&Some(n)), [Type::Tuple(parts)]) if parts.len() == n && n != 1 => {
                error::wrong_arguments(name, &expected, parts)
            }
            (Some(&Some(n)), _) if n != args.len() && arities.iter().all(|&other| other == Some(n)) => {
                error::wrong_arity(name, n, args.len(), &expected)
            }
            _ if expected.is_empty() && name.derivations.iter().any(|d| matches!(d, Derivative::Wrt(_))) => {
                error::no_such_parameters(name, &found)
            }
            _ => error::wrong_arguments(name, &expected, &found),
        };
        self.fail(error, span)
    }

    /// Returns the argument types that functions of the name take, as text, and how many each: as many as were found,
    /// where only a tuple lies between.
    fn alternatives(&self, name: &FunName, found: &[Type]) -> (Vec<String>, Vec<Option<usize>>) {
        let shown = |params: &[Type]| match params {
            [] => "(Tuple)".to_string(),
            _ => params.iter().map(Type::to_string).collect::<Vec<_>>().join(" "),
        };
        let mut funs: Vec<Fun> = Vec::new();
        funs.extend(self.functions.overloads(&name.base).iter().map(|e| (*e.fun).clone()));
        if let Some(ty) = &name.overload {
            funs.retain(|fun| fun.argument() == *ty);
            funs.extend(builtins_of(name, ty, &funs));
        }
        let known = |f: &Fun| self.records.get(&f.name).cloned().flatten();
        let derived = funs.iter().filter_map(|fun| typing::derive_all(&name.derivations, fun, &mut { known }));
        let taken = |fun: Fun| match (fun.params.as_slice(), found) {
            ([Type::Tuple(parts)], _) if parts.len() == found.len() => (shown(parts), Some(found.len())),
            (params, [Type::Tuple(parts)]) if parts.len() == params.len() => {
                (Type::tuple(params.iter().cloned()).to_string(), Some(1))
            }
            (params, _) => (shown(params), Some(params.len())),
        };
        let mut expected: Vec<(String, Option<usize>)> = derived.map(taken).collect();
        if name.derivations.is_empty() && name.overload.is_none() {
            let rows = builtins::rows(&name.base);
            expected.extend(rows.flat_map(|row| row.alternatives().map(|text| (text, row.arity()))));
        }
        expected.into_iter().unzip()
    }
}

fn builtins_of(name: &FunName, ty: &Type, found: &[Fun]) -> Option<Fun> {
    if found.is_empty() { builtin_function(&name.base, ty) } else { None }
}
