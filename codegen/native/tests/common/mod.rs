//! Programs built from terms, without the front end.
#![allow(dead_code)] // each test file uses its part

use lm::term::{Binding, Def, Expr, FunName, Op, Pattern, Program};
use lm::types::Type;
use lm::value::Value;
use native::{Jit, Options, SourceInfo};
use std::sync::Arc;

/// Float.
pub fn float() -> Type {
    Type::Float
}

/// Integer.
pub fn integer() -> Type {
    Type::Integer
}

/// A tuple type.
pub fn tuple(parts: &[Type]) -> Type {
    Type::tuple(parts.iter().cloned())
}

/// A program under construction.
#[derive(Default)]
pub struct Build {
    /// The program built so far.
    pub program: Program,
    bindings: Vec<Binding>,
}

impl Build {
    /// Defines a function; bindings made by `body` become its block.
    pub fn def(&mut self, name: &str, params: &[(&str, Type)], body: impl FnOnce(&mut Build, &[Expr]) -> Expr) {
        let vars: Vec<_> = params.iter().map(|(x, ty)| self.program.supply.fresh(x, ty.clone())).collect();
        let args: Vec<Expr> = vars.iter().map(Expr::var).collect();
        let result = body(self, &args);
        let body = Expr::block(std::mem::take(&mut self.bindings), result);
        let name = FunName::base(name);
        self.program.defs.insert(name.clone(), Def::new(name, vars, body));
    }

    /// `x = rhs`, in the function under construction.
    pub fn bind(&mut self, name: &str, rhs: Expr) -> Expr {
        let x = self.program.supply.fresh(name, rhs.ty().clone());
        self.bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }

    /// `(x1, .., xn) = rhs`.
    pub fn bind_tuple(&mut self, names: &[&str], rhs: Expr) -> Vec<Expr> {
        let types = rhs.ty().as_tuple().expect("a tuple").to_vec();
        let vars: Vec<_> = names.iter().zip(types).map(|(x, ty)| self.program.supply.fresh(x, ty)).collect();
        let uses = vars.iter().map(Expr::var).collect();
        self.bindings.push(Binding { pattern: Pattern::Tuple(vars), rhs });
        uses
    }
}

/// A call of a function that may not be defined yet.
pub fn call(name: &str, result: Type, args: Vec<Expr>) -> Expr {
    let params = args.iter().map(|a| a.ty().clone()).collect();
    Expr::app(Op::Call(Arc::new(lm::term::Fun { name: FunName::base(name), params, result })), args)
}

/// Runs a check on the program compiled at -O0 to -O3.
pub fn at_every_level(program: &Program, entries: &[FunName], check: impl Fn(&Jit)) {
    for opt_level in 0..=3 {
        let options = Options { opt_level, ..Options::exact() };
        check(&Jit::new(program, entries, &SourceInfo::default(), &options).expect("compiles"));
    }
}

/// Whether two values are the same bits; NaN is NaN, whatever its sign and payload.
pub fn same(x: &Value, y: &Value) -> bool {
    match (x, y) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Tuple(xs), Value::Tuple(ys)) => xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| same(x, y)),
        (x, y) => x == y,
    }
}
