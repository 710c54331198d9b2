//! The lines of blocks: nodes in order, checks and conditionals.
//!
//! Checks are numbers. Each block takes the number of the first check that failed before it, and gives its own:
//!
//! ```text
//! check c     failed = and (status = 0) (not c);  status = select failed k status
//! ```

use super::{Printer, Ty, Val, operands};
use crate::ir::{Block, Failure, Id, Op};
use lm::term::Constant;
use rustc_hash::FxHashMap;

impl Printer<'_> {
    /// Writes the nodes of a block that are needed.
    pub(super) fn block(&mut self, block: &Block) {
        let function = self.function;
        for &id in &block.nodes {
            if !self.plan.is_needed(id) || self.splat(id).is_some() {
                continue;
            }
            let node = function.node(id);
            self.hint = node.name.as_deref().unwrap_or_default().to_string();
            match &node.op {
                Op::Input(_) | Op::InputSize(..) | Op::Parameter => {}
                Op::Check(failure) => self.check(id, node.args[0], failure),
                Op::If(blocks) => self.conditional(id, node.args[0], blocks),
                Op::Loop(body) => self.repeat(id, &node.args, body),
                Op::Part(k) => {
                    let part = self.parts[&node.args[0]][*k].clone();
                    self.values.insert(id, part.expect("a part that is read is needed"));
                }
                _ => {
                    let value = self.operation(id);
                    self.values.insert(id, value);
                }
            }
        }
    }

    fn operation(&mut self, id: Id) -> Val {
        let node = self.function.node(id);
        let (args, ty) = (&node.args, self.ty(id));
        match &node.op {
            Op::Each(fun) => self.each(*fun, args, &ty),
            Op::Iota => self.assign(format!("stablehlo.iota dim = 0 : {ty}"), ty),
            Op::Spread(axes) => self.spread(args[0], axes, ty),
            Op::Permute(axes) => {
                let of = self.value(args[0]);
                self.transposed(&of, axes)
            }
            Op::Reduce(how, axis) => self.reduce(*how, args[0], *axis, ty),
            Op::Slice(axis) => self.slice(args[0], *axis, args[1], ty),
            Op::Window(axis) => self.window(args[0], *axis, args[1], &ty),
            Op::Reverse(axis) => {
                let of = self.value(args[0]);
                self.assign(format!("stablehlo.reverse {}, dims = [{axis}] : {ty}", of.name), ty)
            }
            Op::At(axis) => self.at(args[0], *axis, args[1], ty),
            Op::Gather(axis) => self.gather(args[0], *axis, &args[1..], ty),
            Op::Scatter => self.scatter(args),
            Op::Stack(axis) => self.stack(args, *axis, ty),
            Op::Concat(axis) => {
                let parts: Vec<Val> = args.iter().map(|&arg| self.value(arg)).collect();
                self.concat(&parts.iter().collect::<Vec<_>>(), *axis, ty)
            }
            Op::Contract(spec) => self.contract(spec, args[0], args[1], ty),
            Op::Input(_)
            | Op::InputSize(..)
            | Op::Parameter
            | Op::Constant(_)
            | Op::If(_)
            | Op::Loop(_)
            | Op::Part(_)
            | Op::Guarded(_)
            | Op::Check(_) => unreachable!("{:?} is no operation on arrays", node.op),
        }
    }

    fn check(&mut self, id: Id, condition: Id, failure: &Failure) {
        let place = (self.place)(self.function.node(id).span);
        let message = match place {
            Some(place) => format!("{place}: {}", failure.message()),
            None => failure.message().to_string(),
        };
        self.checks.push(message);
        self.hint = "check".into();
        let number = self.integer(self.checks.len() as i64);
        let before = self.status();
        let ok = self.value(condition);
        let zero = self.integer(0);
        let status = match self.status {
            None => self.select(&ok, &zero, &number),
            Some(_) => {
                let kept = self.select(&ok, &before, &number);
                let passed = self.compare("EQ", &before, &zero);
                self.select(&passed, &kept, &before)
            }
        };
        self.status = Some(status);
    }

    /// Returns the number of the check that failed so far.
    pub(super) fn status(&mut self) -> Val {
        match &self.status {
            Some(status) => status.clone(),
            None => self.integer(0),
        }
    }

    /// Writes a block as a region, and ends it. Returns the types of its results, with the status if that is asked for.
    fn region(&mut self, block: &Block, needed: &[usize], has_status: bool) -> Vec<Ty> {
        let outer = self.status.clone();
        self.constants.push(FxHashMap::default());
        self.depth += 1;
        self.block(block);
        let mut results: Vec<Val> = needed.iter().map(|&k| self.value(block.results[k])).collect();
        if has_status {
            results.push(self.status());
        }
        self.give(&results);
        self.depth -= 1;
        self.constants.pop();
        self.status = outer;
        results.into_iter().map(|value| value.ty).collect()
    }

    /// Writes the end of a region.
    pub(super) fn give(&mut self, results: &[Val]) {
        let names = operands(&results.iter().collect::<Vec<_>>());
        let types: Vec<String> = results.iter().map(|value| value.ty.to_string()).collect();
        self.line(format!("stablehlo.return {names} : {}", types.join(", ")));
    }

    fn conditional(&mut self, id: Id, condition: Id, blocks: &[Block; 2]) {
        let function = self.function;
        let read: Vec<usize> = self.plan.parts(id).into_iter().map(|(k, _)| k).collect();
        let mut parts: Vec<Option<Val>> = vec![None; blocks[0].results.len()];
        if let Some(Constant::Bool(chosen)) = self.plan.known(condition) {
            let block = &blocks[usize::from(!chosen)];
            self.block(block);
            read.iter().for_each(|&k| parts[k] = Some(self.value(block.results[k])));
            self.parts.insert(id, parts);
            return;
        }
        let has_status = blocks.iter().any(|block| self.plan.may_fail(function, block));
        let condition = self.value(condition);
        let name = self.names.fresh("if");
        let head = std::mem::take(&mut self.text);
        let types = self.region(&blocks[0], &read, has_status);
        let then = std::mem::take(&mut self.text);
        let others = self.region(&blocks[1], &read, has_status);
        let otherwise = std::mem::replace(&mut self.text, head);
        debug_assert_eq!(types, others, "both branches have results of one type");
        let count = types.len();
        self.line(format!("{name}:{count} = \"stablehlo.if\"({}) ({{", condition.name));
        self.text.push_str(&then);
        self.line("}, {");
        self.text.push_str(&otherwise);
        let results: Vec<String> = types.iter().map(Ty::to_string).collect();
        self.line(format!("}}) : (tensor<i1>) -> ({})", results.join(", ")));
        let part = |(k, ty)| Val { name: format!("{name}#{k}"), ty };
        let mut results: Vec<Val> = types.into_iter().enumerate().map(part).collect();
        if has_status {
            self.status = results.pop();
        }
        read.into_iter().zip(results).for_each(|(k, value)| parts[k] = Some(value));
        self.parts.insert(id, parts);
    }
}
