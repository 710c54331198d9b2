//! The rules of loops, checked: a violation is a bug of the lowering.

use super::{Block, Function, Local, Module, Operand, Scalar, Stmt};

/// Checks that locals are set once and before use, in scope, and that types agree.
///
/// Errors: the first violation, as text for a bug report.
pub fn verify(module: &Module) -> Result<(), String> {
    module.functions.iter().try_for_each(|function| {
        let mut checker = Checker { module, function, set: vec![State::Unset; function.locals.len()] };
        checker.function().map_err(|violation| format!("loops of {}: {violation}", function.name))
    })
}

/// A local whose block has ended is out of scope for good, and may not be set again.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Unset,
    InScope,
    OutOfScope,
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    set: Vec<State>,
}

type Check = Result<(), String>;

impl Checker<'_> {
    fn function(&mut self) -> Check {
        for &x in &self.function.params {
            self.set(x)?;
        }
        self.block(&self.function.body, &self.function.results)
    }

    fn block(&mut self, block: &Block, results: &[Scalar]) -> Check {
        let mut own = Vec::new();
        for stmt in &block.stmts {
            own.extend(self.stmt(stmt)?);
        }
        self.operands(&block.results, results)?;
        own.into_iter().for_each(|Local(i)| self.set[i as usize] = State::OutOfScope);
        Ok(())
    }

    /// The locals that the statement sets.
    fn stmt(&mut self, stmt: &Stmt) -> Result<Vec<Local>, String> {
        let targets = match stmt {
            Stmt::Let(x, op, args) => {
                self.operands(args, op.operands())?;
                self.targets(&[*x], &[op.result()])?;
                vec![*x]
            }
            Stmt::Call(xs, callee, args) => {
                let callee = self.module.functions.get(callee.0).ok_or("call of no function")?;
                let params: Vec<Scalar> = callee.params.iter().map(|x| callee.locals[x.0 as usize].ty).collect();
                self.operands(args, &params)?;
                self.targets(xs, &callee.results)?;
                xs.clone()
            }
            Stmt::If(xs, condition, then, other) => {
                self.operands(std::slice::from_ref(condition), &[Scalar::Bool])?;
                let types: Vec<Scalar> = xs.iter().map(|x| self.function.locals[x.0 as usize].ty).collect();
                self.block(then, &types)?;
                self.block(other, &types)?;
                self.targets(xs, &types)?;
                xs.clone()
            }
            Stmt::Check { condition, numbers, .. } => {
                self.operands(std::slice::from_ref(condition), &[Scalar::Bool])?;
                self.operands(numbers, &[Scalar::Integer; 2])?;
                vec![]
            }
            Stmt::Write(value) => {
                self.operands(std::slice::from_ref(value), &[self.function.ty(value)])?;
                vec![]
            }
        };
        Ok(targets)
    }

    fn targets(&mut self, xs: &[Local], types: &[Scalar]) -> Check {
        if xs.len() != types.len() {
            return Err(format!("{} locals for {} values", xs.len(), types.len()));
        }
        xs.iter().zip(types).try_for_each(|(x, ty)| {
            self.set(*x)?;
            self.same(*ty, self.function.locals[x.0 as usize].ty)
        })
    }

    fn operands(&self, operands: &[Operand], types: &[Scalar]) -> Check {
        if operands.len() != types.len() {
            return Err(format!("{} operands for {} places", operands.len(), types.len()));
        }
        operands.iter().zip(types).try_for_each(|(operand, ty)| {
            if let Operand::Local(Local(i)) = operand
                && self.set.get(*i as usize) != Some(&State::InScope)
            {
                return Err(format!("%{i} is not in scope"));
            }
            self.same(self.function.ty(operand), *ty)
        })
    }

    fn same(&self, found: Scalar, wanted: Scalar) -> Check {
        if found == wanted { Ok(()) } else { Err(format!("{found} where {wanted} belongs")) }
    }

    fn set(&mut self, Local(i): Local) -> Check {
        match self.set.get_mut(i as usize) {
            Some(state) if *state == State::Unset => {
                *state = State::InScope;
                Ok(())
            }
            _ => Err(format!("%{i} is set twice, or is no local")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::{LocalInfo, Op};
    use lm::term::{FunName, Span};

    /// A function of one Float with a Bool and a Float for locals.
    fn violation(stmts: Vec<Stmt>, result: Operand) -> String {
        let local = |ty| LocalInfo { ty, name: None };
        let function = Function {
            name: FunName::base("f"),
            locals: vec![local(Scalar::Float), local(Scalar::Bool), local(Scalar::Float)],
            params: vec![Local(0)],
            results: vec![Scalar::Float],
            body: Block { stmts, results: vec![result] },
            recursive: false,
            span: Span::default(),
        };
        verify(&Module { functions: vec![function] }).err().unwrap_or_default()
    }

    fn local(i: u32) -> Operand {
        Operand::Local(Local(i))
    }

    #[test]
    fn violations_are_found() {
        let square = || Stmt::Let(Local(2), Op::MulF, vec![local(0), local(0)]);
        assert_eq!(violation(vec![square()], local(2)), "");
        assert_eq!(violation(vec![], local(2)), "loops of f: %2 is not in scope");
        assert_eq!(violation(vec![square(), square()], local(2)), "loops of f: %2 is set twice, or is no local");
        assert_eq!(violation(vec![], Operand::Bool(true)), "loops of f: bool where float belongs");
        let wrong = Stmt::Let(Local(1), Op::MulF, vec![local(0), local(0)]);
        assert_eq!(violation(vec![wrong], local(0)), "loops of f: float where bool belongs");
        let inner = Block { stmts: vec![square()], results: vec![] };
        let branch = Stmt::If(vec![], Operand::Bool(true), inner, Block::default());
        assert_eq!(violation(vec![branch], local(2)), "loops of f: %2 is not in scope");
        let short = Stmt::Let(Local(2), Op::MulF, vec![local(0)]);
        assert_eq!(violation(vec![short], local(2)), "loops of f: 1 operands for 2 places");
    }
}
