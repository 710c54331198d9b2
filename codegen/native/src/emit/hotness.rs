//! Estimates how often the code at hand runs in a call of an entry, and so what code it is worth.
//!
//! Functions of the run time are inlined where the code may run often, and called where it runs once. So most of
//! `alloc` is emitted once and not at each place. Loops that are not likely to run, are between C and the rest, or only
//! pass rows on, are neither unrolled nor vectorised. A long function that is called once is not inlined into its
//! caller either.

use super::Emitter;
use crate::llvm::{self, Hint};
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::values::CallSiteValue;
use loops::ir::{For, Function, Memory, Operand, Stmt};

/// How often code runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hotness {
    /// Whether the code is in a loop, in a function called in a loop, or in a recursive function.
    pub(super) repeats: bool,
    /// Whether the loop at hand is itself repeated.
    pub(super) nested: bool,
    /// Whether it is not likely to run at all: a cold function, or the other side of a likely condition.
    pub(super) rare: bool,
    /// Whether the function is a wrapper for C. Its loops go over rows, and each row is a vector for the wrapped
    /// function.
    pub(super) c_wrapper: bool,
}

/// Statements beyond which a function that is called once is not inlined.
const LONG_CALLEE: usize = 40;

/// Statements of a loop's body from which LLVM does not unroll it at run time. What steps and ends the loop is little
/// beside them, and mostly they are iterations side by side already, which do not wait for each other. On processors
/// with room for long loops, LLVM would copy them eight times.
const LONG_BODY: usize = 16;

/// So many vectors side by side in a loop that others repeat. These loops are mostly short, and iterations that do not
/// fill the vectors run one by one. LLVM would take four. Loops that carry sums wait for these, and keep them. LLVM
/// takes the number as it is told, even where an iteration waits for one before it, which is so many elements away that
/// one vector is right and two are not.
const ABREAST: u32 = 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns whether it is worth code to be fast.
    pub(super) fn is_hot(&self) -> bool {
        self.hotness.repeats && !self.hotness.rare
    }

    /// Returns the pace inside of a statement.
    pub(super) fn pace_in(&self, stmt: &Stmt, is_divided: bool) -> Hotness {
        let is_loop = match stmt {
            Stmt::For(looped) => !(looped.on_threads && is_divided),
            Stmt::Bench { .. } => true,
            _ => false,
        };
        let nested = if is_loop { self.hotness.repeats } else { self.hotness.nested };
        Hotness { repeats: self.hotness.repeats || is_loop, nested, ..self.hotness }
    }

    /// Attaches hints about a loop to the branch that repeats it.
    pub(super) fn end_loop(&self, function: &Function, looped: &For, last: BasicBlock<'ctx>) {
        let mut hints = vec![];
        if self.hotness.rare || self.hotness.c_wrapper || function.passes_rows_on(looped) {
            hints.extend([Hint::Rolled, Hint::Scalar]);
        } else {
            let abreast = self.hotness.nested && looped.carried.is_empty() && !may_wait(looped);
            hints.extend(abreast.then_some(Hint::Abreast(ABREAST)));
            hints.extend((looped.body.len() >= LONG_BODY).then_some(Hint::RolledIfUnknown));
        }
        if !hints.is_empty() {
            llvm::end_loop(self.context, last.get_terminator().expect("it goes back"), &hints);
        }
    }

    /// A call of the run time stays one where it runs once.
    pub(super) fn keep_apart(&self, call: CallSiteValue<'ctx>) {
        if !self.is_hot() {
            call.add_attribute(AttributeLoc::Function, self.flag("noinline"));
        }
    }

    /// So does a call of a long function.
    pub(super) fn keep_long_apart(&self, call: CallSiteValue<'ctx>, callee: usize) {
        if self.request.module.functions[callee].body.len() > LONG_CALLEE {
            self.keep_apart(call);
        }
    }
}

/// Returns whether an iteration may read or change what another one wrote: a loop writes to a buffer, and uses it at
/// another place, too.
fn may_wait(looped: &For) -> bool {
    let (mut used, mut written) = (Vec::new(), Vec::new());
    looped.body.visit(&mut |stmt| match stmt {
        Stmt::Memory(Memory::Load(_, b, i)) => used.push((b.clone(), i.clone())),
        Stmt::Memory(Memory::Store(b, i, _) | Memory::Add(b, i, _)) => written.push((b.clone(), i.clone())),
        _ => {}
    });
    let meets = |(b, i): &(Operand, Operand)| used.iter().chain(&written).any(|(other, j)| other.same(b) && !j.same(i));
    written.iter().any(meets)
}
