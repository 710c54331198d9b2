//! Uses what types say of sizes: a function has one number for sizes that are equal, and its calls are proved to.
//!
//! ```text
//! f : (Vec n Float) (Vec n Float) -> ..      fun f(#0, v, #2, w) { .. #0 wherever the size of w is meant .. }
//! f(x, y), sizes proved to be equal          call f(..)
//! f(x, y), not proved                        call [unsized f](..), a copy that takes nothing for granted
//! from outside: [checked f](x, y)            eq.i #0 #2; check else SizeMismatch(#0, #2); call f(..)
//! ```
//!
//! Proofs are on the terms that are lowered: what passes and derivations made of a program counts, not what it was.

use super::Worklist;
use super::body::Body;
use super::sink::Sink;
use super::value::{Tensor, Val};
use crate::error::Error;
use crate::ir::{Block, Failure, Function, Local, Op, Operand};
use lm::sizes::{Atom, Check, Place, Polynomial, Relation, Signature, Step};
use lm::term::{Def, Expr, Fun, FunName, Program, Version};

impl Worklist {
    /// Returns the name of the version of a function for arguments from outside.
    pub(super) fn checked(&self, program: &Program, name: &FunName) -> FunName {
        program.defs.get(name).map_or_else(|| name.clone(), |def| self.checked_function(&def.fun).name)
    }

    /// Returns that version.
    pub(super) fn checked_function(&self, fun: &Fun) -> Fun {
        let has_checks = self.sizes.signature(fun).is_some();
        let name = if has_checks { fun.name.version(Version::Checked) } else { fun.name.clone() };
        Fun { name, ..fun.clone() }
    }

    /// Returns the name of the version of a function to call: for arguments of the sizes of its type, or of any sizes.
    pub(super) fn version(&self, fun: &Fun, is_proved: bool) -> FunName {
        let is_any = !is_proved && self.sizes.signature(fun).is_some();
        if is_any { fun.name.version(Version::Unsized) } else { fun.name.clone() }
    }
}

impl<'a> Body<'a> {
    /// Returns the loops of `[checked f]`.
    pub(super) fn lower_checks(def: &'a Def, name: FunName, wanted: &'a mut Worklist) -> Result<Function, Error> {
        let signature = wanted.sizes.signature(&def.fun).expect("a function with checks has a signature");
        let mut body = Body::new(&def.fun.name, wanted, def.body.span());
        let mut args = Vec::new();
        for param in &def.params {
            let value = body.fresh_value(param.ty())?;
            body.bind(param, value.clone());
            args.push(value);
        }
        let params = (0..body.locals.len() as u32).map(Local).collect();
        let terms: Vec<Expr> = def.params.iter().map(Expr::var).collect();
        body.check_sizes(&signature, &terms)?;
        let value = body.lower_call_into(&def.fun, &args, true, &Sink::Own)?;
        let results = body.components(&def.fun.result)?;
        let block = Block { stmts: body.stmts, results: value.flatten() };
        let (span, locals) = (def.body.span(), body.locals);
        Ok(Function { results, c_wrapper: true, ..Function::new(name, params, locals, block, span) })
    }
}

impl Body<'_> {
    /// Gives the parameters one number for sizes that are equal.
    pub(super) fn unite_sizes(&mut self, def: &Def, signature: &Signature) -> Result<(), Error> {
        let args: Vec<Expr> = def.params.iter().map(Expr::var).collect();
        let mut united = Vec::new();
        for relation in signature.relations() {
            let Relation::Equal(place, size) = relation else { continue };
            if place.is_size() {
                let number = self.lower_value(&signature.size_term(size, &args))?.leaf();
                united.push((place, number));
            }
        }
        for (place, number) in united {
            let param = &def.params[place.param];
            let value = with_size(&self.variable(param), place, &place.path, number);
            self.bind(param, value);
        }
        Ok(())
    }

    /// Gives the result of a call the sizes that its type says, of those of the arguments, if they are proved.
    pub(super) fn with_sizes_of_type(&mut self, fun: &Fun, args: &[Val], is_proved: bool, value: Val) -> Val {
        let sizes = self.wanted.sizes.clone();
        let signature = sizes.result(fun).filter(|_| is_proved);
        let Some(signature) = signature else { return value };
        let is_one = |size: &Polynomial| {
            size.atoms().all(|atom| match atom {
                Atom::Variable(name) => signature.number(name).is_some_and(|(place, _)| place.is_one()),
                Atom::Number(..) => false,
            })
        };
        let sizes = signature.sizes_of_result().into_iter().filter(|(_, size)| is_one(size));
        sizes.fold(value, |value, (place, size)| {
            let number = self.size_number(&signature, &size, None, args);
            with_size(&value, &place, &place.path, number)
        })
    }

    /// Returns a polynomial of size variables, told by the arguments; `here` is the number at the place that tells one.
    fn size_number(
        &mut self,
        signature: &Signature,
        size: &Polynomial,
        here: Option<&Operand>,
        args: &[Val],
    ) -> Operand {
        let mut sum: Option<Operand> = None;
        for (product, k) in size.terms() {
            let mut term: Option<Operand> = (k != 1 || product.is_empty()).then_some(Operand::Integer(k));
            for atom in product {
                let factor = match atom {
                    Atom::Number(..) => here.expect("only the number of a variable is told by its place").clone(),
                    Atom::Variable(name) => {
                        let (place, number) = signature.number(name).expect("arguments tell the size variables");
                        let there = number_at(&args[place.param], place, &place.path);
                        self.size_number(signature, number, Some(&there), args)
                    }
                };
                term = Some(term.map_or(factor.clone(), |term| self.op(Op::MulI, [term, factor])));
            }
            let term = term.expect("a product has a factor");
            sum = Some(sum.map_or(term.clone(), |sum| self.op(Op::AddI, [sum, term])));
        }
        sum.unwrap_or(Operand::Integer(0))
    }

    /// Checks that the arguments have the sizes of a signature.
    pub(super) fn check_sizes(&mut self, signature: &Signature, args: &[Expr]) -> Result<(), Error> {
        let mut supply = self.wanted.supply.clone();
        let checks = signature.checks(args, &mut supply);
        self.wanted.supply = supply;
        for check in checks {
            match check {
                Check::Equal(a, b) => {
                    let numbers = [self.lower_value(&a)?.leaf(), self.lower_value(&b)?.leaf()];
                    let equal = self.op(Op::EqI, numbers.clone());
                    self.check(equal, Failure::SizeMismatch, numbers);
                }
                Check::Natural(n) => {
                    let n = self.lower_value(&n)?.leaf();
                    let is_natural = self.op(Op::LeI, [Operand::Integer(0), n.clone()]);
                    self.check(is_natural, Failure::NegativeSize, [n]);
                }
                Check::Below(k, n) => {
                    let numbers = [self.lower_value(&k)?.leaf(), self.lower_value(&n)?.leaf()];
                    let below = self.op(Op::Below, numbers.clone());
                    self.check(below, Failure::IndexOutOfRange, numbers);
                }
                Check::Holds(condition) => {
                    let condition = self.lower_value(&condition)?.leaf();
                    self.check(condition, Failure::AssertFailed, []);
                }
            }
        }
        Ok(())
    }
}

fn with_size(value: &Val, place: &Place, path: &[Step], number: Operand) -> Val {
    match (path, value) {
        ([Step::Part(i, _), rest @ ..], Val::Tuple(parts)) => {
            let part = |(k, part): (usize, &Val)| match k + 1 == *i {
                true => with_size(part, place, rest, number.clone()),
                false => part.clone(),
            };
            Val::tuple(parts.iter().enumerate().map(part).collect::<Vec<_>>())
        }
        ([], Val::Tensor(tensor)) => {
            let mut tensor: Tensor = (**tensor).clone();
            tensor.sizes[place.dimension.expect("a tensor has dimensions").0] = number;
            tensor.val()
        }
        _ => panic!("a value has not the form of its type"),
    }
}

fn number_at(value: &Val, place: &Place, path: &[Step]) -> Operand {
    match (path, value, place.dimension) {
        ([Step::Part(i, _), rest @ ..], Val::Tuple(parts), _) => number_at(&parts[i - 1], place, rest),
        ([], Val::Tensor(tensor), Some((d, _))) => tensor.sizes[d].clone(),
        ([], Val::Leaf(number), None) => number.clone(),
        _ => panic!("a value has not the form of its type"),
    }
}
