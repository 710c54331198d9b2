//! SplitMix64: a hash of numbers, and the sequence of numbers that it gives from a seed. The same everywhere.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the hash: every bit of k touches every bit of the result.
pub fn hash(k: u64) -> u64 {
    let mut z = k.wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The sequence of hashes from a seed.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// Returns the sequence of that seed.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        let drawn = hash(self.0);
        self.0 = self.0.wrapping_add(GAMMA);
        drawn
    }
}
