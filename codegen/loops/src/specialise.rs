//! Replaces arguments of entries, and sizes in them, by numbers that are known before the call.
//!
//! ```text
//! n=10              the Integer n; t.2=10 is the second component of a tuple t
//! v.size=10         the size of a vector; m.size.2=10 the second one of a tensor of more dimensions
//! rows.each.size=10 the size of each vector in a vector of vectors
//!
//! fun f(n, s, v) { s }     =     fun f(n, s, v) { c = eq.i n 10; check c else NotSpecialised(n, 10); s[n := 10] }
//! ```
//!
//! An entry checks what it was compiled for, and goes on with the numbers, so that passes see them. Derivatives take
//! the arguments of their function first, and know the same of them.

use crate::error::Error;
use crate::ir::{Block, Failure, For, Function, Local, LocalInfo, Memory, Module, Op, Operand, Scalar, Stmt, Ty};
use crate::layout::components;
use lm::term::{Def, Derivative, FunName, Program};
use lm::types::Type;
use std::str::FromStr;

/// Says that a parameter, or a size in one, is a known number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The name of the parameter.
    pub parameter: String,
    /// The part of the parameter, as a path.
    pub path: Vec<String>,
    /// The number.
    pub value: i64,
}

impl FromStr for Known {
    type Err = String;

    /// Reads `PATH=NUMBER`.
    fn from_str(text: &str) -> Result<Known, String> {
        let wrong = || format!("`{text}` does not say what is which number, as `n=10` or `v.size=10` do");
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = value.trim().parse().map_err(|_| wrong())?;
        let mut path = path.trim().split('.').map(str::to_string);
        let parameter = path.next().filter(|name| !name.is_empty()).ok_or_else(wrong)?;
        let known = Known { parameter, path: path.collect(), value };
        if known.path.iter().any(|part| part == "size") && value < 0 {
            return Err(format!("`{text}` says that a size is less than 0"));
        }
        Ok(known)
    }
}

impl Known {
    /// Returns what is known, as it is written.
    pub fn place(&self) -> String {
        [&self.parameter].into_iter().chain(&self.path).cloned().collect::<Vec<_>>().join(".")
    }
}

/// A number among the components of the parameters, or all elements of one of them.
enum NumberPart {
    Number(usize),
    Sizes { count: usize, buffer: usize },
}

/// Tells the entries what is known of their arguments.
///
/// Errors: no entry has such a parameter; there is no such number in it, or it is to be two.
pub fn specialise(module: &mut Module, program: &Program, entries: &[FunName], all: &[Known]) -> Result<(), Error> {
    check(program, entries, all)?;
    for known in all {
        for (name, id) in entries.iter().zip(module.exported.clone()) {
            if let Some(part) = part_of(program, name, known)? {
                tell(&mut module.functions[id.0], &part, known.value);
            }
        }
    }
    Ok(())
}

/// Checks that what is known of the arguments of entries is about numbers that they have.
///
/// Errors: no entry has such a parameter; there is no such number in it, or it is to be two.
pub fn check(program: &Program, entries: &[FunName], all: &[Known]) -> Result<(), Error> {
    check_by(all, |known| entries.iter().map(|name| part_of(program, name, known)).collect())
}

/// Checks that what is known is about numbers of entries, of their own parameters or of those of the functions that they
/// are derivatives of.
///
/// Errors: as those of [`check`].
pub fn check_own(program: &Program, entries: &[FunName], all: &[Known]) -> Result<(), Error> {
    check_by(all, |known| {
        let of = |name: &FunName| match part_of(program, name, known)? {
            None => program.defs.get(name).map_or(Ok(None), |def| part(def, known)),
            some => Ok(some),
        };
        entries.iter().map(of).collect()
    })
}

fn check_by(all: &[Known], parts: impl Fn(&Known) -> Result<Vec<Option<NumberPart>>, Error>) -> Result<(), Error> {
    for (i, known) in all.iter().enumerate() {
        let is_other = |other: &&Known| other.parameter == known.parameter && other.path == known.path;
        if let Some(other) = all[..i].iter().find(is_other).filter(|other| other.value != known.value) {
            let values = [other.value, known.value];
            return Err(Error::TwoNumbers { path: known.place(), values });
        }
        if parts(known)?.iter().all(Option::is_none) {
            return Err(Error::NoParameter(known.parameter.clone()));
        }
    }
    Ok(())
}

fn part_of(program: &Program, name: &FunName, known: &Known) -> Result<Option<NumberPart>, Error> {
    match program.defs.get(&name.as_written()).filter(|_| takes_argument_first(name)) {
        Some(def) => part(def, known),
        None => Ok(None),
    }
}

/// Returns whether a function's first parameters are those of what it is derived of.
fn takes_argument_first(name: &FunName) -> bool {
    name.derivations.iter().all(|derivative| match derivative {
        Derivative::Fwd | Derivative::Rev | Derivative::Jvp | Derivative::Vjp | Derivative::Wrt(_) => true,
        Derivative::Grad | Derivative::Jac | Derivative::Hess | Derivative::Hvp => true,
        Derivative::D
        | Derivative::Dt
        | Derivative::Tupled
        | Derivative::Polymorphic
        | Derivative::PolymorphicR
        | Derivative::Dual
        | Derivative::Shape => false,
        Derivative::SufFwdPass | Derivative::SufRevPass | Derivative::SufRev | Derivative::Cl => false,
        Derivative::JacFwd | Derivative::JacRev => false,
    })
}

fn part(def: &Def, known: &Known) -> Result<Option<NumberPart>, Error> {
    let Some(i) = def.params.iter().position(|x| **x.name() == known.parameter[..]) else { return Ok(None) };
    let before = def.params[..i].iter().map(|x| width(x.ty())).sum();
    let path: Vec<&str> = known.path.iter().map(String::as_str).collect();
    let wrong = || Error::NoNumber { path: known.place(), ty: def.params[i].ty().to_string() };
    find(def.params[i].ty(), &path, before).map(Some).ok_or_else(wrong)
}

fn width(ty: &Type) -> usize {
    components(ty).map_or(0, |components| components.len())
}

fn find(ty: &Type, path: &[&str], at: usize) -> Option<NumberPart> {
    match (ty, path) {
        (Type::Integer, []) => Some(NumberPart::Number(at)),
        (Type::Tuple(parts), [i, rest @ ..]) => {
            let i = i.parse::<usize>().ok()?.checked_sub(1)?;
            let before: usize = parts.iter().take(i).map(width).sum();
            find(parts.get(i)?, rest, at + before)
        }
        (Type::Tensor(1, _), ["size"]) => Some(NumberPart::Number(at)),
        (Type::Tensor(rank, _), ["size", i]) => {
            let i = i.parse::<usize>().ok().filter(|i| (1..=*rank).contains(i))?;
            Some(NumberPart::Number(at + i - 1))
        }
        (Type::Tensor(1, element), ["each", rest @ ..]) => match find(element, rest, at + 1)? {
            NumberPart::Number(i) => Some(NumberPart::Sizes { count: at, buffer: i }),
            NumberPart::Sizes { .. } => None,
        },
        _ => None,
    }
}

/// The check, and the number in place of what was checked.
fn tell(function: &mut Function, part: &NumberPart, value: i64) {
    let mut body = std::mem::take(&mut function.body);
    let mut teller = Teller { function, stmts: vec![] };
    match *part {
        NumberPart::Number(i) => {
            let x = teller.function.params[i];
            teller.check(Operand::Local(x), value);
            replace(&mut body, x, value);
            let sizes = teller.function.extents.iter_mut().flat_map(|(_, sizes)| sizes);
            sizes.filter(|a| a.local() == Some(x)).for_each(|a| *a = Operand::Integer(value));
        }
        NumberPart::Sizes { count, buffer } => {
            let [count, buffer] = [count, buffer].map(|i| teller.function.params[i]);
            teller.check_each(&Operand::Local(count), &Operand::Local(buffer), value);
            teller.function.filled.push((buffer, value));
        }
    }
    let mut stmts = teller.stmts;
    stmts.append(&mut body.stmts);
    function.body = Block { stmts, ..body };
}

fn replace(body: &mut Block, x: Local, value: i64) {
    body.change_operands(&mut |a| {
        if a.local() == Some(x) {
            *a = Operand::Integer(value);
        }
    });
}

struct Teller<'a> {
    function: &'a mut Function,
    stmts: Vec<Stmt>,
}

impl Teller<'_> {
    fn check(&mut self, x: Operand, value: i64) {
        let equal = self.local(Scalar::Bool);
        self.stmts.push(Stmt::Let(equal, Op::EqI, vec![x.clone(), Operand::Integer(value)]));
        self.stmts.push(Stmt::Check {
            condition: Operand::Local(equal),
            failure: Failure::NotSpecialised,
            numbers: vec![x, Operand::Integer(value)],
            span: self.function.span,
        });
    }

    fn check_each(&mut self, count: &Operand, buffer: &Operand, value: i64) {
        let [index, size] = [(); 2].map(|()| self.local(Scalar::Integer));
        // By another name: what is loaded of the buffer itself is known to be the number.
        let other = self.local_of(self.function.ty(buffer));
        self.stmts.push(Stmt::Memory(Memory::View(other, buffer.clone(), Operand::Integer(0))));
        let outer = std::mem::take(&mut self.stmts);
        self.stmts.push(Stmt::Memory(Memory::Load(size, Operand::Local(other), Operand::Local(index))));
        self.check(Operand::Local(size), value);
        let body = Block { stmts: std::mem::replace(&mut self.stmts, outer), results: vec![] };
        let (from, to) = (Operand::Integer(0), count.clone());
        self.stmts.push(Stmt::For(Box::new(For {
            results: vec![],
            index,
            from,
            to,
            carried: vec![],
            body,
            lanes: 1,
            jam: 1,
            on_threads: false,
        })));
    }

    fn local(&mut self, scalar: Scalar) -> Local {
        self.local_of(scalar.ty())
    }

    fn local_of(&mut self, ty: Ty) -> Local {
        self.function.locals.push(LocalInfo::unnamed(ty));
        Local(u32::try_from(self.function.locals.len() - 1).expect("a function has fewer locals"))
    }
}
