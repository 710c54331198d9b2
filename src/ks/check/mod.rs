//! The checker: from s-expressions to a typed program.
//!
//! First the heads of all definitions, so that definitions may refer to each other in any order,
//! then the bodies. What is wrong is reported once and becomes `None`, which nobody judges again:
//! all errors of a file are found, and no error that is but the consequence of another.

mod arguments;
mod arrays;
mod builtins;
mod call;
mod declaration;
pub(crate) mod derived;
mod derived_call;
mod error;
mod expr;
mod functions;
mod generic;
mod halves;
mod lets;
mod names;
mod scope;
mod second_order;
mod signatures;
mod suggest;
mod types;

use crate::derivation::Derivation;
use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::Sexp;
use declaration::{Header, Item, RuleHead};
use functions::Functions;
use generic::Expansion;
use halves::order;
use indexmap::{IndexMap, IndexSet};
use lm::scope::free_variables;
use lm::term::{Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Program, Rule, Span, Supply, Var};
use lm::types::Type;
use scope::Scope;
use second_order::{SecondOrder, takes_functions};
use std::sync::Arc;

/// What the checker lets pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Accept a definition of a derivative of a function that the file does not define, and of the
    /// split derivations, as it stands. Stages of a derivation need this when printed and read
    /// again; in a user's file it would hide a misspelt name.
    pub orphan_derivatives: bool,
    /// Gives the B of `[suffwdpass f] : S -> (T, B)` for a function of a program: it is known once the
    /// derivation was done. Without it, calls of the halves of a function are refused, unless written by hand.
    pub record: Option<Record>,
    /// The derivation by which derivatives are made, where the file does not choose one.
    pub derivation: Derivation,
}

/// See [`Options::record`].
pub type Record = fn(Checked, &FunName) -> Result<Type, Diagnostic>;

/// A program without errors.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The user's definitions in source order, then those of the prelude that they call.
    pub program: Program,
    /// The derivatives that the file asks for by `gdef`, in source order, each once.
    pub requested: Vec<FunName>,
    /// The derivation by which derivatives are made.
    pub derivation: Derivation,
    /// The functions for which a `gdef` chooses another one.
    pub chosen: IndexMap<FunName, Derivation>,
    /// The prelude's other definitions. Their variables come from the program's supply.
    pub prelude: IndexMap<FunName, Def>,
    /// Where each of the user's definitions has its name.
    pub places: IndexMap<FunName, Span>,
}

impl Checked {
    /// Moves a definition of the prelude, and those it calls, into the program.
    ///
    /// Does nothing for a name that the program has, or that nobody has.
    pub fn include(&mut self, name: &FunName) {
        let mut wanted = vec![name.clone()];
        while let Some(name) = wanted.pop() {
            if let Some(def) = self.prelude.shift_remove(&name) {
                wanted.extend(callees(&def.body));
                self.program.defs.insert(name, def);
            }
        }
    }

    /// The functions of that base name, as written by the user or included from the prelude.
    pub fn overloads<'a>(&'a self, base: &'a str) -> impl Iterator<Item = &'a Def> {
        let is_one = move |def: &&Def| def.fun.name.derivations.is_empty() && *def.fun.name.base == *base;
        self.program.defs.values().filter(is_one)
    }
}

/// Checks the forms of a file together with those of the prelude.
///
/// Errors: all that are found, in order of place.
pub fn check(forms: &[Sexp], prelude: &[Sexp], options: Options) -> Result<Checked, Vec<Diagnostic>> {
    let mut checker = Checker::new(options);
    let checked = checker.program(forms, prelude);
    let mut errors = checker.errors;
    errors.sort_by_key(|e| e.span.map(|s| s.start));
    // A body that is looked at for several calls has its errors once.
    let mut reported: Vec<Diagnostic> = Vec::new();
    errors.retain(|e| {
        !reported.contains(e) && {
            reported.push(e.clone());
            true
        }
    });
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

/// The state of a check.
struct Checker {
    options: Options,
    functions: Functions,
    scope: Scope,
    supply: Supply,
    /// The built-in whose body is being checked, when one is.
    expansion: Option<Expansion>,
    second_order: SecondOrder,
    /// What is checked so far.
    checked: Checked,
    /// Functions whose bodies have errors.
    unsound: IndexSet<FunName>,
    /// The records that were asked for; none where there is an error.
    records: IndexMap<FunName, Option<Type>>,
    errors: Vec<Diagnostic>,
    /// The built-ins that the program calls in its own text, with the types of their arguments.
    #[cfg(test)]
    called: Vec<(String, Vec<Type>)>,
}

impl Checker {
    fn new(options: Options) -> Checker {
        Checker {
            options,
            functions: Functions::default(),
            scope: Scope::default(),
            supply: Supply::default(),
            expansion: None,
            second_order: SecondOrder::default(),
            checked: Checked::default(),
            unsound: IndexSet::new(),
            records: IndexMap::new(),
            errors: Vec::new(),
            #[cfg(test)]
            called: Vec::new(),
        }
    }

    fn program(&mut self, forms: &[Sexp], prelude: &[Sexp]) -> Checked {
        let own = forms.iter().map(|form| (form, false));
        let items = own.chain(prelude.iter().map(|form| (form, true)));
        let items: Vec<Item> = items.filter_map(|(form, is_prelude)| self.declaration(form, is_prelude)).collect();
        let (mut headers, mut requests, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::Def(header) => headers.push(header),
                Item::Gdef(name, derivation, span) => requests.push((name, derivation, span)),
                Item::Rule(head) => rules.push(head),
            }
        }
        let funs = self.signatures(&headers);
        self.checked.derivation = self.options.derivation;
        requests.iter().for_each(|(name, derivation, span)| self.choose(name, *derivation, *span));
        self.check_halves(&headers);
        for (header, fun) in headers.iter().zip(&funs) {
            self.keep_second_order(header, fun.as_ref());
        }
        for i in order(&headers) {
            match &funs[i] {
                Some(fun) if takes_functions(fun) => self.for_any_functions(fun),
                fun => self.definition(&headers[i], fun.clone()),
            }
        }
        let mut checked = std::mem::take(&mut self.checked);
        let places = std::mem::take(&mut checked.places);
        checked.program.defs.sort_by_key(|name, _| places.get(name).map(|place| place.start));
        checked.places = places;
        checked.program.defs.extend(self.second_order.made().map(|def| (def.fun.name.clone(), def.clone())));
        let requested: IndexSet<FunName> =
            requests.into_iter().filter_map(|(name, _, span)| self.requested(name, span)).collect();
        checked.requested = requested.into_iter().collect();
        checked.prelude.append(&mut self.checked.prelude);
        let bases = checked.requested.iter().map(|name| name.as_written());
        bases.collect::<Vec<_>>().iter().for_each(|name| checked.include(name));
        checked.program.rules = rules.iter().filter_map(|head| self.rule(head)).collect();
        checked.program.supply = self.supply.clone();
        let bodies = checked.program.defs.values().map(|def| &def.body);
        let replacements = checked.program.rules.iter().map(|rule| &rule.replacement);
        let called: Vec<FunName> = bodies.chain(replacements).flat_map(callees).collect();
        called.iter().for_each(|name| checked.include(name));
        checked
    }

    /// Checks a body and files the definition, or files the external function.
    fn definition(&mut self, header: &Header, fun: Option<Arc<Fun>>) {
        // A prelude definition that does not suit a user's redefinition of what it calls is left out.
        let Some(body) = header.body else {
            if let Some(fun) = fun {
                self.checked.places.insert(fun.name.clone(), header.span);
                self.checked.program.externals.insert(fun.name.clone(), fun);
            }
            return;
        };
        let reported = self.errors.len();
        let def = self.body(header, body, fun.clone());
        if header.is_prelude {
            self.errors.truncate(reported);
        }
        let Some(def) = def else {
            self.unsound.extend(fun.map(|fun| fun.name.clone()));
            return;
        };
        let name = def.fun.name.clone();
        if !name.derivations.is_empty() {
            self.checked.program.by_hand.insert(name.clone());
        }
        match header.is_prelude {
            true => {
                self.checked.prelude.insert(name, def);
            }
            false => {
                self.checked.places.insert(name.clone(), header.span);
                self.checked.program.defs.insert(name, def);
            }
        }
    }

    fn body(&mut self, header: &Header, text: &Sexp, fun: Option<Arc<Fun>>) -> Option<Def> {
        let mark = self.scope.mark();
        let written = header.params.iter().flatten();
        let params: Vec<Option<Var>> = written.map(|p| self.bind(&p.name, p.ty.clone())).collect();
        let are_params_known = header.params.is_some();
        let body = if are_params_known { self.expr(text) } else { None };
        self.scope.forget(mark);
        let (body, declared) = (body?, header.result.as_ref()?);
        if body.ty() != declared {
            let name = header.name.as_ref()?;
            return self.fail(error::wrong_result(name, declared, body.ty()), text.span);
        }
        let (params, fun) = (params.into_iter().collect::<Option<Vec<_>>>()?, fun?);
        let (params, body) = self.adapt(params, body, &fun);
        Some(Def { fun, params, body })
    }

    /// Checks the sides of a rule.
    fn rule(&mut self, head: &RuleHead) -> Option<Rule> {
        let mark = self.scope.mark();
        let written = head.params.iter().flatten();
        let params: Vec<Option<Var>> = written.map(|p| self.bind(&p.name, p.ty.clone())).collect();
        let are_params_known = head.params.is_some();
        let sides = [head.template, head.replacement];
        let sides = sides.map(|side| if are_params_known { self.expr(side) } else { None });
        self.scope.forget(mark);
        let [template, replacement] = sides;
        let (template, replacement) = (template?, replacement?);
        let params = params.into_iter().collect::<Option<Vec<Var>>>()?;
        if template.ty() != replacement.ty() {
            let error = error::sides_disagree(&head.name, template.ty(), replacement.ty());
            return self.fail(error, head.replacement.span);
        }
        let mentioned = free_variables(&template);
        if let Some(x) = params.iter().find(|x| !mentioned.contains(x)) {
            return self.fail(error::unbound_pattern(&head.name, x.name()), head.template.span);
        }
        Some(Rule { name: head.name.clone(), params, template, replacement, span: head.span })
    }

    /// Gives a definition the parameters that all calls of the function give it, where a derivative
    /// is written with one parameter for several, or several for one.
    fn adapt(&mut self, params: Vec<Var>, body: Expr, fun: &Fun) -> (Vec<Var>, Expr) {
        if params.iter().map(Var::ty).eq(&fun.params) {
            return (params, body);
        }
        let fresh: Vec<Var> = fun.params.iter().map(|ty| self.supply.fresh("s", ty.clone())).collect();
        let span = body.span();
        let binding = match (fresh.as_slice(), params.as_slice()) {
            ([whole], _) => Binding { pattern: Pattern::Tuple(params), rhs: Expr::var(whole) },
            (parts, [whole]) => {
                let rhs = Expr::tuple(parts.iter().map(Expr::var));
                Binding { pattern: Pattern::Var(whole.clone()), rhs }
            }
            _ => panic!("checker: parameters of `{}` do not make up its argument", fun.name),
        };
        (fresh, Expr::block(vec![binding], body).at(span))
    }

    /// Reports an error at a place, and gives the `None` that stands for what is wrong.
    fn fail<T>(&mut self, error: Diagnostic, span: Span) -> Option<T> {
        self.errors.push(error.at(span));
        None
    }
}

/// The functions that a term calls or takes the Jacobian of.
fn callees(e: &Expr) -> Vec<FunName> {
    let mut found = IndexSet::new();
    let mut rest = vec![e];
    while let Some(e) = rest.pop() {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => {}
            Kind::App(op, args) => {
                if let Op::Call(f) | Op::JacobianOfFun(f) = op {
                    // The derivative of a function is made from the function.
                    found.insert(f.name.as_written());
                }
                rest.extend(args);
            }
            Kind::Let(bindings, body) => {
                rest.extend(bindings.iter().map(|b| &b.rhs));
                rest.push(body);
            }
            Kind::Lam(_, body) => rest.push(body),
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests;
