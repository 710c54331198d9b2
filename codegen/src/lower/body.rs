//! The body of one function.

use super::Wanted;
use super::value::Val;
use crate::error::Error;
use crate::layout::components;
use crate::loops::{Block, Failure, Function, Local, LocalInfo, Op, Operand, Scalar, Stmt};
use lm::term::{self, Constant, Def, Expr, FunName, Kind, Pattern, Span, Var};
use lm::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) struct Body<'a> {
    name: &'a FunName,
    wanted: &'a mut Wanted,
    env: HashMap<u32, Val>,
    locals: Vec<LocalInfo>,
    stmts: Vec<Stmt>,
    /// The nearest place in the source around the term at hand: errors report it.
    pub(super) span: Span,
}

impl<'a> Body<'a> {
    /// The loops of a definition; functions that it calls are added to `wanted`.
    pub(super) fn of(def: &'a Def, wanted: &'a mut Wanted) -> Result<Function, Error> {
        let (name, span) = (&def.fun.name, def.body.span());
        let mut body = Body { name, wanted, env: HashMap::new(), locals: vec![], stmts: vec![], span };
        for param in &def.params {
            let value = body.fresh_value(param.ty())?;
            body.bind(param, value);
        }
        let params = (0..body.locals.len() as u32).map(Local).collect();
        let results = body.components(&def.fun.result)?;
        let value = body.value(&def.body)?;
        let block = Block { stmts: body.stmts, results: value.flatten() };
        Ok(Function { name: name.clone(), locals: body.locals, params, results, body: block, recursive: false, span })
    }

    /// Emits the statements that compute a term.
    pub(super) fn value(&mut self, e: &Expr) -> Result<Val, Error> {
        match e.kind() {
            Kind::Const(c) => Ok(Val::Leaf(constant(c))),
            Kind::Var(x) => Ok(self.env.get(&x.id()).unwrap_or_else(|| panic!("unbound variable {x:?}")).clone()),
            Kind::Let(bindings, body) => {
                for binding in bindings {
                    let value = self.value(&binding.rhs)?;
                    self.bind_pattern(&binding.pattern, value);
                }
                self.value(body)
            }
            Kind::Lam(..) => Err(self.unsupported("a function as a value")),
            Kind::App(op, args) => {
                let outer = self.span;
                self.span = if e.span() == Span::default() { outer } else { e.span() };
                let value = self.app(e, op, args);
                self.span = outer;
                value
            }
        }
    }

    fn app(&mut self, e: &Expr, op: &term::Op, args: &[Expr]) -> Result<Val, Error> {
        match op {
            term::Op::Tuple => Ok(Val::tuple(self.values(args)?)),
            term::Op::Get(i, _) => Ok(self.value(&args[0])?.parts()[i - 1].clone()),
            term::Op::If => self.conditional(args, e.ty()),
            term::Op::Assert => {
                let condition = self.value(&args[0])?.leaf();
                self.check(condition, Failure::AssertFailed, Operand::Integer(0));
                self.value(&args[1])
            }
            term::Op::Dummy => self.dummy(e.ty()),
            term::Op::Prim(p) => self.prim(*p, args),
            term::Op::Call(fun) => {
                let args = self.values(args)?.iter().flat_map(Val::flatten).collect();
                let callee = self.wanted.id(&fun.name);
                let result = self.fresh_value(&fun.result)?;
                self.stmts.push(Stmt::Call(targets(&result), callee, args));
                Ok(result)
            }
            term::Op::JacobianOf(p) => Err(self.unsupported(&format!("the Jacobian of `{}`", p.name()))),
            term::Op::JacobianOfFun(fun) => Err(self.unsupported(&format!("the Jacobian of `{}`", fun.name))),
            term::Op::Pack(_) | term::Op::Unpack(_) => Err(self.unsupported("a record")),
            term::Op::LmGet(..) => Err(self.unsupported("the linear map of a projection")),
        }
    }

    pub(super) fn values(&mut self, es: &[Expr]) -> Result<Vec<Val>, Error> {
        es.iter().map(|e| self.value(e)).collect()
    }

    fn conditional(&mut self, args: &[Expr], ty: &Type) -> Result<Val, Error> {
        let condition = self.value(&args[0])?.leaf();
        let then = self.block(&args[1])?;
        let other = self.block(&args[2])?;
        let result = self.fresh_value(ty)?;
        self.stmts.push(Stmt::If(targets(&result), condition, then, other));
        Ok(result)
    }

    fn block(&mut self, e: &Expr) -> Result<Block, Error> {
        let outer = std::mem::take(&mut self.stmts);
        let value = self.value(e);
        let stmts = std::mem::replace(&mut self.stmts, outer);
        Ok(Block { stmts, results: value?.flatten() })
    }

    fn bind_pattern(&mut self, pattern: &Pattern, value: Val) {
        match pattern {
            Pattern::Var(x) => self.bind(x, value),
            Pattern::Tuple(xs) => xs.iter().zip(value.parts()).for_each(|(x, part)| self.bind(x, part.clone())),
        }
    }

    fn bind(&mut self, x: &Var, value: Val) {
        if let Val::Leaf(Operand::Local(Local(i))) = &value {
            self.locals[*i as usize].name.get_or_insert_with(|| x.name().clone());
        }
        self.env.insert(x.id(), value);
    }

    /// What the interpreter's dummy is too: zeros.
    fn dummy(&mut self, ty: &Type) -> Result<Val, Error> {
        Ok(match ty {
            Type::Float => Val::Leaf(Operand::Float(0.0)),
            Type::Integer => Val::Leaf(Operand::Integer(0)),
            Type::Bool => Val::Leaf(Operand::Bool(false)),
            Type::String => Val::Leaf(Operand::Text("".into())),
            Type::Tuple(parts) => Val::tuple(parts.iter().map(|t| self.dummy(t)).collect::<Result<Vec<_>, _>>()?),
            Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => {
                return Err(self.unsupported_type(ty));
            }
        })
    }

    /// A value of new locals.
    fn fresh_value(&mut self, ty: &Type) -> Result<Val, Error> {
        Ok(match ty {
            Type::Float => self.fresh(Scalar::Float),
            Type::Integer => self.fresh(Scalar::Integer),
            Type::Bool => self.fresh(Scalar::Bool),
            Type::String => self.fresh(Scalar::Text),
            Type::Tuple(parts) => Val::tuple(parts.iter().map(|t| self.fresh_value(t)).collect::<Result<Vec<_>, _>>()?),
            Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => {
                return Err(self.unsupported_type(ty));
            }
        })
    }

    fn fresh(&mut self, ty: Scalar) -> Val {
        self.locals.push(LocalInfo { ty, name: None });
        Val::Leaf(Operand::Local(Local(self.locals.len() as u32 - 1)))
    }

    /// `x = op args`, for a new x.
    pub(super) fn op(&mut self, op: Op, args: impl Into<Vec<Operand>>) -> Operand {
        let result = self.fresh(op.result());
        self.stmts.push(Stmt::Let(targets(&result)[0], op, args.into()));
        result.leaf()
    }

    pub(super) fn check(&mut self, condition: Operand, failure: Failure, number: Operand) {
        let numbers = [number, Operand::Integer(0)];
        self.stmts.push(Stmt::Check { condition, failure, numbers, span: self.span });
    }

    pub(super) fn write(&mut self, operand: Operand) {
        self.stmts.push(Stmt::Write(operand));
    }

    pub(super) fn scalar_of(&self, operand: &Operand) -> Scalar {
        operand.ty(&self.locals)
    }

    fn components(&self, ty: &Type) -> Result<Vec<Scalar>, Error> {
        components(ty).map_err(|part| self.unsupported_type(&part))
    }

    fn unsupported_type(&self, ty: &Type) -> Error {
        self.unsupported(&format!("a value of type {ty}"))
    }

    pub(super) fn unsupported(&self, operation: &str) -> Error {
        Error::Unsupported { function: self.name.to_string(), operation: operation.into(), span: self.span }
    }
}

fn targets(value: &Val) -> Vec<Local> {
    let local = |operand| match operand {
        Operand::Local(x) => x,
        Operand::Float(_) | Operand::Integer(_) | Operand::Bool(_) | Operand::Text(_) => {
            panic!("a fresh value is made of locals")
        }
    };
    value.flatten().into_iter().map(local).collect()
}

fn constant(c: &Constant) -> Operand {
    match c {
        Constant::Float(x) => Operand::Float(*x),
        Constant::Integer(i) => Operand::Integer(*i),
        Constant::Bool(b) => Operand::Bool(*b),
        Constant::String(s) => Operand::Text(Arc::clone(s)),
    }
}
