//! From bulk programs back to terms: each operation on arrays becomes the loop that defines it.
//!
//! ```text
//! each op a b        = build n (λi. op (index i a) (index i b))
//! reduce a           = build n (λi. sumbuild m (λj. index (i, j) a))
//! gather a e         = build n (λi. if e[i] is in a then index e[i] a else 0)
//! scatter a x e      = a + sumbuild n (λi. if e[i] is in a then $delta_at a e[i] x[i] else 0)
//! contract a b       = build (n, m) (λ(i, j). sumbuild k (λl. index (i, l) a * index (l, j) b))
//! loop n s (λi s. t) = fold (λ(s, i). t) s (build n (λi. i))
//! ```
//!
//! What only says where elements lie has no loop of its own: `spread`, `permute`, `slice`, `reverse`, `at` and `iota` are
//! indices of those who read them. The terms mean what the program means, and `lower` takes them to the same operations.
//! So derivations that have rules for terms have rules for whole arrays.

mod arguments;
mod ops;
mod reading;

use crate::ir::{Block, Failure, Function, Id, Op, Scalar};
use crate::refusal::Refusal;
use lm::prim::Prim;
use lm::term::{Binding, Def, Expr, Pattern, Supply, Var};
use lm::types::Type;
use reading::Reader;
use std::sync::Arc;

/// Returns the definition of a function whose bulk form is given, with loops for the operations of that form. Its
/// parameters and its type are those of `def`, the definition that the form was made of.
///
/// Errors: a part of the value has no arrays, so nothing tells its size.
pub fn raise(function: &Function, def: &Def, supply: &mut Supply) -> Result<Def, Refusal> {
    let mut raising =
        Raising { function, supply, readers: vec![None; function.nodes.len()], uses: uses(function), scopes: vec![] };
    raising.scopes.push(Scope::default());
    raising.arguments(&def.params);
    raising.nodes(&function.body);
    let mut results = function.body.results.iter().copied();
    let body = raising.output(&def.fun.result, &mut results, &[])?;
    let body = raising.close(body);
    Ok(Def::new(def.fun.name.clone(), def.params.clone(), body))
}

/// The way back of one function.
struct Raising<'a> {
    function: &'a Function,
    supply: &'a mut Supply,
    /// How the value of each node is read, by number.
    readers: Vec<Option<Reader>>,
    /// How often each node is read.
    uses: Vec<usize>,
    scopes: Vec<Scope>,
}

/// A block under construction.
#[derive(Default)]
struct Scope {
    bindings: Vec<Binding>,
    /// Bools that are true, or fail.
    checks: Vec<Expr>,
}

impl Raising<'_> {
    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a block is open")
    }

    /// Returns the present block, with a result; its checks come first.
    fn close(&mut self, result: Expr) -> Expr {
        let Scope { bindings, checks } = self.scopes.pop().expect("a block is open");
        let assert = |result, check| Expr::app(lm::term::Op::Assert, vec![check, result]);
        Expr::block(bindings, checks.into_iter().rev().fold(result, assert))
    }

    /// Gives a value a name.
    fn bind(&mut self, name: &str, value: Expr) -> Expr {
        if value.is_atom() {
            return value;
        }
        let x = self.supply.fresh(name, value.ty().clone());
        self.scope().bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs: value });
        Expr::var(&x)
    }

    /// Gives the components of a tuple names; the component, where there is only one.
    fn bind_parts(&mut self, names: &[&str], types: &[Type], value: Expr) -> Vec<Expr> {
        if let [name] = names {
            return vec![self.bind(name, value)];
        }
        let xs: Vec<Var> = names.iter().zip(types).map(|(x, ty)| self.supply.fresh(x, ty.clone())).collect();
        self.scope().bindings.push(Binding { pattern: Pattern::Tuple(xs.clone()), rhs: value });
        xs.iter().map(Expr::var).collect()
    }

    fn nodes(&mut self, block: &Block) {
        block.nodes.iter().for_each(|&id| self.node(id));
    }

    fn node(&mut self, id: Id) {
        let function = self.function;
        let node = function.node(id);
        let name = node.name.as_deref().unwrap_or("t");
        match &node.op {
            // Those are there before the block.
            Op::Input(_) | Op::InputSize(..) | Op::Parameter => {}
            Op::Check(Failure::Size) if self.checks_size(node.args[0]) => {
                let equal = function.node(node.args[0]);
                let [n, m] = [equal.args[0], equal.args[1]].map(|size| self.at(size, &[]));
                let same = Expr::prim(Prim::SameSize, [n.clone(), m]).placed_throughout(node.span);
                // Who reads the size reads it after the check: derivatives do not see other checks.
                let size = self.bind("n", Expr::app(lm::term::Op::Assert, vec![same.clone(), n]));
                self.scope().checks.push(same);
                equal.args.iter().for_each(|&arg| self.set(arg, Reader::array(size.clone(), 0)));
            }
            Op::Check(failure) => {
                let check = self.check(node.args[0], failure).placed_throughout(node.span);
                self.scope().checks.push(check);
            }
            Op::If(blocks) => self.conditional(id, blocks),
            Op::Loop(block) => self.repeat(id, block),
            // The conditional or the loop has set it.
            Op::Part(_) => {}
            _ if self.is_part_of_index(id) => {}
            _ => {
                let value = self.value(id).placed_throughout(node.span);
                let value = self.bind(name, value);
                self.set(id, Reader::array(value, node.dims.len()));
            }
        }
    }

    fn set(&mut self, id: Id, reader: Reader) {
        self.readers[id.index()] = Some(reader);
    }

    /// Returns whether a condition says that two sizes are equal which are made before all loops and conditionals.
    fn checks_size(&self, condition: Id) -> bool {
        let node = self.function.node(condition);
        let is_made = |&id: &Id| self.readers[id.index()].is_some();
        self.scopes.len() == 1
            && node.op == Op::Each(crate::ir::Fun::Eq)
            && node.dims.is_empty()
            && node.args.iter().all(is_made)
    }

    /// Returns the type of an array.
    fn ty(&self, id: Id) -> Type {
        let node = self.function.node(id);
        let element = match node.scalar {
            Scalar::Float => Type::Float,
            Scalar::Integer => Type::Integer,
            Scalar::Bool => Type::Bool,
        };
        match node.dims.len() {
            0 => element,
            rank => Type::Tensor(rank, Arc::new(element)),
        }
    }

    /// Returns a Bool that is true, unless a check fails: then it stops with the error that the check tells.
    fn check(&mut self, ok: Id, failure: &Failure) -> Expr {
        let node = self.function.node(ok).clone();
        let number = |cx: &mut Self, one, other| {
            let ok = cx.at(ok, &[]);
            Expr::conditional(ok, Expr::integer(one), Expr::integer(other))
        };
        match (failure, &node.op) {
            (Failure::Size, Op::Each(crate::ir::Fun::Eq)) => {
                let [n, m] = [node.args[0], node.args[1]].map(|size| self.at(size, &[]));
                Expr::prim(Prim::SameSize, [n, m])
            }
            (Failure::Size | Failure::Specialised, _) => {
                let n = number(self, 1, 0);
                Expr::prim(Prim::SameSize, [n, Expr::integer(1)])
            }
            (Failure::Index, Op::Each(crate::ir::Fun::And)) if self.is_range(&node.args).is_some() => {
                let (k, n) = self.is_range(&node.args).expect("so it says");
                let [k, n] = [k, n].map(|number| self.at(number, &[]));
                Expr::prim(Prim::InRange, [k, n])
            }
            (Failure::Index, _) => {
                let k = number(self, 0, 1);
                Expr::prim(Prim::InRange, [k, Expr::integer(1)])
            }
            (Failure::NegativeSize, _) => {
                let n = number(self, 0, -1);
                let n = Expr::prim(Prim::AsSize, [n]);
                Expr::prim(Prim::Eq, [n, Expr::integer(0)])
            }
            (Failure::Division, _) => {
                let divisor = number(self, 1, 0);
                let one = Expr::prim(Prim::Div, [Expr::integer(1), divisor]);
                Expr::prim(Prim::Eq, [one, Expr::integer(1)])
            }
            (Failure::Assert, _) => self.at(ok, &[]),
        }
    }

    /// Returns k and n of `0 <= k and k < n`, if these are the conditions, and numbers.
    fn is_range(&self, conditions: &[Id]) -> Option<(Id, Id)> {
        let [low, high] = [conditions[0], conditions[1]].map(|id| self.function.node(id));
        let is = |node: &crate::ir::Node, fun| node.op == Op::Each(fun) && node.dims.is_empty();
        let begins = is(low, crate::ir::Fun::Lte) && self.function.number(low.args[0]) == Some(0);
        (begins && is(high, crate::ir::Fun::Lt) && low.args[1] == high.args[0]).then(|| (high.args[0], high.args[1]))
    }

    /// Sets the parts of a conditional.
    fn conditional(&mut self, id: Id, blocks: &[Block; 2]) {
        let condition = self.at(self.function.node(id).args[0], &[]);
        let [then, other] = [0, 1].map(|side: usize| {
            self.scopes.push(Scope::default());
            self.nodes(&blocks[side]);
            let results = blocks[side].results.iter().map(|&result| self.whole(result)).collect();
            self.close(tuple_or_one(results))
        });
        let types: Vec<Type> = blocks[0].results.iter().map(|&result| self.ty(result)).collect();
        let value = Expr::conditional(condition, then, other).placed_throughout(self.function.node(id).span);
        let parts = match types.as_slice() {
            [] => vec![],
            types => self.bind_parts(&vec!["t"; types.len()], types, value),
        };
        let readers = parts.into_iter().zip(&types).map(|(part, ty)| Reader::array(part, reading::rank(ty))).collect();
        self.set_parts(id, readers);
    }

    /// Sets the parts of a conditional or of a loop.
    fn set_parts(&mut self, id: Id, readers: Vec<Reader>) {
        for (part, node) in self.function.nodes.iter().enumerate() {
            if let Op::Part(k) = node.op
                && node.args[0] == id
            {
                self.readers[part] = readers.get(k).cloned();
            }
        }
    }

    /// Sets the parts of a loop: a fold, or a scan where it keeps values.
    fn repeat(&mut self, id: Id, block: &Block) {
        let node = self.function.node(id);
        let (n, starts) = (self.at(node.args[0], &[]), &node.args[1..]);
        if block.results.is_empty() {
            return self.repeated_checks(block, &n);
        }
        let n = self.steps(block, n);
        let kept = &block.results[starts.len()..];
        let start = tuple_or_one(starts.iter().map(|&start| self.whole(start)).collect());
        let i = self.supply.fresh("i", Type::Integer);
        let steps = Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), Expr::var(&i))]);
        let step = self.step(block, starts, start.ty().clone());
        if kept.is_empty() {
            let last = Expr::prim(Prim::Fold, [step, start, steps]).placed_throughout(node.span);
            let readers = self.state(last, starts);
            return self.set_parts(id, readers);
        }
        let states = match starts {
            [] => None,
            _ => {
                let states = Expr::prim(Prim::Scanl, [step, start, steps]).placed_throughout(node.span);
                Some(self.bind("states", states))
            }
        };
        let mut readers = match &states {
            Some(states) => self.state(Expr::prim(Prim::Index, [n.clone(), states.clone()]), starts),
            None => vec![],
        };
        // A state is one of those of the scan; what else is kept is computed again from them.
        let place = |result: Id| {
            let next = block.results[..starts.len()].iter().position(|&next| next == result);
            let before = block.parameters[1..].iter().position(|&state| state == result);
            next.map(|k| (k, true)).or(before.map(|k| (k, false)))
        };
        let others: Vec<Id> = kept.iter().copied().filter(|&result| place(result).is_none()).collect();
        let again = (!others.is_empty()).then(|| self.kept(block, starts, states.as_ref(), n, &others));
        let mut again = again.into_iter().flatten();
        for &result in kept {
            let rank = self.function.node(result).dims.len();
            readers.push(match place(result) {
                Some((k, is_next)) => {
                    let states = states.clone().expect("it has a state");
                    Reader::of_steps(states, is_next, (starts.len() > 1).then_some(k), rank)
                }
                None => again.next().expect("a reader for each"),
            });
        }
        self.set_parts(id, readers);
    }

    /// Raises a loop that only checks sizes which are known before: its checks, if it has steps. Who reads these sizes
    /// reads them after the checks, as nothing reads the loop.
    fn repeated_checks(&mut self, block: &Block, n: &Expr) {
        let any = Expr::prim(Prim::Lt, [Expr::integer(0), n.clone()]);
        for (condition, same) in self.checks_before(block) {
            let same = Expr::conditional(any.clone(), same, Expr::constant(lm::term::Constant::Bool(true)));
            let same = self.bind("same", same);
            self.scope().checks.push(same.clone());
            for &size in &self.function.node(condition).args {
                let is_number = matches!(self.function.node(size).op, Op::Constant(_));
                if !is_number && self.scopes.len() == 1 {
                    let read = self.at(size, &[]);
                    let after = self.bind("n", Expr::app(lm::term::Op::Assert, vec![same.clone(), read]));
                    self.set(size, Reader::array(after, 0));
                }
            }
        }
    }

    /// Returns the number of steps of a loop. Where there are any, it comes after the checks of sizes in the loop that are
    /// known before: it is a number that derivatives use, and they do not see checks.
    fn steps(&mut self, block: &Block, n: Expr) -> Expr {
        let checks = self.checks_before(block).into_iter();
        let checked = checks.fold(n.clone(), |n, (_, same)| Expr::app(lm::term::Op::Assert, vec![same, n]));
        if checked == n {
            return n;
        }
        let any = Expr::prim(Prim::Lt, [Expr::integer(0), n.clone()]);
        self.bind("n", Expr::conditional(any, checked, n))
    }

    /// Returns the conditions that a loop checks of sizes which are known before it, the last first, and Bools that are
    /// true unless they fail.
    fn checks_before(&mut self, block: &Block) -> Vec<(Id, Expr)> {
        let is_before = |id: &Id| !block.nodes.contains(id) && !block.parameters.contains(id);
        let mut checks = vec![];
        for &id in block.nodes.iter().rev() {
            let node = self.function.node(id);
            let Op::Check(Failure::Size) = node.op else { continue };
            let condition = self.function.node(node.args[0]);
            let is_known_before = match condition.op {
                Op::Each(crate::ir::Fun::Eq) => condition.dims.is_empty() && condition.args.iter().all(is_before),
                Op::Constant(_) => true,
                _ => false,
            };
            if is_known_before {
                let span = node.span;
                checks.push((node.args[0], self.check(node.args[0], &Failure::Size).placed_throughout(span)));
            }
        }
        checks
    }

    /// Names the arrays of a state.
    fn state(&mut self, state: Expr, starts: &[Id]) -> Vec<Reader> {
        let types: Vec<Type> = starts.iter().map(|&start| self.ty(start)).collect();
        let parts = match types.as_slice() {
            [] => vec![],
            types => self.bind_parts(&vec!["s"; types.len()], types, state),
        };
        parts.into_iter().zip(&types).map(|(part, ty)| Reader::array(part, reading::rank(ty))).collect()
    }

    /// Returns the function of a step.
    fn step(&mut self, block: &Block, starts: &[Id], state: Type) -> Expr {
        let q = self.supply.fresh("q", Type::tuple([state.clone(), Type::Integer]));
        self.scopes.push(Scope::default());
        let [s, i] = [1, 2].map(|k| Expr::get(k, Expr::var(&q)));
        let i = self.bind("i", i);
        self.set(block.parameters[0], Reader::array(i, 0));
        let parts = self.state(s, starts);
        block.parameters[1..].iter().zip(parts).for_each(|(&parameter, part)| self.set(parameter, part));
        self.nodes(block);
        let next = block.results[..starts.len()].iter().map(|&next| self.whole(next)).collect();
        Expr::lam(q, self.close(tuple_or_one(next)))
    }

    /// Returns what each step keeps beside its state, all steps at once.
    fn kept(&mut self, block: &Block, starts: &[Id], states: Option<&Expr>, n: Expr, others: &[Id]) -> Vec<Reader> {
        let i = self.supply.fresh("i", Type::Integer);
        self.scopes.push(Scope::default());
        self.set(block.parameters[0], Reader::array(Expr::var(&i), 0));
        if let Some(states) = states {
            let parts = self.state(Expr::prim(Prim::Index, [Expr::var(&i), states.clone()]), starts);
            block.parameters[1..].iter().zip(parts).for_each(|(&parameter, part)| self.set(parameter, part));
        }
        self.nodes(block);
        let values = others.iter().map(|&result| self.whole(result)).collect();
        let body = self.close(tuple_or_one(values));
        let stacked = Expr::prim(Prim::Build, [n, Expr::lam(i, body)]);
        let stacked = self.bind("kept", stacked);
        let ranks: Vec<usize> = others.iter().map(|&result| self.function.node(result).dims.len()).collect();
        let part = |k| (others.len() > 1).then_some(k);
        ranks.iter().enumerate().map(|(k, &rank)| Reader::of_steps(stacked.clone(), false, part(k), rank)).collect()
    }
}

/// Returns how often each node is read.
fn uses(function: &Function) -> Vec<usize> {
    let mut uses = vec![0; function.nodes.len()];
    let mut read = |id: &Id| uses[id.index()] += 1;
    function.body.results.iter().for_each(&mut read);
    for (id, node) in function.nodes.iter().enumerate() {
        node.args.iter().chain(&node.dims).for_each(&mut read);
        function.blocks(Id(id as u32)).iter().for_each(|block| block.results.iter().for_each(&mut read));
    }
    uses
}

fn tuple_or_one(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
}
