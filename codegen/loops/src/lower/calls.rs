//! Lowers functions and calls.
//!
//! A function whose result is added to something is compiled as a function of its own. It gets the place as another
//! argument: numbers by value, tensors to be changed. It gives the new numbers after its results.

use super::Worklist;
use super::body::Body;
use super::sink::{Accumulator, Sink, SinkForm};
use super::value::Val;
use crate::error::Error;
use crate::ir::{Block, Function, Local, Operand, Stmt, Ty};
use crate::labels::{Label, Labels, Like, View};
use lm::term::{Def, Fun, FunName, Program, Version};
use lm::types::Type;

impl<'a> Body<'a> {
    /// Returns the loops of a definition whose result goes to targets of a form; functions that it calls are added to
    /// `wanted`. `name` tells the version: for the sizes that its type says, or for any.
    pub(super) fn lower_function(
        program: &Program,
        def: &'a Def,
        name: &FunName,
        form: &SinkForm,
        wanted: &mut Worklist,
    ) -> Result<Function, Error> {
        let (span, result) = (def.body.span(), &def.fun.result);
        let signature = wanted.sizes.signature(&def.fun).filter(|_| *name == def.fun.name);
        let proved = wanted.sizes.proved(def, signature.as_ref());
        let mut body = Body::new(&def.fun.name, wanted, span);
        body.proved = proved;
        let mut extents = Vec::new();
        let mut args = Vec::new();
        for param in &def.params {
            let value = body.fresh_value(param.ty())?;
            extents.extend(value.tensors().iter().flat_map(|tensor| tensor.extents()));
            body.bind(param, value.clone());
            args.push(value);
        }
        // With a signature, sizes that are equal are one number anyway.
        let sizes = if signature.is_none() { tangent_sizes(program, def, &args) } else { TangentSizes::default() };
        let mut sums = Vec::new();
        for ty in form.sums(result) {
            let value = body.fresh_value(ty)?;
            sums.push(body.sum_of(&value));
        }
        let params = (0..body.locals.len() as u32).map(Local).collect();
        let mut results = body.components(&form.given_back(result))?;
        let target = form.target(&sums);
        if let Some(signature) = &signature {
            body.unite_sizes(def, signature)?;
        }
        let value = body.scoped(|body| body.lower_into(&def.body, &target, None))?;
        let slots = sums.iter().flat_map(Accumulator::slots).map(|slot| body.slots[slot].clone());
        let block_results: Vec<Operand> = value.flatten().into_iter().chain(slots).collect();
        results.extend(block_results[results.len()..].iter().map(|a| body.ty_of(a)).collect::<Vec<Ty>>());
        let name = if *form == SinkForm::Own {
            name.clone()
        } else {
            name.version(Version::Destinations(form.to_string().into()))
        };
        let block = Block { stmts: body.stmts, results: block_results };
        let locals = body.locals;
        let TangentSizes { alike, of_cotangents } = sizes;
        Ok(Function { results, extents, alike, of_cotangents, ..Function::new(name, params, locals, block, span) })
    }

    /// Calls a function whose result goes to a target; gives what goes back to the caller.
    ///
    /// The function may hold numbers of a place in registers while it adds to another. So what may meet another place
    /// goes back to the caller first. Parts that go to one place are no matter: the function knows.
    /// The sizes of the arguments are those that the type of the function says, if `is_proved`.
    pub(super) fn lower_call_into(
        &mut self,
        fun: &Fun,
        args: &[Val],
        is_proved: bool,
        target: &Sink,
    ) -> Result<Val, Error> {
        if self.wanted.externals.contains(&fun.name) {
            let value = self.lower_external_call(fun, args)?;
            return self.distribute(&value, target);
        }
        let apart = self.apart(target, &mut vec![]);
        let form = apart.form();
        let version = self.wanted.version(fun, is_proved);
        let callee = self.wanted.id(&version, form.clone());
        let (inner, cells) = self.in_slots(&apart);
        let mut operands: Vec<Operand> = args.iter().flat_map(Val::flatten).collect();
        for sum in inner.sums() {
            operands.extend(self.sum_value(&sum).flatten());
        }
        let value = self.fresh_value(&form.given_back(&fun.result))?;
        let mut targets = super::body::targets(&value);
        self.own_buffers(&targets);
        for slot in inner.sums().iter().flat_map(Accumulator::slots) {
            let x = self.local(self.ty_of(&self.slots[slot].clone()));
            targets.push(x);
            self.slots[slot] = Operand::Local(x);
        }
        self.stmts.push(Stmt::Call(targets, callee, operands));
        self.back_from_slots(&cells);
        // What is added to other values has their sizes.
        let is_whole = form == SinkForm::Own;
        let value = if is_whole { self.with_sizes_of_type(fun, args, is_proved, value)? } else { value };
        self.settle(&value, &apart, target)
    }

    /// Returns the target without the places that may meet an earlier one: these parts go back to the caller.
    fn apart(&self, target: &Sink, known: &mut Vec<Accumulator>) -> Sink {
        match target {
            Sink::Own | Sink::Nowhere => target.clone(),
            Sink::Add(sum) if known.iter().any(|other| self.may_meet(sum, other)) => Sink::Own,
            Sink::Add(sum) => {
                known.push(sum.clone());
                target.clone()
            }
            Sink::Parts(parts) => Sink::Parts(parts.iter().map(|part| self.apart(part, known)).collect()),
        }
    }

    /// Adds what went back to the caller, but has a place.
    fn settle(&mut self, value: &Val, apart: &Sink, target: &Sink) -> Result<Val, Error> {
        match (apart, target) {
            (Sink::Own, Sink::Add(_)) => self.distribute(value, target),
            (Sink::Parts(apart), Sink::Parts(parts)) => {
                let parts = value.parts().iter().zip(apart).zip(parts);
                let parts = parts.map(|((value, apart), target)| self.settle(value, apart, target));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            _ => Ok(value.clone()),
        }
    }
}

/// Sizes among the arguments that are those of other values.
#[derive(Default)]
struct TangentSizes {
    /// Sizes of tangents, each with that of its primal.
    alike: Vec<[Local; 2]>,
    /// Sizes of cotangents of the result.
    of_cotangents: Vec<Local>,
}

fn tangent_sizes(program: &Program, def: &Def, args: &[Val]) -> TangentSizes {
    let labels = Labels::of(program, def);
    let mut found = TangentSizes::default();
    for ((label, param), arg) in labels.inputs.iter().zip(&def.params).zip(args) {
        found.add(label, param.ty(), arg, args);
    }
    found
}

impl TangentSizes {
    /// Adds what is in one of the arguments.
    fn add(&mut self, label: &Label, ty: &Type, value: &Val, args: &[Val]) {
        match (label.view(ty), value) {
            (View::Parts(labels, types), Val::Tuple(parts)) => {
                let parts = labels.iter().zip(types).zip(parts.iter());
                parts.for_each(|((label, ty), part)| self.add(label, ty, part, args));
            }
            (View::Leaf(_, Some(Like::Part(path))), value) => {
                let part = |value: Option<Val>, i: &usize| match value {
                    Some(Val::Tuple(parts)) => parts.get(i - 1).cloned(),
                    _ => None,
                };
                let primal = path.iter().fold(Some(Val::Tuple(args.into())), part);
                primal.iter().for_each(|primal| value.sizes_beside(primal, &mut self.alike));
            }
            (View::Leaf(_, Some(Like::Result { .. })), value) => {
                let tensors = value.tensors();
                self.of_cotangents.extend(tensors.iter().flat_map(|tensor| &tensor.sizes).filter_map(Operand::local));
            }
            _ => {}
        }
    }
}
