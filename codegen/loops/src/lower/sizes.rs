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
use lm::types::Type;

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
    pub(super) fn with_sizes_of_type(
        &mut self,
        fun: &Fun,
        args: &[Val],
        is_proved: bool,
        value: Val,
    ) -> Result<Val, Error> {
        let sizes = self.wanted.sizes.clone();
        let Some(signature) = sizes.result(fun).filter(|_| is_proved) else { return Ok(value) };
        let is_one = |size: &Polynomial| {
            size.atoms().all(|atom| match atom {
                Atom::Variable(name) => signature.number(name).is_some_and(|(place, _)| place.is_one()),
                Atom::Number(..) => false,
            })
        };
        let terms: Vec<Expr> = fun.params.iter().zip(args).map(|(ty, arg)| self.named(ty, arg)).collect();
        let mut value = value;
        for (place, size) in signature.sizes_of_result().into_iter().filter(|(_, size)| is_one(size)) {
            let number = self.lower_value(&signature.size_term(&size, &terms))?.leaf();
            value = with_size(&value, &place, &place.path, number);
        }
        Ok(value)
    }

    /// Returns a variable for a value, so that terms can mention it.
    fn named(&mut self, ty: &Type, value: &Val) -> Expr {
        let x = self.wanted.supply.fresh("s", ty.clone());
        self.env.insert(x.id(), value.clone());
        Expr::var(&x)
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
                    let [k, n] = [self.lower_value(&k)?.leaf(), self.lower_value(&n)?.leaf()];
                    self.check_below(&k, &n);
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
