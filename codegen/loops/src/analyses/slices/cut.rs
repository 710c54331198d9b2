//! Cuts slices out of functions, once it is known which statements stay.

use super::Query;
use super::facts::SliceFacts;
use super::needs::Needs;
use crate::ir::{Block, For, FunId, Function, Module, Operand, Stmt};
use lm::term::Version;
use rustc_hash::FxHashMap;

/// The slices that are made so far.
pub(super) struct Cut<'a> {
    needs: Needs<'a>,
    /// All functions, then the slices.
    pub(super) module: Module,
    /// For each slice, the function that it was cut out of.
    pub(super) origins: FxHashMap<usize, usize>,
    /// The slice of each function that has one.
    slices: FxHashMap<usize, usize>,
}

impl<'a> Cut<'a> {
    pub(super) fn new(module: &Module, needs: Needs<'a>) -> Cut<'a> {
        Cut { needs, module: module.clone(), origins: FxHashMap::default(), slices: FxHashMap::default() }
    }

    /// The slice of a function that is called from outside.
    pub(super) fn query(&mut self, functions: &[Function], function: FunId) -> Query {
        let slice = self.cut_function(functions, function.0);
        Query { function: FunId(slice), params: self.kept_params(&functions[function.0], function.0), touches: false }
    }

    fn cut_function(&mut self, functions: &[Function], i: usize) -> usize {
        if let Some(slice) = self.slices.get(&i) {
            return *slice;
        }
        let function = &functions[i];
        let slice = self.module.functions.len();
        // Its number is known to its callees, which may call it.
        self.module.functions.push(Function { body: Block::default(), ..function.clone() });
        self.slices.insert(i, slice);
        self.origins.insert(slice, i);
        let facts = self.needs.facts(i);
        let mut body = cut_block(&function.body, facts);
        body.results = chosen(&function.body.results, facts.results());
        let params = self.kept_params(function, i).into_iter().map(|p| function.params[p]).collect();
        let results = chosen(&function.results, facts.results());
        self.redirect_calls(functions, &mut body);
        let name = function.name.version(Version::Workspace);
        let (row_sizes, extents, alike, of_cotangents, filled) = (vec![], vec![], vec![], vec![], vec![]);
        self.module.functions[slice] = Function {
            name,
            params,
            results,
            body,
            row_sizes,
            extents,
            alike,
            of_cotangents,
            filled,
            ..function.clone()
        };
        slice
    }

    fn kept_params(&self, function: &Function, i: usize) -> Vec<usize> {
        let facts = self.needs.facts(i);
        (0..function.params.len()).filter(|p| facts.uses(function.params[*p])).collect()
    }

    /// Makes calls of functions calls of their slices.
    fn redirect_calls(&mut self, functions: &[Function], block: &mut Block) {
        for stmt in &mut block.stmts {
            stmt.blocks_mut().for_each(|inner| self.redirect_calls(functions, inner));
            if let Stmt::Call(xs, callee, args) = stmt {
                let i = callee.0;
                *callee = FunId(self.cut_function(functions, i));
                *xs = chosen(xs, self.needs.facts(i).results());
                *args = self.kept_params(&functions[i], i).into_iter().map(|p| args[p].clone()).collect();
            }
        }
    }
}

/// Returns a block with what stays of it, but its results.
fn cut_block(whole: &Block, facts: &SliceFacts) -> Block {
    let kept = whole.stmts.iter().filter(|stmt| facts.keeps(stmt));
    Block { stmts: kept.map(|stmt| cut_stmt(stmt, facts)).collect(), results: vec![] }
}

fn cut_stmt(stmt: &Stmt, facts: &SliceFacts) -> Stmt {
    match stmt {
        Stmt::If(xs, condition, then, other) => {
            let used: Vec<bool> = xs.iter().map(|x| facts.uses(*x)).collect();
            let [then, other] =
                [then, other].map(|arm| Block { results: chosen(&arm.results, &used), ..cut_block(arm, facts) });
            Stmt::If(chosen(xs, &used), condition.clone(), then, other)
        }
        Stmt::For(looped) => {
            let pairs = looped.carried.iter().zip(&looped.results);
            let used: Vec<bool> = pairs.map(|((y, _), x)| facts.uses(*y) || facts.uses(*x)).collect();
            let body = Block { results: chosen(&looped.body.results, &used), ..cut_block(&looped.body, facts) };
            let (results, carried) = (chosen(&looped.results, &used), chosen(&looped.carried, &used));
            let [from, to]: [Operand; 2] = [looped.from.clone(), looped.to.clone()];
            let (index, lanes, on_threads) = (looped.index, looped.lanes, looped.on_threads);
            Stmt::For(Box::new(For { results, index, from, to, carried, body, lanes, jam: 1, on_threads }))
        }
        stmt => stmt.clone(),
    }
}

fn chosen<T: Clone>(all: &[T], used: &[bool]) -> Vec<T> {
    all.iter().zip(used).filter(|(_, used)| **used).map(|(x, _)| x.clone()).collect()
}
