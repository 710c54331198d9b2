//! Counts the work of loops by kind. LLVM may do less.
//!
//! A block runs from its start to its end, or the call fails. So its own statements count once for each time that it is
//! entered. Statements of inner blocks count with these. Only how many bytes `zero`, `move` and `slide` touch is not
//! known when compiling.

use crate::ir::{Block, Function, Memory, Module, Op, Scalar, Stmt, Ty};
use std::ops::{AddAssign, Index, IndexMut};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Additions and subtractions of Floats.
    Additions,
    /// Multiplications of Floats.
    Multiplications,
    /// Divisions of Floats.
    Divisions,
    /// Square roots.
    Roots,
    /// Calls of libm: `exp`, `pow`, `erf` and so on.
    Calls,
    /// Comparisons of Floats, minima and maxima.
    Comparisons,
    /// Bytes read from buffers.
    Loaded,
    /// Bytes written to buffers.
    Stored,
}

impl Work {
    /// Every kind, in the order of the counters.
    pub const ALL: [Work; 8] = [
        Work::Additions,
        Work::Multiplications,
        Work::Divisions,
        Work::Roots,
        Work::Calls,
        Work::Comparisons,
        Work::Loaded,
        Work::Stored,
    ];

    /// Returns a word for it.
    pub fn name(self) -> &'static str {
        match self {
            Work::Additions => "additions",
            Work::Multiplications => "multiplications",
            Work::Divisions => "divisions",
            Work::Roots => "roots",
            Work::Calls => "calls",
            Work::Comparisons => "comparisons",
            Work::Loaded => "bytes_loaded",
            Work::Stored => "bytes_stored",
        }
    }
}

/// How much was done of each kind. Dimensionless, but for the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Work::ALL.len()]);

impl Counts {
    /// Returns what counters in the order of [`Work::ALL`] hold.
    pub fn new(counters: [u64; Work::ALL.len()]) -> Counts {
        Counts(counters)
    }

    /// Floating-point operations: additions, multiplications, divisions and square roots. Calls of libm are none, since
    /// what they do inside depends on the library; nor are comparisons and changes of sign.
    pub fn operations(&self) -> u64 {
        self[Work::Additions] + self[Work::Multiplications] + self[Work::Divisions] + self[Work::Roots]
    }

    /// Bytes loaded and stored.
    pub fn bytes(&self) -> u64 {
        self[Work::Loaded] + self[Work::Stored]
    }
}

impl Index<Work> for Counts {
    type Output = u64;

    fn index(&self, work: Work) -> &u64 {
        &self.0[work as usize]
    }
}

impl IndexMut<Work> for Counts {
    fn index_mut(&mut self, work: Work) -> &mut u64 {
        &mut self.0[work as usize]
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a += b);
    }
}

impl Op {
    /// Returns what it counts as; None for work on Integers, Bools and signs.
    pub fn work(self) -> Option<Work> {
        match self {
            Op::AddF | Op::SubF => Some(Work::Additions),
            Op::MulF => Some(Work::Multiplications),
            Op::DivF => Some(Work::Divisions),
            Op::Sqrt => Some(Work::Roots),
            Op::Libm(_) => Some(Work::Calls),
            Op::MinF | Op::MaxF | Op::EqF | Op::LtF | Op::LeF => Some(Work::Comparisons),
            Op::NegF | Op::AbsF | Op::ToFloat | Op::ToInteger | Op::BoolToFloat | Op::Hash => None,
            Op::AddI | Op::SubI | Op::MulI | Op::DivI | Op::NegI | Op::AbsI | Op::EqI | Op::LtI | Op::LeI => None,
            Op::Below
            | Op::Count
            | Op::Chunk
            | Op::Chunks
            | Op::EqB
            | Op::EqT
            | Op::And
            | Op::Or
            | Op::Not
            | Op::Likely => None,
        }
    }
}

impl Module {
    /// Lets iterations run one after the other: a block that runs for several lanes at once would count once.
    pub fn run_in_order(&mut self) {
        self.functions.iter_mut().for_each(|function| function.body.run_in_order());
    }
}

impl Block {
    fn run_in_order(&mut self) {
        for stmt in &mut self.stmts {
            if let Stmt::For(looped) = stmt {
                looped.lanes = 1;
                looped.jam = 1;
            }
            stmt.blocks_mut().for_each(Block::run_in_order);
        }
    }

    /// Returns what the statements of the block itself do each time, where that is known when compiling.
    pub fn counts(&self, function: &Function) -> Counts {
        let mut counts = Counts::default();
        self.stmts.iter().for_each(|stmt| counts += stmt.counts(function));
        counts
    }
}

impl Stmt {
    fn counts(&self, function: &Function) -> Counts {
        let mut counts = Counts::default();
        match self {
            Stmt::Let(_, op, _) => op.work().into_iter().for_each(|work| counts[work] = 1),
            Stmt::Memory(memory) => counts = memory.counts(function),
            // Callees and blocks count for themselves; what external functions do is not known.
            Stmt::Call(..)
            | Stmt::If(..)
            | Stmt::For(_)
            | Stmt::Bench { .. }
            | Stmt::Check { .. }
            | Stmt::External { .. }
            | Stmt::Write(_) => {}
        }
        counts
    }
}

impl Memory {
    fn counts(&self, function: &Function) -> Counts {
        let mut counts = Counts::default();
        let element = |buffer| -> Ty { function.ty(buffer).element().expect("loops are well-typed") };
        match self {
            Memory::Load(_, b, _) => counts[Work::Loaded] = element(b).bytes(),
            Memory::Store(b, ..) => counts[Work::Stored] = element(b).bytes(),
            Memory::Add(b, ..) => {
                let ty = element(b);
                counts[Work::Loaded] = ty.bytes();
                counts[Work::Stored] = ty.bytes();
                counts[Work::Additions] = u64::from(ty == Scalar::Float.ty());
            }
            // How far these three reach is counted when they run.
            Memory::Zero(..) | Memory::Move { .. } | Memory::Slide(..) => {}
            Memory::Alloc { .. }
            | Memory::Stack(..)
            | Memory::View(..)
            | Memory::Cast(..)
            | Memory::Mark(_)
            | Memory::Release(_)
            | Memory::Above(..)
            | Memory::Before(..)
            | Memory::Slid { .. } => {}
        }
        counts
    }
}
