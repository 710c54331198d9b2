//! Arguments for functions of which only the types are known: buffers larger than any index of a small size, and
//! Integers that are sizes and indices.

use lm::random::SplitMix;
use loops::interp::{Space, Word};
use loops::ir::{Function, Scalar, Ty};

/// Sizes around those of vectors.
pub const SIZES: [i64; 8] = [0, 1, 2, 3, 7, 8, 9, 33];

/// How many elements buffers have: of numbers, and of buffers.
const COUNTS: [usize; 2] = [1200, 34];
/// How many elements the numbers in buffers of buffers have.
const INNER: usize = 128;

/// Sets how arguments are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    pub seed: u64,
    /// The size that all have; none for one of its own for each.
    pub size: Option<i64>,
    /// Whether some Floats are NaNs, infinite or zeros.
    pub special: bool,
}

impl Draw {
    /// All that a function is called with.
    pub fn all() -> Vec<Draw> {
        let alike = SIZES.into_iter().flat_map(|size| [0, 1].map(|k| (Some(size), k)));
        let apart = (0..16).map(|k| (None, k));
        let draws = alike.chain(apart).enumerate();
        draws.map(|(i, (size, k))| Draw { seed: i as u64, size, special: k % 4 == 1 }).collect()
    }

    /// The arguments of a function, which it may write.
    pub fn arguments(self, function: &Function, space: &mut Space) -> Vec<Word> {
        let mut source = Source { random: SplitMix::new(self.seed), draw: self };
        let size = source.size();
        let word = |x: &loops::ir::Local| {
            let info = &function.locals[x.0 as usize];
            match info.ty.as_scalar() {
                Some(Scalar::Integer) if info.is_size => Word::Integer(source.size()),
                Some(scalar) => source.scalar(scalar, size),
                None => source.buffer(info.ty, size, space, 0),
            }
        };
        function.params.iter().map(word).collect()
    }
}

struct Source {
    random: SplitMix,
    draw: Draw,
}

impl Source {
    fn size(&mut self) -> i64 {
        self.draw.size.unwrap_or_else(|| SIZES[self.random.draw() as usize % SIZES.len()])
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.draw() % n.max(1)
    }

    fn scalar(&mut self, scalar: Scalar, size: i64) -> Word {
        match scalar {
            Scalar::Float => Word::Float(self.float()),
            Scalar::Integer => Word::Integer(size - self.below(3) as i64),
            Scalar::Bool => Word::Bool(self.below(2) == 0),
            Scalar::Text | Scalar::Mark => panic!("no argument is a {scalar}"),
        }
    }

    fn float(&mut self) -> f64 {
        const SPECIAL: [f64; 5] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
        match self.draw.special && self.below(3) == 0 {
            true => SPECIAL[self.below(5) as usize],
            // No small fractions of two: sums of those are the same in any order.
            false => self.below(17) as f64 / 4.1 - 1.9,
        }
    }

    /// A buffer with elements of numbers: Integers are sizes, all of one, or indices.
    fn buffer(&mut self, ty: Ty, size: i64, space: &mut Space, depth: usize) -> Word {
        let element = ty.element().expect("a buffer");
        let kind = self.below(3);
        let mut cell = |source: &mut Source, i: usize| match element.as_scalar() {
            None => source.buffer(element, size, space, depth + 1),
            Some(Scalar::Integer) if kind == 0 => Word::Integer(size),
            Some(Scalar::Integer) if kind == 1 => Word::Integer((i as i64).min(size - 1).max(0)),
            Some(Scalar::Integer) => Word::Integer(source.below(size as u64) as i64),
            Some(scalar) => source.scalar(scalar, size),
        };
        let count = match element.as_scalar() {
            None => COUNTS[1],
            Some(_) if depth > 0 => INNER,
            Some(_) => COUNTS[0],
        };
        let cells = (0..count).map(|i| cell(self, i)).collect();
        space.argument(element, cells, true)
    }
}
