//! Definitions that take functions.
//!
//! ```text
//! (def twice Float ((f : Lam Float Float) (x : Float)) (f (f x)))
//! (twice (lam (y : Float) (mul a y)) b)  =  (twice$1 a b)
//! (def twice$1 Float ((a : Float) (x : Float)) (mul a (mul a x)))
//! ```
//!
//! A call is one of a copy of the definition made for the functions that the call gives; what these use
//! of the place of the call becomes parameters of the copy. Calls that give the same functions share a
//! copy, so a definition may call itself, with the functions it was given. One that gives itself ever
//! other functions is refused. So no term after the checker takes a function, built-ins apart.

use crate::ks::check::checker::Checker;
use crate::ks::check::copies::{Copy, Definition, is_function, takes_functions};
use crate::ks::check::error;
use crate::ks::check::head::Header;
use crate::ks::check::scope::Meaning;
use crate::ks::check::terms::apply;
use lm::alpha;
use lm::scope::{free_variables, renamed, substitute};
use lm::sizes::{Signature, SizedType};
use lm::term::{Def, Expr, Fun, FunName, Op, Span, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Copies of one definition that are being made, each for the sake of the one before, are at most so many,
const MOST_NESTED: usize = 16;

/// and their functions at most so large, in nodes.
const LARGEST: usize = 100_000;

impl Checker {
    /// Keeps a definition that takes functions for the calls of it.
    pub(super) fn keep_second_order(&mut self, header: &Header, fun: Option<&Arc<Fun>>) {
        let parts = (fun.filter(|fun| takes_functions(fun)), &header.params, header.body);
        if let (Some(fun), Some(params), Some(body)) = parts {
            let definition =
                Definition { params: params.clone(), signature: header.signature.clone(), body: body.clone() };
            self.copies.definitions.insert(fun.name.clone(), definition);
        }
    }

    /// Checks a definition for functions known only by their types, since a body is checked once
    /// whether it is called or not.
    pub(super) fn for_any_functions(&mut self, fun: &Arc<Fun>) {
        let kept = self.copies.all.len();
        let mut any = |ty: &Type| match ty {
            Type::Lam(s, t) => Some(Expr::lam(self.supply.fresh("x", (**s).clone()), Expr::dummy((**t).clone()))),
            _ => None,
        };
        let functions: Vec<Expr> = fun.params.iter().filter_map(&mut any).collect();
        self.copy_for(fun, &functions, &[], self.place_of(fun));
        self.copies.all.truncate(kept);
    }

    /// Returns whether all functions of the name take functions.
    pub(super) fn is_second_order(&self, name: &FunName) -> bool {
        let overloads = self.functions.overloads(&name.base);
        !overloads.is_empty() && overloads.iter().all(|entry| takes_functions(&entry.fun))
    }

    fn place_of(&self, fun: &Fun) -> Span {
        self.functions.select(&fun.name.base, &fun.argument()).map_or(Span::default(), |entry| entry.span)
    }

    /// Returns a call of a definition that takes functions.
    pub(super) fn specialised_call(&mut self, fun: &Arc<Fun>, args: Vec<Expr>, span: Span) -> Option<Expr> {
        let (functions, values): (Vec<Expr>, Vec<Expr>) = args.into_iter().partition(|arg| is_function(arg.ty()));
        let mut used: Vec<Var> = Vec::new();
        functions.iter().flat_map(free_variables).for_each(|x| {
            if !used.contains(&x) {
                used.push(x);
            }
        });
        let copy = self.copy_for(fun, &functions, &used, span)?;
        let args = used.iter().map(Expr::var).chain(values).collect();
        Some(apply(Op::Call(copy), args, span))
    }

    /// Returns the copy of a definition for some functions, which use some variables.
    fn copy_for(&mut self, fun: &Arc<Fun>, functions: &[Expr], used: &[Var], span: Span) -> Option<Arc<Fun>> {
        let made_for = Def::new(fun.name.clone(), used.to_vec(), Expr::tuple(functions.to_vec()));
        let mut copies = self.copies.all.iter();
        if let Some(copy) = copies.find(|copy| alpha::defs(&copy.made_for, &made_for)) {
            return Some(copy.fun.clone());
        }
        let nested = self.copies.in_progress.iter().filter(|name| **name == fun.name).count();
        if nested >= MOST_NESTED || made_for.body.size() > LARGEST {
            return self.fail(error::endless_functions(&fun.name), span);
        }
        let definition = self.copies.definitions.get(&fun.name)?.clone();
        let values = fun.params.iter().filter(|ty| !is_function(ty)).cloned();
        let params = used.iter().map(|x| x.ty().clone()).chain(values).collect();
        let name = self.name_of_copy(&fun.name.base);
        let copy = Arc::new(Fun { name, params, result: fun.result.clone() });
        let place = self.copies.all.len();
        self.copies.all.push(Copy { made_for, fun: copy.clone(), def: None });
        self.copies.in_progress.push(fun.name.clone());
        let made = self.copied(&definition, functions, used, &copy);
        self.copies.in_progress.pop();
        self.copies.all[place].def = made;
        Some(copy)
    }

    pub(super) fn name_of_copy(&self, base: &str) -> FunName {
        let is_taken = |name: &FunName| {
            let copies = &self.copies.all;
            self.is_function(&name.base) || copies.iter().any(|copy| copy.fun.name == *name)
        };
        let mut names = (1..).map(|i| FunName::base(&format!("{base}${i}")));
        names.find(|name| !is_taken(name)).expect("there is always another number")
    }

    /// Returns the definition with functions in place of its parameters that are functions.
    fn copied(&mut self, definition: &Definition, functions: &[Expr], used: &[Var], fun: &Arc<Fun>) -> Option<Def> {
        let (outer, expansion) = (std::mem::take(&mut self.scope), self.expansion.take());
        let mut params: Vec<Var> = used.iter().map(|x| self.supply.fresh(x.name(), x.ty().clone())).collect();
        let by: FxHashMap<u32, Expr> = used.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
        let mut functions = functions.iter();
        for param in &definition.params {
            match &param.ty {
                Some(Type::Lam(..)) => {
                    let function = renamed(functions.next().expect("one for each parameter"), &mut self.supply);
                    self.scope.bind(&param.name, Meaning::Function(substitute(&function, &by)));
                }
                ty => params.extend(self.bind(&param.name, ty.clone())),
            }
        }
        let signature = definition.signature.as_ref().and_then(|s| of_values(s, used));
        let sizes = self.bind_sizes(signature.as_ref());
        let body = self.expr(&definition.body);
        let body = body.and_then(|body| self.with_sizes(signature.as_ref(), &sizes, &params, body));
        (self.scope, self.expansion) = (outer, expansion);
        let body = body?;
        if *body.ty() != fun.result {
            let (declared, found) = (fun.result.clone(), body.ty().clone());
            let name = self.copies.in_progress.last()?.to_string();
            return self.fail(error::wrong_result(name, &declared, &found), definition.body.span);
        }
        if let Some(signature) = signature {
            self.checked.program.sizes.insert(fun.name.clone(), Arc::new(signature));
        }
        Some(Def { fun: fun.clone(), params, body })
    }
}

/// Returns the signature of a copy: of what its functions use nothing is said.
fn of_values(signature: &Signature, used: &[Var]) -> Option<Signature> {
    let used = used.iter().map(|x| (x.name().clone(), SizedType::any(x.ty())));
    let values = signature.params.iter().filter(|(_, ty)| !is_function(&ty.erased())).cloned();
    Signature::new(used.chain(values).collect(), signature.result.clone()).ok()
}
