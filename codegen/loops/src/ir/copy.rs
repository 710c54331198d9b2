//! Copies blocks, with locals of their own.

use super::{Block, For, Local, LocalInfo, Operand, Returned, Stmt};
use rustc_hash::FxHashMap;

impl Block {
    /// Returns the block with other locals in place of those that it sets, and with operands in place of some locals
    /// from outside.
    pub fn copy(&self, locals: &mut Vec<LocalInfo>, given: FxHashMap<Local, Operand>) -> Block {
        let mut copy = self.clone();
        copy.rename_by(&mut Copier { theirs: None, locals, known: given });
        copy
    }

    /// Returns the same of a block of another function, with its locals.
    pub fn copy_from(
        &self,
        theirs: &[LocalInfo],
        locals: &mut Vec<LocalInfo>,
        given: FxHashMap<Local, Operand>,
    ) -> Block {
        let mut copy = self.clone();
        copy.rename_by(&mut Copier { theirs: Some(theirs), locals, known: given });
        copy
    }
}

impl For {
    /// Returns the loop with other locals in place of those that it sets.
    pub fn copy(&self, locals: &mut Vec<LocalInfo>) -> For {
        let whole = Block { stmts: vec![Stmt::For(Box::new(self.clone()))], results: vec![] };
        match whole.copy(locals, FxHashMap::default()).stmts.pop() {
            Some(Stmt::For(copy)) => *copy,
            other => unreachable!("the copy of a loop is one: {other:?}"),
        }
    }
}

/// New names for locals.
pub trait Renaming {
    /// Changes an operand.
    fn rename_operand(&mut self, a: &mut Operand);
    /// Changes a local where it is set.
    fn rename_target(&mut self, x: &mut Local);
}

impl Block {
    /// Renames all locals, each where it is set before it is used.
    pub fn rename_by(&mut self, names: &mut impl Renaming) {
        for stmt in &mut self.stmts {
            stmt.operands_mut().into_iter().for_each(|a| names.rename_operand(a));
            stmt.bound_mut().into_iter().for_each(|x| names.rename_target(x));
            stmt.blocks_mut().for_each(|block| block.rename_by(names));
            stmt.targets_mut().into_iter().for_each(|x| names.rename_target(x));
        }
        self.results.iter_mut().for_each(|a| names.rename_operand(a));
    }
}

struct Copier<'a> {
    /// The locals of the block that is copied, unless they are among `locals`.
    theirs: Option<&'a [LocalInfo]>,
    locals: &'a mut Vec<LocalInfo>,
    known: FxHashMap<Local, Operand>,
}

impl Renaming for Copier<'_> {
    fn rename_operand(&mut self, a: &mut Operand) {
        if let Some(other) = a.local().and_then(|x| self.known.get(&x)) {
            *a = other.clone();
        }
    }

    fn rename_target(&mut self, x: &mut Local) {
        let old = *x;
        *x = Local(u32::try_from(self.locals.len()).expect("a function has fewer locals"));
        let info = self.theirs.unwrap_or(self.locals)[old.0 as usize].clone();
        self.locals.push(info);
        self.known.insert(old, Operand::Local(*x));
    }
}

impl Stmt {
    /// As [`Stmt::targets`], to be changed.
    pub fn targets_mut(&mut self) -> Vec<&mut Local> {
        match self {
            Stmt::Let(x, ..) | Stmt::Bench { seconds: x, .. } => vec![x],
            Stmt::Call(xs, ..) | Stmt::If(xs, ..) => xs.iter_mut().collect(),
            Stmt::For(looped) => looped.results.iter_mut().collect(),
            Stmt::External { results, .. } => results.iter_mut().flat_map(Returned::locals_mut).collect(),
            Stmt::Memory(memory) => memory.target_mut().into_iter().collect(),
            Stmt::Check { .. } | Stmt::Write(_) => vec![],
        }
    }

    /// As [`Stmt::bound`], to be changed.
    pub fn bound_mut(&mut self) -> Vec<&mut Local> {
        match self {
            Stmt::For(looped) => {
                [&mut looped.index].into_iter().chain(looped.carried.iter_mut().map(|(x, _)| x)).collect()
            }
            Stmt::Bench { given, .. } => given.iter_mut().map(|(x, _)| x).collect(),
            Stmt::Let(..)
            | Stmt::Call(..)
            | Stmt::If(..)
            | Stmt::Check { .. }
            | Stmt::External { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => vec![],
        }
    }
}

impl Returned {
    fn locals_mut(&mut self) -> Vec<&mut Local> {
        match self {
            Returned::Scalar(x) => vec![x],
            Returned::Tensor(data, sizes) => sizes.iter_mut().chain([data]).collect(),
        }
    }
}
