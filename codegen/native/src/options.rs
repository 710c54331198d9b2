//! Holds the options of a compilation.

use lm::timing::Timings;
use loops::ir::Vectors;
use loops::{Checks, Forward, Known, Selection};
use std::path::PathBuf;

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 to 3, as LLVM's: see `llvm_passes`.
    pub opt_level: u8,
    /// A processor as LLVM names it (`x86-64-v3`); none, or `native`, for the one at hand.
    pub target_cpu: Option<String>,
    /// Objects, archives and libraries that have the program's external functions; the JIT takes shared
    /// libraries only.
    pub link: Vec<PathBuf>,
    /// Decides where indices and sizes are checked.
    pub checks: Checks,
    /// Whether what a derivative needs of the value's computation is stored or computed again.
    pub forward: Forward,
    /// How Floats are computed.
    pub math: Math,
    /// How many iterations of a loop run at once.
    pub lanes: Lanes,
    /// The least work of a chunk of a loop on threads, in units of about a quarter of a nanosecond, 1 to 2^18: see
    /// `docs/threads.md`. How sums are divided depends on it. [`Options::GRAIN`] suits threads; with 1, short loops are
    /// divided, too, for tests.
    pub grain: u64,
    /// Which passes over loops run.
    pub passes: Selection,
    /// The known parts of arguments. Entries with such arguments check them, and are compiled for them.
    pub specialise: Vec<Known>,
    /// The times of lowering, of passes, of LLVM and of linking.
    pub timings: Timings,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opt_level: 2,
            target_cpu: None,
            link: Vec::new(),
            checks: Checks::default(),
            forward: Forward::default(),
            math: Math::default(),
            lanes: Lanes::default(),
            grain: Options::GRAIN,
            passes: Selection::default(),
            specialise: Vec::new(),
            timings: Timings::default(),
        }
    }
}

impl Options {
    /// The least cost of a chunk for a thread: about 3 us.
    pub const GRAIN: u64 = loops::GRAIN;

    /// Returns options for code whose results are those of the interpreter to the bit.
    pub fn exact() -> Options {
        Options { math: Math::Exact, lanes: Lanes::Off, ..Options::default() }
    }
}

/// How Floats are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Math {
    /// As the program says: sums in its order, each operation rounded, functions of libm.
    Exact,
    /// Sums are in the order that suits vectors. In lanes, exp is in line and at most 1 ulp off libm. On other vectors,
    /// and for other functions, libmvec is at most 4 ulp off. What is computed is the same in each run on one kind of
    /// machine.
    #[default]
    Fast,
}

/// How many iterations of a loop run at once, in the lanes of vectors. See `docs/lanes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// As many as suit the loop and the processor.
    #[default]
    Auto,
    /// Iterations run one after the other.
    Off,
    /// So many, a power of two from 2 to [`Lanes::MOST`], in loops that can.
    Width(u32),
}

impl Lanes {
    /// The most that a loop may have.
    pub const MOST: u32 = 64;

    /// Returns what loops run in, given how many Floats a vector holds.
    pub(crate) fn vectors_for(self, floats: u32) -> Vectors {
        match self {
            Lanes::Off => Vectors::default(),
            Lanes::Auto => Vectors { floats, lanes: None },
            Lanes::Width(lanes) => Vectors { floats, lanes: Some(lanes) },
        }
    }
}
