//! Checks the rules of form. A violation is a bug of the lowering or of a pass.
//!
//! What loops in lanes must keep besides is checked in `analyses::verify`.

use super::{Argument, Block, For, Function, Local, Memory, Module, Operand, Returned, Scalar, Stmt, Ty};

/// Checks that locals are set once and before use, in scope, and that types agree.
///
/// Errors: the first violation, as text for a bug report.
pub fn well_formed(module: &Module) -> Check {
    module.functions.iter().try_for_each(|function| is_well_formed(module, function))
}

/// Checks one function of a module, or one that a function of the module was made into.
///
/// Errors: those of [`well_formed`].
pub fn is_well_formed(module: &Module, function: &Function) -> Check {
    let mut checker = Checker { module, function, set: vec![LocalState::Unset; function.locals.len()] };
    checker.check_function().map_err(|violation| format!("loops of {}: {violation}", function.name))
}

/// A local whose block has ended is out of scope for good, and may not be set again.
#[derive(Clone, Copy, PartialEq)]
enum LocalState {
    Unset,
    InScope,
    OutOfScope,
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    set: Vec<LocalState>,
}

/// The first violation, if there is one.
pub type Check = Result<(), String>;

/// A local that a statement sets, and its type.
type Set = (Local, Ty);

/// An operand, and the type that it should have.
type TypedOperand<'o> = (&'o Operand, Ty);

impl Checker<'_> {
    fn check_function(&mut self) -> Check {
        for &x in &self.function.params {
            self.set(x)?;
        }
        self.check_block(&self.function.body, &self.function.results)
    }

    fn check_block(&mut self, block: &Block, results: &[Ty]) -> Check {
        let mut own = Vec::new();
        for stmt in &block.stmts {
            own.extend(self.check_stmt(stmt)?);
        }
        self.check_operands(&block.results, results)?;
        own.into_iter().for_each(|Local(i)| self.set[i as usize] = LocalState::OutOfScope);
        Ok(())
    }

    /// The locals that the statement sets.
    fn check_stmt(&mut self, stmt: &Stmt) -> Result<Vec<Local>, String> {
        let targets = match stmt {
            Stmt::Let(x, op, args) => {
                let types: Vec<Ty> = op.operands().iter().map(|scalar| scalar.ty()).collect();
                self.check_operands(args, &types)?;
                self.set_targets(&[*x], &[op.result().ty()])?;
                vec![*x]
            }
            Stmt::Call(xs, callee, args) => {
                let callee = self.module.functions.get(callee.0).ok_or("call of no function")?;
                let params: Vec<Ty> = callee.params.iter().map(|x| callee.locals[x.0 as usize].ty).collect();
                self.check_operands(args, &params)?;
                self.set_targets(xs, &callee.results)?;
                xs.clone()
            }
            Stmt::If(xs, condition, then, other) => {
                self.check_operands(std::slice::from_ref(condition), &[Scalar::Bool.ty()])?;
                let types: Vec<Ty> = xs.iter().map(|x| self.function.locals[x.0 as usize].ty).collect();
                self.check_block(then, &types)?;
                self.check_block(other, &types)?;
                self.set_targets(xs, &types)?;
                xs.clone()
            }
            Stmt::Bench { seconds, given, body } => {
                let (xs, given): (Vec<Local>, Vec<Operand>) = given.iter().cloned().unzip();
                let types: Vec<Ty> = xs.iter().map(|x| self.function.locals[x.0 as usize].ty).collect();
                self.check_operands(&given, &types)?;
                self.set_targets(&xs, &types)?;
                let results: Vec<Ty> = body.results.iter().map(|a| self.function.ty(a)).collect();
                self.check_block(body, &results)?;
                xs.iter().for_each(|Local(i)| self.set[*i as usize] = LocalState::OutOfScope);
                self.set_targets(&[*seconds], &[Scalar::Float.ty()])?;
                vec![*seconds]
            }
            Stmt::Check { condition, numbers, .. } => {
                self.check_operands(std::slice::from_ref(condition), &[Scalar::Bool.ty()])?;
                self.check_operands(numbers, &vec![Scalar::Integer.ty(); numbers.len()])?;
                vec![]
            }
            Stmt::External { results, args, .. } => {
                for arg in args {
                    match arg {
                        Argument::Scalar(a) => {
                            self.check_operands(std::slice::from_ref(a), &[self.function.ty(a)])?;
                        }
                        Argument::Tensor(data, sizes) => {
                            self.check_operands(std::slice::from_ref(data), &[self.buffer(data)?])?;
                            self.check_operands(sizes, &vec![Scalar::Integer.ty(); sizes.len()])?;
                        }
                    }
                }
                for result in results {
                    if let Returned::Tensor(data, sizes) = result {
                        self.buffer(&Operand::Local(*data))?;
                        let is_size =
                            |x: &Local| self.check_type(self.function.locals[x.0 as usize].ty, Scalar::Integer.ty());
                        sizes.iter().try_for_each(is_size)?;
                    }
                }
                let results: Vec<Local> = results.iter().flat_map(Returned::locals).collect();
                let types: Vec<Ty> = results.iter().map(|x| self.function.locals[x.0 as usize].ty).collect();
                self.set_targets(&results, &types)?;
                results
            }
            Stmt::Write(value) => {
                self.check_operands(std::slice::from_ref(value), &[self.function.ty(value)])?;
                vec![]
            }
            Stmt::For(looped) => self.check_loop(looped)?,
            Stmt::Memory(memory) => self.check_memory(memory)?.into_iter().collect(),
        };
        Ok(targets)
    }

    fn check_loop(&mut self, looped: &For) -> Result<Vec<Local>, String> {
        let For { results, index, from, to, carried, body, lanes, jam, on_threads } = looped;
        if *on_threads && !(carried.is_empty() && from.same(&Operand::Integer(0))) {
            return Err("a loop on threads carries something, or starts elsewhere than at 0".into());
        }
        if *jam > 1 && (*lanes > 1 || *on_threads) {
            return Err("the iterations of a loop run side by side, and in lanes or on threads".into());
        }
        let integer = Scalar::Integer.ty();
        self.check_operands(&[from.clone(), to.clone()], &[integer; 2])?;
        let (carried, init): (Vec<Local>, Vec<Operand>) = carried.iter().cloned().unzip();
        let types: Vec<Ty> = carried.iter().map(|x| self.function.locals[x.0 as usize].ty).collect();
        self.check_operands(&init, &types)?;
        self.set_targets(&[*index], &[integer])?;
        self.set_targets(&carried, &types)?;
        self.check_block(body, &types)?;
        carried.iter().chain([index]).for_each(|Local(i)| self.set[*i as usize] = LocalState::OutOfScope);
        self.set_targets(results, &types)?;
        Ok(results.clone())
    }

    /// The local that the statement sets.
    fn check_memory(&mut self, memory: &Memory) -> Result<Option<Local>, String> {
        let [integer, mark, boolean] = [Scalar::Integer, Scalar::Mark, Scalar::Bool].map(Scalar::ty);
        let (target, given): (Option<Set>, Vec<TypedOperand>) = match memory {
            Memory::Alloc { buffer, count, .. } | Memory::Stack(buffer, count) => {
                let ty = self.function.locals[buffer.0 as usize].ty;
                self.element(&Operand::Local(*buffer))?;
                (Some((*buffer, ty)), vec![(count, integer)])
            }
            Memory::Zero(b, n) => (None, vec![(b, self.buffer(b)?), (n, integer)]),
            Memory::Load(x, b, i) => (Some((*x, self.element(b)?)), vec![(b, self.buffer(b)?), (i, integer)]),
            Memory::View(x, b, i) => (Some((*x, self.buffer(b)?)), vec![(b, self.buffer(b)?), (i, integer)]),
            Memory::Cast(x, b) => (Some((*x, self.buffer(&Operand::Local(*x))?)), vec![(b, self.buffer(b)?)]),
            Memory::Store(b, i, a) => (None, vec![(b, self.buffer(b)?), (i, integer), (a, self.element(b)?)]),
            Memory::Add(b, i, a) => {
                if !matches!(self.element(b)?.as_scalar(), Some(Scalar::Float | Scalar::Integer)) {
                    return Err(format!("nothing can be added in {}", self.function.ty(b)));
                }
                (None, vec![(b, self.buffer(b)?), (i, integer), (a, self.element(b)?)])
            }
            Memory::Move { to, from, count } => {
                let ty = self.buffer(to)?;
                (None, vec![(to, ty), (from, ty), (count, integer)])
            }
            Memory::Mark(m) => (Some((*m, mark)), vec![]),
            Memory::Release(m) => (None, vec![(m, mark)]),
            Memory::Above(x, b, m) => (Some((*x, boolean)), vec![(b, self.buffer(b)?), (m, mark)]),
            Memory::Before(x, b, c) => (Some((*x, boolean)), vec![(b, self.buffer(b)?), (c, self.buffer(c)?)]),
            Memory::Slide(d, piece, m) => (Some((*d, integer)), vec![(piece, mark), (m, mark)]),
            Memory::Slid { target, buffer, piece, distance } => {
                let ty = self.buffer(buffer)?;
                (Some((*target, ty)), vec![(buffer, ty), (piece, mark), (distance, integer)])
            }
        };
        let (operands, types): (Vec<Operand>, Vec<Ty>) = given.into_iter().map(|(a, ty)| (a.clone(), ty)).unzip();
        self.check_operands(&operands, &types)?;
        target.map_or(Ok(()), |(x, ty)| self.set_targets(&[x], &[ty]))?;
        Ok(target.map(|(x, _)| x))
    }

    fn buffer(&self, operand: &Operand) -> Result<Ty, String> {
        self.element(operand).map(Ty::buffer)
    }

    fn element(&self, operand: &Operand) -> Result<Ty, String> {
        let ty = self.function.ty(operand);
        ty.element().ok_or_else(|| format!("{ty} where a buffer belongs"))
    }

    fn set_targets(&mut self, xs: &[Local], types: &[Ty]) -> Check {
        if xs.len() != types.len() {
            return Err(format!("{} locals for {} values", xs.len(), types.len()));
        }
        xs.iter().zip(types).try_for_each(|(x, ty)| {
            self.set(*x)?;
            self.check_type(*ty, self.function.locals[x.0 as usize].ty)
        })
    }

    fn check_operands(&self, operands: &[Operand], types: &[Ty]) -> Check {
        if operands.len() != types.len() {
            return Err(format!("{} operands for {} places", operands.len(), types.len()));
        }
        operands.iter().zip(types).try_for_each(|(operand, ty)| {
            if let Operand::Local(Local(i)) = operand
                && self.set.get(*i as usize) != Some(&LocalState::InScope)
            {
                return Err(format!("%{i} is not in scope"));
            }
            self.check_type(self.function.ty(operand), *ty)
        })
    }

    fn check_type(&self, found: Ty, wanted: Ty) -> Check {
        if found == wanted { Ok(()) } else { Err(format!("{found} where {wanted} belongs")) }
    }

    fn set(&mut self, Local(i): Local) -> Check {
        match self.set.get_mut(i as usize) {
            Some(state) if *state == LocalState::Unset => {
                *state = LocalState::InScope;
                Ok(())
            }
            _ => Err(format!("%{i} is set twice, or is no local")),
        }
    }
}
