//! Lowers the body of one function. [`Body`] is divided by kind of term: one file of this folder has an `impl Body` for
//! each.

use super::Worklist;
use super::facts::SizeFacts;
use super::sink::Sink;
use super::value::Val;
use crate::error::Error;
use crate::ir::{Failure, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt, Ty};
use crate::layout::components;
use lm::destination::Unread;
use lm::prim::Prim;
use lm::term::{self, Constant, Expr, FunName, Kind, Pattern, Span, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

pub(super) struct Body<'a> {
    name: &'a FunName,
    pub(super) wanted: &'a mut Worklist,
    /// The treatment of values that are not read.
    pub(super) unread: Unread,
    pub(super) env: FxHashMap<u32, Val>,
    pub(super) locals: Vec<LocalInfo>,
    pub(super) stmts: Vec<Stmt>,
    /// The numbers that are being summed in registers, so far.
    pub(super) slots: Vec<Operand>,
    /// The arena allocations of the current scope that are still live. Each has its buffer, or none if it will not be
    /// used.
    pub(super) allocated: Vec<Option<Local>>,
    /// The buffers that were loaded, as places to add to, from others: what they lie in.
    pub(super) inside: FxHashMap<Local, Local>,
    pub(super) facts: SizeFacts,
    /// The calls whose arguments have the sizes that the type of the function says, by the address of the term.
    pub(super) proved: FxHashSet<usize>,
    /// The nearest place in the source around the term at hand: errors report it.
    pub(super) span: Span,
}

/// The possible other owners of a new value's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    /// Other values: it is only read.
    Shared,
    /// Nobody, and no two parts of it are the same: it may be added to.
    Owned,
}

impl<'a> Body<'a> {
    pub(super) fn new(name: &'a FunName, wanted: &'a mut Worklist, span: Span) -> Body<'a> {
        let unread = if wanted.derived.contains(name) { Unread::Dropped } else { Unread::Evaluated };
        Body {
            name,
            wanted,
            unread,
            env: FxHashMap::default(),
            locals: vec![],
            stmts: vec![],
            slots: vec![],
            allocated: vec![],
            inside: FxHashMap::default(),
            facts: SizeFacts::default(),
            proved: FxHashSet::default(),
            span,
        }
    }

    /// Emits the statements that compute a term, which is then only read.
    pub(super) fn lower_value(&mut self, e: &Expr) -> Result<Val, Error> {
        self.produce(e, Sharing::Shared)
    }

    /// Emits the statements that compute a term.
    pub(super) fn produce(&mut self, e: &Expr, sharing: Sharing) -> Result<Val, Error> {
        match e.kind() {
            Kind::Const(c) => Ok(Val::Leaf(constant(c))),
            Kind::Var(x) => {
                let value = self.variable(x);
                self.copy_for(sharing, value)
            }
            Kind::Let(bindings, body) => {
                for binding in bindings {
                    let value = self.lower_value(&binding.rhs)?;
                    self.bind_pattern(&binding.pattern, value);
                }
                self.produce(body, sharing)
            }
            Kind::Lam(..) => Err(self.unsupported("a function as a value")),
            Kind::App(op, args) => {
                let slots = self.slots.len();
                let value = self.at(e.span(), |body| body.lower_app(e, op, args, sharing));
                // Sums on the way are in the value now.
                self.slots.truncate(slots);
                value
            }
        }
    }

    /// Errors of what is emitted are at that place, where it is one.
    pub(super) fn at<T>(&mut self, span: Span, emit: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.span;
        self.span = if span == Span::default() { outer } else { span };
        let result = emit(self);
        self.span = outer;
        result
    }

    fn lower_app(&mut self, e: &Expr, op: &term::Op, args: &[Expr], sharing: Sharing) -> Result<Val, Error> {
        match op {
            term::Op::Tuple => {
                let parts = args.iter().map(|arg| self.produce(arg, sharing)).collect::<Result<Vec<_>, _>>()?;
                Ok(Val::tuple(parts))
            }
            term::Op::Get(i, _) => {
                let value = self.lower_value(&args[0])?.parts()[i - 1].clone();
                self.copy_for(sharing, value)
            }
            term::Op::If => {
                let condition = self.lower_value(&args[0])?.leaf();
                let arm = |e: &Expr, body: &mut Self| body.produce(e, sharing);
                self.choose_value(condition, |body| arm(&args[1], body), |body| arm(&args[2], body))
            }
            term::Op::Assert => {
                self.lower_assert(&args[0])?;
                self.produce(&args[1], sharing)
            }
            term::Op::Dummy => self.dummy(e.ty()),
            term::Op::Prim(p) => self.lower_prim(*p, args, e.ty(), sharing),
            term::Op::Call(fun) => {
                let args = self.lower_values(args)?;
                let result = self.lower_call_into(fun, &args, self.proved.contains(&e.address()), &Sink::Own)?;
                self.copy_for(sharing, result)
            }
            term::Op::JacobianOf(p) => Err(self.unsupported(&format!("the Jacobian of `{}`", p.name()))),
            term::Op::JacobianOfFun(fun) => Err(self.unsupported(&format!("the Jacobian of `{}`", fun.name))),
            term::Op::JacobianAt(fun) => Err(self.unsupported(&format!("the Jacobian of `{}`", fun.name))),
            term::Op::Pack(_) => {
                let value = self.lower_value(&args[0])?;
                Ok(self.pack(&value))
            }
            term::Op::Unpack(ty) => {
                let record = self.lower_value(&args[0])?.leaf();
                let value = self.unpack(&record, ty)?;
                self.copy_for(sharing, value)
            }
            term::Op::LmGet(..) => Err(self.unsupported("the linear map of a projection")),
        }
    }

    pub(super) fn lower_assert(&mut self, condition: &Expr) -> Result<(), Error> {
        let condition = self.lower_value(condition)?.leaf();
        self.check(condition, Failure::AssertFailed, []);
        Ok(())
    }

    pub(super) fn lower_values(&mut self, es: &[Expr]) -> Result<Vec<Val>, Error> {
        es.iter().map(|e| self.lower_value(e)).collect()
    }

    /// Binds the parameter of a function argument, and returns the function's body.
    pub(super) fn enter<'e>(&mut self, f: &'e Expr, x: Val) -> Result<&'e Expr, Error> {
        let Kind::Lam(param, body) = f.kind() else { return Err(self.unsupported("a function as a value")) };
        self.bind(param, x);
        Ok(body)
    }

    pub(super) fn bind_pattern(&mut self, pattern: &Pattern, value: Val) {
        match pattern {
            Pattern::Var(x) => self.bind(x, value),
            Pattern::Tuple(xs) => xs.iter().zip(value.parts()).for_each(|(x, part)| self.bind(x, part.clone())),
        }
    }

    pub(super) fn bind(&mut self, x: &Var, value: Val) {
        let named: Vec<Operand> = match &value {
            Val::Leaf(operand) => vec![operand.clone()],
            Val::Tensor(tensor) => tensor.buffers.clone(),
            Val::Tuple(_) => vec![],
        };
        for operand in named {
            if let Operand::Local(Local(i)) = operand {
                self.locals[i as usize].name.get_or_insert_with(|| x.name().clone());
            }
        }
        self.env.insert(x.id(), value);
    }

    /// Returns what a variable is bound to.
    pub(super) fn variable(&self, x: &Var) -> Val {
        self.env.get(&x.id()).unwrap_or_else(|| panic!("unbound variable {x:?}")).clone()
    }

    /// Returns the dummy value of the interpreter: zeros, and empty tensors.
    pub(super) fn dummy(&mut self, ty: &Type) -> Result<Val, Error> {
        let components = self.components(ty)?;
        let zero = |body: &mut Self, ty: Ty| match ty.as_scalar() {
            Some(Scalar::Float) => Operand::Float(0.0),
            Some(Scalar::Integer) => Operand::Integer(0),
            Some(Scalar::Bool) => Operand::Bool(false),
            Some(Scalar::Text) => Operand::Text("".into()),
            Some(Scalar::Mark) => panic!("no component is a mark"),
            None => body.alloc(ty, Operand::Integer(0)),
        };
        let operands: Vec<Operand> = components.into_iter().map(|ty| zero(self, ty)).collect();
        Ok(Val::from_components(ty, &mut operands.into_iter()))
    }

    /// A value of new locals.
    pub(super) fn fresh_value(&mut self, ty: &Type) -> Result<Val, Error> {
        let components = self.components(ty)?;
        let operands: Vec<Operand> = components.into_iter().map(|ty| Operand::Local(self.local(ty))).collect();
        let value = Val::from_components(ty, &mut operands.into_iter());
        self.new_sizes(&value, 0);
        Ok(value)
    }

    /// Locals that are sizes of tensors in the value are sizes whenever they are set, if they were made since there
    /// were `since` of them. The other ones are sizes here.
    pub(super) fn new_sizes(&mut self, value: &Val, since: usize) {
        for tensor in value.tensors() {
            self.facts.are_sizes(&tensor.sizes);
            for Local(i) in tensor.sizes.iter().filter_map(Operand::local) {
                self.locals[i as usize].is_size |= i as usize >= since;
            }
        }
    }

    pub(super) fn local(&mut self, ty: Ty) -> Local {
        self.locals.push(LocalInfo::unnamed(ty));
        Local(self.locals.len() as u32 - 1)
    }

    /// `x = op args`, for a new x.
    pub(super) fn op(&mut self, op: Op, args: impl Into<Vec<Operand>>) -> Operand {
        let x = self.local(op.result().ty());
        self.stmts.push(Stmt::Let(x, op, args.into()));
        Operand::Local(x)
    }

    /// A statement on memory that sets a local.
    pub(super) fn memory(&mut self, ty: Ty, statement: impl FnOnce(Local) -> Memory) -> Operand {
        let x = self.local(ty);
        self.stmts.push(Stmt::Memory(statement(x)));
        Operand::Local(x)
    }

    pub(super) fn check(&mut self, condition: Operand, failure: Failure, numbers: impl Into<Vec<Operand>>) {
        self.stmts.push(Stmt::Check { condition, failure, numbers: numbers.into(), span: self.span });
    }

    pub(super) fn ty_of(&self, operand: &Operand) -> Ty {
        operand.ty(&self.locals)
    }

    pub(super) fn scalar_of(&self, operand: &Operand) -> Scalar {
        self.ty_of(operand).as_scalar().expect("a scalar where the type says scalar")
    }

    pub(super) fn components(&self, ty: &Type) -> Result<Vec<Ty>, Error> {
        components(ty).map_err(|part| self.unsupported(&format!("a value of type {part}")))
    }

    pub(super) fn unsupported(&self, operation: &str) -> Error {
        Error::Unsupported { function: self.name.to_string(), operation: operation.into(), span: self.span }
    }

    pub(super) fn unsupported_prim(&self, p: Prim) -> Error {
        self.unsupported(&format!("`{}`", p.name()))
    }
}

pub(super) fn targets(value: &Val) -> Vec<Local> {
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
