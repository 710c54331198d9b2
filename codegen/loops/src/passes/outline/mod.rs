//! Makes one function of nests of loops that are equal but for the names of locals.
//!
//! ```text
//! for i in 0..n { s }  ..  for j in 0..m { s[i := j, n := m, x := y] }
//!                                  =  call g(n, x)  ..  call g(m, y)      with  fun g(n, x) { for i in 0..n { s } }
//! ```
//!
//! A program multiplies matrices in many places. Once the product is inlined, each place has the same loops, and LLVM
//! would take its time for each of them. This pass is the last one: the others see a loop with all that is around it.
//!
//! Places may differ in which of their numbers are one: a product of square matrices is a product. The function takes
//! those apart that are apart in one of the places.
//!
//! Afterwards, what loops on threads do in a chunk may be what others do without threads, and the rows before one row
//! what is done for those behind it. So a second round looks into chunks, and takes bounds and first values for
//! parameters where places differ in them.
//!
//! How a loop is divided into chunks goes with it: the statement with `chunk`, and what only that uses.
//!
//! A nest stays where it is if it calls, and if a buffer that it writes to may share memory with another one of it:
//! parameters do not. Of a nest that is alone, the nests in it are looked at if a call more is nothing to it: if it takes
//! memory, say.

mod nests;
mod shape;

use super::pass::ModuleCx;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::verify::at_once_in;
use crate::ir::{Block, FunId, Function, Local, LocalInfo, Module, Operand, Stmt};
use lm::term::Version;
use nests::collect;
use rustc_hash::FxHashMap;
use shape::{OUTER, Place, Shape, parameters};

/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Nests, those on threads as a whole.
    Whole,
    /// Nests without threads, and what chunks do: places may differ in where the loop starts and ends, and in what it
    /// starts with.
    Inside,
}

pub(super) fn run(cx: &mut ModuleCx) {
    let mut number = 0;
    for round in [Round::Whole, Round::Inside] {
        outline(cx, round, &mut number);
        // A nest in one that is called is not, itself.
        cx.module.drop_unused();
        cx.module.mark();
    }
}

fn outline(cx: &mut ModuleCx, round: Round, number: &mut usize) {
    let places = collect(cx, round);
    let mut calls: FxHashMap<(FunId, Local), Vec<Stmt>> = FxHashMap::default();
    for (shape, places) in places.iter().filter(|(_, places)| places.len() > 1) {
        let (same, parameters): (Vec<_>, Vec<_>) = parameters(places).into_iter().partition(|group| {
            let first = &places[0].outer[group[0]];
            first.local().is_none() && places.iter().all(|place| place.outer[group[0]].same(first))
        });
        let function = outlined(cx.module, shape, &places[0], &parameters, &same, *number + 1);
        // Less is known of parameters than of what was made in a place.
        if at_once_in(cx.module, &function, &FunctionEffects::default()).is_err() {
            continue;
        }
        let id = FunId(cx.module.functions.len());
        cx.module.functions.push(function);
        *number += 1;
        for place in places {
            let args = parameters.iter().map(|group| place.outer[group[0]].clone()).collect();
            let call = Stmt::Call(place.results.clone(), id, args);
            calls.insert((place.function, place.index), vec![call]);
            calls.extend(place.division.iter().map(|x| ((place.function, *x), vec![])));
        }
    }
    for (i, function) in cx.module.functions.iter_mut().enumerate() {
        replace(&mut function.body, &mut |x| calls.remove(&(FunId(i), x)));
    }
}

/// Makes the function; the names for people are those of one place. Numbers that are the same constant in all places
/// are that.
fn outlined(
    module: &Module,
    shape: &Shape,
    place: &Place,
    parameters: &[Vec<usize>],
    same: &[Vec<usize>],
    number: usize,
) -> Function {
    let of = &module.functions[place.function.0];
    let parameter = |group: &Vec<usize>| {
        let name = place.outer[group[0]].local().and_then(|x| of.locals[x.0 as usize].name.clone());
        let is_size = group.iter().any(|number| shape.outer[*number].is_size);
        LocalInfo { ty: shape.outer[group[0]].ty, name, is_size }
    };
    let mut locals: Vec<LocalInfo> = parameters.iter().map(parameter).collect();
    let inner: Vec<LocalInfo> = place.inner.iter().map(|x| of.locals[x.0 as usize].clone()).collect();
    let mut given: FxHashMap<Local, Operand> = FxHashMap::default();
    for (i, group) in parameters.iter().enumerate() {
        given.extend(group.iter().map(|number| (outer(*number), Operand::Local(Local(i as u32)))));
    }
    for group in same {
        given.extend(group.iter().map(|number| (outer(*number), place.outer[*number].clone())));
    }
    let looped = shape.stmts.last().expect("there is the loop");
    let results = looped.targets().into_iter().map(Operand::Local).collect();
    let nest = Block { stmts: shape.stmts.clone(), results };
    let body = nest.copy_from(&inner, &mut locals, given);
    let params = (0..parameters.len() as u32).map(Local).collect();
    let name = of.name.version(Version::Loops(number));
    Function { cold: shape.cold, ..Function::new(name, params, locals, body, of.span) }
}

fn outer(number: usize) -> Local {
    Local(OUTER + number as u32)
}

/// Puts calls in the places of loops, by their indices, and nothing in those of statements that go with them, by what
/// they set.
fn replace(block: &mut Block, new: &mut impl FnMut(Local) -> Option<Vec<Stmt>>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        let name = if let Stmt::For(looped) = &stmt { Some(looped.index) } else { stmt.targets().first().copied() };
        match name.and_then(&mut *new) {
            Some(stmts) => block.stmts.extend(stmts),
            None => {
                stmt.blocks_mut().for_each(|block| replace(block, new));
                block.stmts.push(stmt);
            }
        }
    }
}
