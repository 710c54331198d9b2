//! The lines of blocks.

use super::printer::{Printer, Term};
use crate::ir::{Block, Failure, Fun, Id, Op, Scalar};
use rustc_hash::FxHashMap;
use std::collections::HashSet;

/// What is known where a block begins.
pub(super) struct Known {
    variables: FxHashMap<Id, String>,
    below: HashSet<(Id, Id)>,
    some: HashSet<Id>,
}

/// A loop as it is printed.
struct Loop<'a> {
    id: Id,
    body: &'a Block,
    /// The number of steps.
    n: String,
    index: String,
    states: Vec<String>,
    starts: Vec<String>,
}

impl Printer<'_, '_> {
    /// Writes the nodes of a block that have lines of their own.
    pub(super) fn block(&mut self, block: &Block) {
        let function = self.function;
        for &id in &block.nodes {
            let node = function.node(id);
            match &node.op {
                Op::Input(_) | Op::InputSize(..) | Op::Parameter | Op::Constant(_) | Op::Spread(_) => {}
                Op::Part(_) => {}
                Op::Check(failure) => self.check(id, node.args[0], failure),
                Op::If(blocks) => self.conditional(id, node.args[0], blocks),
                Op::Loop(body) => self.repeat(id, &node.args, body),
                _ if self.stands_alone(id) => {
                    let term = self.text_of(id);
                    self.assign(id, term);
                }
                _ => {}
            }
        }
    }

    /// Returns whether a node has a line: others read it several times, or in an inner block, or it has a name.
    fn stands_alone(&self, id: Id) -> bool {
        let k = id.index();
        let is_named = self.function.node(id).name.is_some() && !self.is_fixed(id);
        self.uses[k] > 1 || is_named || (self.uses[k] == 1 && self.readers[k] != self.homes[k])
    }

    fn check(&mut self, id: Id, condition: Id, failure: &Failure) {
        let place = (self.module.place)(self.function.node(id).span);
        let message = match place {
            Some(place) => format!("{place}: {}", failure.message()),
            None => failure.message().to_string(),
        };
        if self.is_jax() && !self.is_fixed(condition) {
            self.checks.push(message);
            let (number, ok) = (self.checks.len(), self.term(condition).text);
            return self.line(format!("status = jnp.where((status == 0) & jnp.logical_not({ok}), {number}, status)"));
        }
        let error = match failure {
            Failure::Index => "IndexError",
            Failure::Division => "ZeroDivisionError",
            Failure::Assert => "AssertionError",
            Failure::Size | Failure::NegativeSize | Failure::Specialised => "ValueError",
        };
        let ok = self.term(condition);
        self.line(format!("if not {}:", ok.within(4)));
        self.line(format!("    raise {error}({message:?})"));
        self.learn(condition);
    }

    /// Notes what holds after a check.
    fn learn(&mut self, condition: Id) {
        let node = self.function.node(condition).clone();
        match node.op {
            Op::Each(Fun::And) => node.args.iter().for_each(|&part| self.learn(part)),
            Op::Each(Fun::Lt) => {
                self.below.insert((node.args[0], node.args[1]));
            }
            Op::Each(Fun::Gt) if self.function.number(node.args[1]) == Some(0) => {
                self.some.insert(node.args[0]);
            }
            _ => {}
        }
    }

    /// Returns whether a block, or one in it, has a check whose outcome depends on data.
    pub(super) fn has_status(&self, block: &Block) -> bool {
        self.is_jax()
            && block.nodes.iter().any(|&id| {
                let node = self.function.node(id);
                let is_check = matches!(node.op, Op::Check(_)) && !self.is_fixed(node.args[0]);
                is_check || self.function.blocks(id).iter().any(|block| self.has_status(block))
            })
    }

    /// Names the parts of a node with blocks.
    fn name_parts(&mut self, of: Id, count: usize) -> Vec<String> {
        let function = self.function;
        let mut names: Vec<Option<String>> = vec![None; count];
        for (k, node) in function.nodes.iter().enumerate() {
            if let Op::Part(part) = node.op
                && node.args[0] == of
                && self.uses[k] > 0
            {
                let name = match &node.name {
                    Some(name) => self.names.fresh(name),
                    None => self.names.temporary(),
                };
                self.variables.insert(Id(k as u32), name.clone());
                names[part] = Some(name);
            }
        }
        names.into_iter().map(|name| name.unwrap_or_else(|| "_".into())).collect()
    }

    /// Returns results as they leave a block: whole arrays of their types.
    fn results(&mut self, ids: &[Id]) -> Vec<String> {
        ids.iter().map(|&id| self.exact(id)).collect()
    }

    /// Returns a node as an array of its type and size.
    fn exact(&mut self, id: Id) -> String {
        let whole = self.whole(id);
        let node = self.function.node(id);
        let is_python = self.is_fixed(id) || matches!(node.op, Op::Constant(_));
        match self.is_jax() && is_python {
            true => format!("jnp.asarray({}, dtype={})", whole.text, self.dtype(node.scalar)),
            false => whole.text,
        }
    }

    fn conditional(&mut self, id: Id, condition: Id, blocks: &[Block; 2]) {
        let has_status = blocks.iter().any(|block| self.has_status(block));
        let c = self.term(condition);
        if self.is_jax() && !self.is_fixed(condition) {
            return self.traced_conditional(id, &c, blocks, has_status);
        }
        let names = self.name_parts(id, blocks[0].results.len());
        for (block, head) in blocks.iter().zip([format!("if {}:", c.text), "else:".to_string()]) {
            self.line(head);
            self.depth += 1;
            let known = self.known();
            self.block(block);
            let results = self.results(&block.results);
            match names.is_empty() {
                true => self.line("pass"),
                false => self.line(format!("{} = {}", names.join(", "), results.join(", "))),
            }
            self.forget(known);
            self.depth -= 1;
        }
    }

    /// Returns what is known where a block begins.
    fn known(&self) -> Known {
        Known { variables: self.variables.clone(), below: self.below.clone(), some: self.some.clone() }
    }

    /// Takes back what a block that ends made known.
    fn forget(&mut self, known: Known) {
        (self.variables, self.below, self.some) = (known.variables, known.below, known.some);
    }

    fn traced_conditional(&mut self, id: Id, c: &Term, blocks: &[Block; 2], has_status: bool) {
        let mut functions = Vec::new();
        for block in blocks {
            let name = self.names.fresh("branch");
            self.line(format!("def {name}({}):", if has_status { "status" } else { "" }));
            self.depth += 1;
            let known = self.known();
            self.block(block);
            let mut results = self.results(&block.results);
            if has_status {
                results.insert(0, "status".into());
            }
            self.line(format!("return ({})", tuple(&results)));
            self.forget(known);
            self.depth -= 1;
            functions.push(name);
        }
        let mut names = self.name_parts(id, blocks[0].results.len());
        let mut args = vec![c.text.clone(), functions[0].clone(), functions[1].clone()];
        if has_status {
            names.insert(0, "status".into());
            args.push("status".into());
        }
        self.line(format!("({}) = lax.cond({})", tuple(&names), args.join(", ")));
    }

    fn repeat(&mut self, id: Id, args: &[Id], body: &Block) {
        let n = match self.is_fixed(args[0]) || !self.is_jax() {
            true => self.size(args[0]),
            false => self.term(args[0]).text,
        };
        let starts: Vec<String> = args[1..].iter().map(|&arg| self.exact(arg)).collect();
        let index = self.names.fresh("i");
        let states: Vec<String> = body.parameters[1..].iter().map(|_| self.names.fresh("state")).collect();
        let known = self.known();
        self.variables.insert(body.parameters[0], index.clone());
        for (&parameter, name) in body.parameters[1..].iter().zip(&states) {
            self.variables.insert(parameter, name.clone());
        }
        let each = Loop { id, body, n, index, states, starts };
        match self.is_jax() {
            true => self.scan(&each, self.is_fixed(args[0]), known),
            false => self.for_loop(&each, known),
        }
    }

    fn for_loop(&mut self, each: &Loop, known: Known) {
        let Loop { id, body, n, index, states, starts } = each;
        if !states.is_empty() {
            self.line(format!("{} = {}", states.join(", "), starts.join(", ")));
        }
        let kept: Vec<String> = body.results[states.len()..].iter().map(|_| self.names.fresh("kept")).collect();
        kept.iter().for_each(|kept| self.line(format!("{kept} = []")));
        self.line(format!("for {index} in range({n}):"));
        self.depth += 1;
        self.block(body);
        let results = self.results(&body.results);
        for (kept, value) in kept.iter().zip(&results[states.len()..]) {
            self.line(format!("{kept}.append({value})"));
        }
        match states.is_empty() {
            true => self.line("pass"),
            false => self.line(format!("{} = {}", states.join(", "), results[..states.len()].join(", "))),
        }
        self.depth -= 1;
        self.forget(known);
        let names = self.name_parts(*id, body.results.len());
        for (name, state) in names.iter().zip(states).filter(|(name, _)| *name != "_") {
            self.line(format!("{name} = {state}"));
        }
        for ((name, kept), &result) in names[states.len()..].iter().zip(&kept).zip(&body.results[states.len()..]) {
            if name != "_" {
                // The sizes count where no step was made.
                let node = self.function.node(result);
                let (dims, kind) = (node.dims.clone(), self.dtype(node.scalar));
                let sizes = dims.iter().map(|&size| self.size(size));
                let empty: Vec<String> = std::iter::once("0".to_string()).chain(sizes).collect();
                let empty = format!("np.zeros(({}), dtype={kind})", tuple(&empty));
                self.line(format!("{name} = np.stack({kept}) if {kept} else {empty}"));
            }
        }
    }

    fn scan(&mut self, each: &Loop, is_fixed: bool, known: Known) {
        let Loop { id, body, n, index, states, starts } = each;
        let has_status = self.has_status(body);
        let (mut states, mut starts) = (states.clone(), starts.clone());
        let (step, carry) = (self.names.fresh("step"), self.names.fresh("carry"));
        let count = states.len();
        if has_status {
            states.insert(0, "status".into());
            starts.insert(0, "status".into());
        }
        // A loop whose number of steps depends on data keeps nothing.
        let scans = is_fixed || body.results.len() > count;
        match scans {
            true => self.line(format!("def {step}({carry}, {index}):")),
            false => self.line(format!("def {step}({index}, {carry}):")),
        }
        self.depth += 1;
        self.line(format!("({}) = {carry}", tuple(&states)));
        self.block(body);
        let mut results = self.results(&body.results);
        let kept = results.split_off(count);
        if has_status {
            results.insert(0, "status".into());
        }
        match scans {
            true => self.line(format!("return ({}), ({})", tuple(&results), tuple(&kept))),
            false => self.line(format!("return ({})", tuple(&results))),
        }
        self.depth -= 1;
        self.forget(known);
        let names = self.name_parts(*id, body.results.len());
        let (mut last, kept) = (names[..count].to_vec(), &names[count..]);
        if has_status {
            last.insert(0, "status".into());
        }
        let kept = if kept.iter().all(|name| name == "_") { "_".to_string() } else { format!("({})", tuple(kept)) };
        let (last, starts) = (tuple(&last), tuple(&starts));
        match scans {
            true => self.line(format!("({last}), {kept} = lax.scan({step}, ({starts}), jnp.arange({n}))")),
            false => self.line(format!("({last}) = lax.fori_loop(0, {n}, {step}, ({starts}))")),
        }
    }
}

/// Returns the inside of a tuple.
pub(super) fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => format!("{one},"),
        several => several.join(", "),
    }
}

/// Returns whether arrays of a type have tangents.
pub(super) fn is_float(scalar: Scalar) -> bool {
    scalar == Scalar::Float
}
