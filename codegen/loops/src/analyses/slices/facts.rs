//! Holds what is known of one function while the statements that stay are found: what they use and read, and what is
//! known of its locals.
//!
//! Memory is told apart by its roots (`crate::analyses::alias::Aliases`) and by the type of its elements. One root
//! stands for all that a call gives, and the sizes of a vector of vectors are read more often than its Floats. Where
//! memory is seen as of another type, as records of recursive functions are, all types are one.

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::roots::Root;
use crate::ir::{Function, Local, Memory, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};

/// Holds what is known of a function while its slice is found: the statements that stay, and why.
#[derive(Debug)]
pub(super) struct SliceFacts<'a> {
    pub(super) function: &'a Function,
    /// Whether memory is of one type only.
    pub(super) is_typed: bool,
    pub(super) aliases: Aliases,
    /// The locals that are used by what stays.
    pub(super) used: FxHashSet<Local>,
    /// Memory that is read by what stays, through buffers of which type.
    pub(super) read: FxHashSet<(Root, Ty)>,
    /// Which results somebody uses.
    pub(super) results: Vec<bool>,
    /// The types of memory in the results that callers read.
    pub(super) results_read: FxHashSet<Ty>,
    /// The parameters, and types of memory in them, that are read after the function ends.
    pub(super) left: FxHashSet<(usize, Ty)>,
    /// The indices of loops, and what is computed from them.
    pub(super) looped: FxHashSet<Local>,
    /// The comparisons of an index with a size, by what they set.
    pub(super) below: FxHashMap<Local, Local>,
    /// Locals computed from numbers and sizes of arguments, without a load.
    pub(super) plain: FxHashSet<Local>,
    /// The statements that stay, by their addresses.
    pub(super) kept: FxHashSet<*const Stmt>,
}

/// Says what a statement needs of those before it.
#[derive(Clone, Copy, Default)]
pub(super) struct StmtNeeds {
    /// Whether it stays.
    pub(super) kept: bool,
    /// Whether the checks before it have to stay, but those of an index that is used for nothing that stays.
    pub(super) guarded: bool,
    /// Whether these have to stay, too.
    pub(super) strict: bool,
}

impl<'a> SliceFacts<'a> {
    pub(super) fn new(function: &'a Function, is_typed: bool, summaries: &[Summary]) -> SliceFacts<'a> {
        SliceFacts {
            function,
            is_typed,
            aliases: Aliases::of(function, summaries),
            used: FxHashSet::default(),
            read: FxHashSet::default(),
            results: vec![false; function.results.len()],
            results_read: FxHashSet::default(),
            left: FxHashSet::default(),
            looped: index_locals(function),
            below: below_checks(function),
            plain: plain_scalars(function),
            kept: FxHashSet::default(),
        }
    }

    pub(super) fn size(&self) -> usize {
        let results = self.results.iter().filter(|used| **used).count() + self.results_read.len();
        self.used.len() + self.read.len() + results + self.left.len() + self.kept.len()
    }

    pub(super) fn keeps(&self, stmt: &Stmt) -> bool {
        self.kept.contains(&std::ptr::from_ref(stmt))
    }

    pub(super) fn uses(&self, x: Local) -> bool {
        self.used.contains(&x)
    }

    /// Returns which results the slice gives.
    pub(super) fn results(&self) -> &[bool] {
        &self.results
    }

    /// Returns what is read by what stays of what a buffer is, or of what lies in it.
    pub(super) fn reads(&self, a: &Operand) -> FxHashSet<Ty> {
        let Some(x) = a.local().filter(|_| self.function.ty(a).as_scalar().is_none()) else {
            return FxHashSet::default();
        };
        // What has no root is not understood.
        let is_known = !self.aliases.roots_of(x).is_empty();
        let reach = self.aliases.reach(x);
        self.read.iter().filter(|(root, _)| !is_known || reach.contains(root)).map(|(_, ty)| *ty).collect()
    }

    /// Returns whether what is written through a buffer is read by what stays.
    pub(super) fn shows(&self, b: Local) -> bool {
        let ty = self.ty(&Operand::Local(b));
        let roots = self.aliases.roots_of(b);
        self.read.iter().any(|(root, read)| *read == ty && (roots.is_empty() || roots.contains(root)))
    }

    /// Of a statement without blocks that stays, what it needs of checks. A check of an index that nothing else uses
    /// tells that a size is not 0. If the access is at an index of a loop over the size, that follows without the
    /// check.
    pub(super) fn guarded(&self, stmt: &Stmt) -> StmtNeeds {
        let index = match stmt {
            Stmt::Let(_, Op::DivI, args) if !matches!(args[1], Operand::Integer(k) if k != 0) => Some(&args[1]),
            Stmt::Memory(Memory::Load(_, _, i) | Memory::Store(_, i, _) | Memory::Add(_, i, _)) => Some(i),
            Stmt::Memory(Memory::Zero(..) | Memory::Move { .. }) => None,
            _ => return StmtNeeds { kept: true, ..StmtNeeds::default() },
        };
        let is_looped = index.and_then(Operand::local).is_some_and(|x| self.looped.contains(&x));
        StmtNeeds { kept: true, guarded: true, strict: !is_looped }
    }

    /// Returns the type of a buffer, as far as memory of types is told apart.
    pub(super) fn ty(&self, b: &Operand) -> Ty {
        if self.is_typed { self.function.ty(b) } else { Scalar::Integer.ty().buffer() }
    }

    pub(super) fn use_operand(&mut self, a: &Operand) {
        self.used.extend(a.local());
    }

    /// Something of these types in a buffer, or in what lies in it, is read.
    pub(super) fn read_all(&mut self, a: &Operand, types: &FxHashSet<Ty>) {
        if let Some(x) = a.local() {
            let reach = self.aliases.reach(x);
            self.read.extend(reach.iter().flat_map(|root| types.iter().map(move |ty| (root, *ty))));
        }
    }
}

/// Returns whether a function sees memory as of another type.
pub(super) fn has_casts(function: &Function) -> bool {
    let mut casts = false;
    function.body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Cast(x, b)) = stmt {
            casts |= function.ty(&Operand::Local(*x)) != function.ty(b);
        }
    });
    casts
}

/// Scalar parameters, and what operations at the start of the function, outside of blocks, make of them.
fn plain_scalars(function: &Function) -> FxHashSet<Local> {
    let is_scalar = |x: &&Local| function.ty(&Operand::Local(**x)).as_scalar().is_some();
    let mut plain: FxHashSet<Local> = function.params.iter().filter(is_scalar).copied().collect();
    for stmt in &function.body.stmts {
        if let Stmt::Let(x, op, args) = stmt
            && !op.is_libm()
            && args.iter().all(|a| a.local().is_none_or(|x| plain.contains(&x)))
        {
            plain.insert(*x);
        }
    }
    plain
}

/// Returns the indices of loops, and what is computed from them.
fn index_locals(function: &Function) -> FxHashSet<Local> {
    let mut looped = FxHashSet::default();
    function.body.visit(&mut |stmt| match stmt {
        Stmt::For(inner) => {
            looped.insert(inner.index);
        }
        Stmt::Let(x, _, args) if args.iter().any(|a| a.local().is_some_and(|x| looped.contains(&x))) => {
            looped.insert(*x);
        }
        _ => {}
    });
    looped
}

fn below_checks(function: &Function) -> FxHashMap<Local, Local> {
    let mut below = FxHashMap::default();
    function.body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::Below, args) = stmt {
            below.extend(args[0].local().map(|index| (*x, index)));
        }
    });
    below
}
