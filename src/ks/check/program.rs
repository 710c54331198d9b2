//! Programs: the heads of all definitions, then the bodies, in an order in which records are known.

use crate::ks::check::checked::{Checked, callees};
use crate::ks::check::checker::Checker;
use crate::ks::check::copies::takes_functions;
use crate::ks::check::declared::without_repeated;
use crate::ks::check::error;
use crate::ks::check::halves::order;
use crate::ks::check::head::{Header, Item, RuleHead};
use crate::ks::check::scope::Meaning;
use crate::ks::check::terms::apply;
use crate::ks::reader::Sexp;
use indexmap::IndexSet;
use lm::law::without_names;
use lm::scope::free_variables;
use lm::term::{Binding, Def, Expr, Fun, FunName, Op, Pattern, Rule, Span, Var};
use lm::types::Type;
use std::sync::Arc;

impl Checker {
    /// Checks all forms, those of the prelude behind those of the file.
    pub(super) fn program(&mut self, forms: &[Sexp], prelude: &[Sexp]) -> Checked {
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
        let headers = without_repeated(headers);
        let funs = self.signatures(&headers);
        self.checked.derivation = self.options.derivation;
        self.checked.checkpoint = self.options.checkpoint;
        self.checked.strategies = self.options.strategies.clone();
        requests.iter().for_each(|(name, derivation, span)| self.choose(name, *derivation, *span));
        self.bodies(&headers, &funs);
        let requested = requests.into_iter().map(|(name, _, span)| (name, span)).collect();
        let mut checked = self.in_source_order();
        checked.requested = self.all_requested(requested);
        checked.program.rules = rules.iter().filter_map(|head| self.rule(head)).collect();
        checked.prelude = std::mem::take(&mut self.checked.prelude);
        checked.program.supply = self.supply.clone();
        self.judge_sizes(&mut checked);
        checked.program.supply = self.supply.clone();
        include_what_is_called(&mut checked);
        checked
    }

    /// Checks the bodies of all definitions.
    fn bodies(&mut self, headers: &[Header], funs: &[Option<Arc<Fun>>]) {
        self.check_halves(headers, funs);
        for (header, fun) in headers.iter().zip(funs) {
            self.keep_second_order(header, fun.as_ref());
        }
        for i in order(headers) {
            match &funs[i] {
                Some(fun) if takes_functions(fun) => {
                    if !headers[i].is_prelude {
                        self.checked.templates.insert(fun.name.clone(), headers[i].span);
                    }
                    self.for_any_functions(fun);
                }
                fun => self.definition(&headers[i], fun.clone()),
            }
        }
    }

    /// Moves the checked definitions out, as the file has them, then the copies made for functions.
    fn in_source_order(&mut self) -> Checked {
        let prelude = std::mem::take(&mut self.checked.prelude);
        let mut checked = std::mem::take(&mut self.checked);
        self.checked.prelude = prelude;
        let Checked { program, places, .. } = &mut checked;
        program.defs.sort_by_key(|name, _| places.get(name).map(|place| place.start));
        program.defs.extend(self.copies.defs().map(|def| (def.fun.name.clone(), def.clone())));
        checked
    }

    /// Returns the derivatives that the file asks for, each once.
    fn all_requested(&mut self, requests: Vec<(FunName, Span)>) -> Vec<FunName> {
        let requested = requests.into_iter().filter_map(|(name, span)| self.requested(name, span));
        requested.collect::<IndexSet<FunName>>().into_iter().collect()
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
        let reported = (self.errors.len(), self.warnings.len());
        let def = self.body(header, body, fun.clone());
        if header.is_prelude {
            self.errors.truncate(reported.0);
            self.warnings.truncate(reported.1);
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
        let sizes = self.bind_sizes(header.signature.as_deref());
        self.bind_lost_sizes(&header.lost_sizes, header.params.as_deref().unwrap_or_default());
        let body = if are_params_known { self.expr(text) } else { None };
        self.scope.forget(mark);
        let (body, declared) = (body?, header.result.as_ref()?);
        if body.ty() != declared {
            let name = header.name.as_ref()?;
            return self.fail(error::wrong_result(name, declared, body.ty()), text.span);
        }
        let (params, fun) = (params.into_iter().collect::<Option<Vec<_>>>()?, fun?);
        let body = self.with_sizes(header.signature.as_deref(), &sizes, &params, body)?;
        if let Some(signature) = header.signature.as_ref().and_then(|s| s.of(&fun)) {
            self.checked.program.sizes.insert(fun.name.clone(), Arc::new(signature));
        }
        let (params, body) = self.adapt(params, body, &fun);
        Some(Def { fun, params, body })
    }

    /// Checks the sides of a rule.
    fn rule(&mut self, head: &RuleHead) -> Option<Rule> {
        let mark = self.scope.mark();
        let written = head.params.iter().flatten();
        let (mut params, mut functions) = (Vec::new(), Vec::new());
        for p in written {
            match &p.ty {
                Some(Type::Lam(s, t)) => functions.push(self.bind_function(&p.name, s, t)),
                ty => params.push(self.bind(&p.name, ty.clone())),
            }
        }
        let are_params_known = head.params.is_some();
        let sides = [head.template, head.replacement];
        let sides = sides.map(|side| if are_params_known { self.expr(side) } else { None });
        self.scope.forget(mark);
        // A rule is applied to terms without these primitives.
        let sides = sides.map(|side| side.map(|side| self.without_arrays(&side)));
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
        for f in &functions {
            let error = match applications(f, &template) {
                (0, _) => error::unbound_pattern(&head.name, &f.name),
                (_, false) => error::function_of_pattern(&head.name, &f.name),
                (_, true) => continue,
            };
            return self.fail(error, head.template.span);
        }
        Some(Rule { name: head.name.clone(), params, functions, template, replacement, span: head.span })
    }

    /// Makes a name of a rule mean a function `λx. f(x)`, where calls of f match any term that uses x.
    fn bind_function(&mut self, name: &Arc<str>, s: &Type, t: &Type) -> Arc<Fun> {
        let fun = Arc::new(Fun { name: FunName::base(name), params: vec![s.clone()], result: t.clone() });
        let x = self.supply.fresh("x", s.clone());
        let call = apply(Op::Call(fun.clone()), vec![Expr::var(&x)], Span::default());
        self.scope.bind(name, Meaning::Function(Expr::lam(x, call)));
        fun
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
}

/// Returns how often a template applies a function, and whether always to a variable that it binds.
fn applications(f: &Arc<Fun>, template: &Expr) -> (usize, bool) {
    let template = without_names(template);
    let (free, mut count, mut are_bound) = (free_variables(&template), 0, true);
    template.visit(|e| {
        if let Some([i]) = e.args_of(&Op::Call(f.clone())) {
            count += 1;
            are_bound &= i.as_var().is_some_and(|i| !free.contains(i));
        }
    });
    (count, are_bound)
}

/// Moves the definitions of the prelude that the program needs into it.
fn include_what_is_called(checked: &mut Checked) {
    let bases = checked.requested.iter().map(|name| name.as_written());
    let bodies = checked.program.defs.values().map(|def| &def.body);
    let bodies = bodies.flat_map(callees);
    let replacements = checked.program.rules.iter().flat_map(|rule| {
        let is_own = |name: &FunName| rule.functions.iter().any(|f| f.name == *name);
        callees(&rule.replacement).into_iter().filter(move |name| !is_own(name))
    });
    let called: Vec<FunName> = bases.chain(bodies).chain(replacements).collect();
    called.iter().for_each(|name| checked.include(name));
}
