//! Checks the invariants of terms that their constructors cannot see, after each pass in debug builds.

use crate::term::{Def, Expr, Kind, Var};
use crate::types::Type;
use rustc_hash::FxHashSet;

/// Checks that every variable is bound before it is used, and that every binder is a different one.
///
/// Errors: a sentence that names the variable.
pub fn scoping(def: &Def) -> Result<(), String> {
    let mut check = Scoping::default();
    def.params.iter().try_for_each(|p| check.bind(p))?;
    check.term(&def.body).map_err(|why| format!("in {}: {why}", def.fun.name))
}

/// Checks that a definition has the types of its function.
///
/// Errors: a sentence with both types.
pub fn typing(def: &Def) -> Result<(), String> {
    let params: Vec<Type> = def.params.iter().map(|p| p.ty().clone()).collect();
    let (is, said) = ((Type::tuple(params), def.body.ty()), (Type::tuple(def.fun.params.clone()), &def.fun.result));
    match is == said {
        true => Ok(()),
        false => Err(format!("{} is {} -> {}, but its type says {} -> {}", def.fun.name, is.0, is.1, said.0, said.1)),
    }
}

#[derive(Default)]
struct Scoping {
    in_scope: FxHashSet<u32>,
    ever: FxHashSet<u32>,
}

impl Scoping {
    fn bind(&mut self, x: &Var) -> Result<(), String> {
        self.in_scope.insert(x.id());
        match self.ever.insert(x.id()) {
            true => Ok(()),
            false => Err(format!("`{}` ({}) is bound twice", x.name(), x.id())),
        }
    }

    fn term(&mut self, e: &Expr) -> Result<(), String> {
        match e.kind() {
            Kind::Const(_) => Ok(()),
            Kind::Var(x) if self.in_scope.contains(&x.id()) => Ok(()),
            Kind::Var(x) => Err(format!("`{}` ({}) is not in scope", x.name(), x.id())),
            Kind::App(_, args) => args.iter().try_for_each(|a| self.term(a)),
            Kind::Lam(x, body) => {
                self.bind(x)?;
                self.term(body)?;
                self.in_scope.remove(&x.id());
                Ok(())
            }
            Kind::Let(bindings, body) => {
                for b in bindings {
                    self.term(&b.rhs)?;
                    b.pattern.vars().iter().try_for_each(|x| self.bind(x))?;
                }
                self.term(body)?;
                for x in bindings.iter().flat_map(|b| b.pattern.vars()) {
                    self.in_scope.remove(&x.id());
                }
                Ok(())
            }
        }
    }
}
