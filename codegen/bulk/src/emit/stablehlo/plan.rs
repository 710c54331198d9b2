//! What is known of a function before it is printed: its sizes, its checks, and which nodes it needs.

use crate::interp::Closed;
use crate::ir::{Block, Failure, Fun, Function, Id, Op, Scalar};
use crate::refusal::{Reason, Refusal};
use lm::term::Constant;
use rustc_hash::FxHashMap;

/// What is known of a function.
pub struct Plan {
    /// Integers and truth values that do not depend on data.
    known: Vec<Option<Constant>>,
    /// The sizes of the nodes that are needed.
    sizes: Vec<Vec<i64>>,
    needed: Vec<bool>,
    /// The parts of conditionals and loops that are read: the number of each, and its node.
    parts: FxHashMap<Id, Vec<(usize, Id)>>,
}

impl Plan {
    /// Returns what is known of a function.
    ///
    /// Errors: a size is unknown, or two sizes that must be one are known to differ.
    pub fn new(function: &Function) -> Result<Plan, Refusal> {
        let mut closed = Closed::new(function);
        infer(function, &mut closed);
        let count = function.nodes.len();
        let mut plan = Plan {
            known: vec![None; count],
            sizes: vec![Vec::new(); count],
            needed: vec![false; count],
            parts: FxHashMap::default(),
        };
        for (k, node) in function.nodes.iter().enumerate() {
            if node.dims.is_empty() && node.scalar != Scalar::Float && !matches!(node.op, Op::Check(_)) {
                plan.known[k] = closed.number(Id(k as u32));
            }
        }
        inputs_known(function, &plan)?;
        check_sizes(function, &plan, &function.body)?;
        plan.need_block(function, &function.body);
        for (k, node) in function.nodes.iter().enumerate() {
            if let Op::Part(part) = node.op
                && plan.needed[k]
            {
                plan.parts.entry(node.args[0]).or_default().push((part, Id(k as u32)));
            }
            if plan.needed[k] || matches!(node.op, Op::Input(_)) {
                let sizes = node.dims.iter().map(|&size| plan.size(function, size, Id(k as u32)));
                plan.sizes[k] = sizes.collect::<Result<_, _>>()?;
            }
        }
        Ok(plan)
    }

    /// Returns the number that a node is, if it does not depend on data.
    pub fn known(&self, id: Id) -> Option<&Constant> {
        self.known[id.index()].as_ref()
    }

    /// Returns the Integer that a node is, if it does not depend on data.
    pub fn integer(&self, id: Id) -> Option<i64> {
        match self.known(id) {
            Some(Constant::Integer(n)) => Some(*n),
            _ => None,
        }
    }

    /// Returns whether a node is known to be true.
    pub fn is_true(&self, id: Id) -> bool {
        self.known(id) == Some(&Constant::Bool(true))
    }

    /// Returns the sizes of a node that is needed.
    pub fn sizes(&self, id: Id) -> &[i64] {
        &self.sizes[id.index()]
    }

    /// Returns whether a node has text.
    pub fn is_needed(&self, id: Id) -> bool {
        self.needed[id.index()]
    }

    /// Returns the parts of a conditional or a loop that are read: the number of each, and its node.
    pub fn parts(&self, id: Id) -> Vec<(usize, Id)> {
        let mut parts = self.parts.get(&id).cloned().unwrap_or_default();
        parts.sort_unstable();
        parts
    }

    /// Returns whether a check in a block may fail.
    pub fn may_fail(&self, function: &Function, block: &Block) -> bool {
        block.nodes.iter().any(|&id| match &function.node(id).op {
            Op::Check(_) => !self.is_true(function.node(id).args[0]),
            _ => function.blocks(id).iter().any(|block| self.may_fail(function, block)),
        })
    }

    fn size(&self, function: &Function, size: Id, of: Id) -> Result<i64, Refusal> {
        let span = function.node(of).span;
        let refuse = |reason, what| Err(Refusal { reason, function: function.name.to_string(), what, span });
        match self.integer(size) {
            Some(n) if n >= 0 => Ok(n),
            Some(n) => refuse(Reason::Size, format!("a size is {n}")),
            None => refuse(Reason::UnknownSize, unknown(function, size)),
        }
    }

    fn need_block(&mut self, function: &Function, block: &Block) {
        block.results.iter().for_each(|&id| self.need(function, id));
        self.need_checks(function, block);
    }

    /// Marks what the checks of a block need.
    fn need_checks(&mut self, function: &Function, block: &Block) {
        for &id in &block.nodes {
            let node = function.node(id);
            match &node.op {
                Op::Check(_) if !self.is_true(node.args[0]) => self.need(function, id),
                Op::If(_) | Op::Loop(_) if function.blocks(id).iter().any(|inner| self.may_fail(function, inner)) => {
                    self.need(function, id);
                }
                _ => {}
            }
        }
    }

    fn need(&mut self, function: &Function, id: Id) {
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if self.known[id.index()].is_some() || std::mem::replace(&mut self.needed[id.index()], true) {
                continue;
            }
            let node = function.node(id);
            todo.extend(&node.args);
            match &node.op {
                // What is not read is left out: a value that is kept costs a store in each step.
                Op::Part(k) => todo.extend(function.blocks(node.args[0]).iter().map(|block| block.results[*k])),
                Op::If(blocks) => blocks.iter().for_each(|block| self.need_checks(function, block)),
                Op::Loop(block) => {
                    let states = node.args.len() - 1;
                    todo.extend(block.results[..states].iter().chain(&block.parameters));
                    self.need_checks(function, block);
                }
                _ => {}
            }
        }
    }
}

/// Learns sizes of inputs from checks: an array that must have a known size has it, or the function fails.
fn infer(function: &Function, closed: &mut Closed) {
    let checks = function.body.nodes.iter().map(|&id| function.node(id));
    let pairs: Vec<[Id; 2]> = checks
        .filter(|node| matches!(node.op, Op::Check(Failure::Size | Failure::Specialised)))
        .map(|node| function.node(node.args[0]))
        .filter(|equal| matches!(equal.op, Op::Each(Fun::Eq)))
        .map(|equal| [equal.args[0], equal.args[1]])
        .collect();
    loop {
        let found = pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).find_map(|[a, b]| {
            let is_open = matches!(function.node(a).op, Op::InputSize(..)) && closed.size(a).is_none();
            closed.size(b).filter(|_| is_open).map(|n| (a, n))
        });
        match found {
            Some((size, n)) => closed.set(size, n),
            None => return,
        }
    }
}

/// Errors: a size of an input is unknown.
fn inputs_known(function: &Function, plan: &Plan) -> Result<(), Refusal> {
    let inputs = function.inputs.iter().zip(&function.paths);
    let sizes = inputs.flat_map(|(&id, path)| function.node(id).dims.iter().copied().zip(&path.sizes));
    let mut unknown: Vec<String> = Vec::new();
    for (_, path) in sizes.filter(|&(size, _)| plan.integer(size).is_none()) {
        if !unknown.contains(path) {
            unknown.push(path.clone());
        }
    }
    match unknown.is_empty() {
        true => Ok(()),
        false => {
            let what = missing(&unknown);
            Err(Refusal {
                reason: Reason::UnknownSize,
                function: function.name.to_string(),
                what,
                span: Default::default(),
            })
        }
    }
}

/// Says which numbers to give.
fn missing(paths: &[String]) -> String {
    let numbers: Vec<String> = paths.iter().map(|path| format!("{path}=..")).collect();
    let (which, are) = if paths.len() == 1 { ("a size", "is") } else { ("sizes", "are") };
    format!("{which} {are} unknown, and StableHLO takes known sizes: add `--specialise {}`", numbers.join(","))
}

/// Errors: two sizes that must be one differ, or a size is negative.
fn check_sizes(function: &Function, plan: &Plan, block: &Block) -> Result<(), Refusal> {
    for &id in &block.nodes {
        let node = function.node(id);
        if let Op::Check(failure @ (Failure::Size | Failure::NegativeSize)) = &node.op
            && plan.known(node.args[0]) == Some(&Constant::Bool(false))
        {
            let condition = function.node(node.args[0]);
            let sizes: Vec<i64> = condition.args.iter().filter_map(|&size| plan.integer(size)).collect();
            let what = match (failure, sizes.as_slice()) {
                (Failure::Size, [n, m]) => format!("sizes that must be equal are {n} and {m}"),
                _ => failure.message().to_string(),
            };
            let function = function.name.to_string();
            return Err(Refusal { reason: Reason::Size, function, what, span: node.span });
        }
        function.blocks(id).iter().try_for_each(|inner| check_sizes(function, plan, inner))?;
    }
    Ok(())
}

/// Says what a size depends on.
fn unknown(function: &Function, size: Id) -> String {
    let mut todo = vec![size];
    let mut seen = vec![false; function.nodes.len()];
    let mut options = Vec::new();
    let mut is_of_data = false;
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let node = function.node(id);
        match &node.op {
            Op::InputSize(k, axis) => options.push(function.paths[*k].sizes[*axis].clone()),
            Op::Input(k) if node.dims.is_empty() && node.scalar == Scalar::Integer => {
                options.push(function.paths[*k].number.clone());
            }
            Op::Each(_) | Op::Constant(_) | Op::Spread(_) | Op::Iota => todo.extend(node.args.iter().chain(&node.dims)),
            _ => is_of_data = true,
        }
    }
    options.sort();
    options.dedup();
    match options.is_empty() || is_of_data {
        true => "a size depends on data, and StableHLO takes known sizes".into(),
        false => missing(&options),
    }
}
