//! Moves small buffers of constant size to the stack of the function, if their address does not escape.
//!
//! ```text
//! b = alloc [T] 4     =     b = stack [T] 4
//! ```
//!
//! They are only loaded from, stored to, added to, set to zero, and moved from or to. So they are not in use where the
//! function ends, nor in the next iteration of a loop. LLVM keeps in registers those whose indices it knows. Recursive
//! functions keep their frames small: theirs stay in the arena.

use super::pass::FunctionCx;
use crate::ir::{Block, Function, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashSet;

/// The largest number of elements of a buffer on the stack.
const MOST_ELEMENTS: i64 = 64;

/// Together they take no more of a function's frame, in bytes.
const MOST_BYTES: u64 = 8192;

pub(super) fn run(cx: &mut FunctionCx) {
    let held = held(cx.function);
    let mut bytes = 0;
    cx.rewrite(|body, function| {
        place(body, &mut |buffer, count| {
            let element = Operand::Local(buffer).ty(&function.locals).element().expect("it is a buffer");
            let size = u64::try_from(count).unwrap_or(0) * element.bytes();
            let fits = !held.contains(&buffer) && bytes + size <= MOST_BYTES;
            bytes += if fits { size } else { 0 };
            fits
        });
    });
}

/// Returns what is used in any way but as the buffer that is read or written.
fn held(function: &Function) -> FxHashSet<Local> {
    let mut held: FxHashSet<Local> = function.body.results.iter().filter_map(Operand::local).collect();
    function.body.visit(&mut |stmt| {
        let others: Vec<&Operand> = match stmt {
            Stmt::Memory(Memory::Load(_, _, i) | Memory::Zero(_, i) | Memory::Move { count: i, .. }) => vec![i],
            Stmt::Memory(Memory::Store(_, i, a) | Memory::Add(_, i, a)) => vec![i, a],
            stmt => stmt.operands(),
        };
        let given = stmt.blocks().flat_map(|block| &block.results);
        held.extend(others.into_iter().chain(given).filter_map(Operand::local));
    });
    held
}

fn place(block: &mut Block, fits: &mut impl FnMut(Local, i64) -> bool) {
    for stmt in &mut block.stmts {
        if let Stmt::Memory(Memory::Alloc { buffer, count: Operand::Integer(count), .. }) = stmt
            && (0..=MOST_ELEMENTS).contains(count)
            && fits(*buffer, *count)
        {
            *stmt = Stmt::Memory(Memory::Stack(*buffer, Operand::Integer(*count)));
        }
        stmt.blocks_mut().for_each(|inner| place(inner, fits));
    }
}
