//! Random nests of loops on vectors and matrices, as KS text, for the passes that choose lanes, threads and iterations
//! side by side. Each term uses the indices of some loops only. So part of a loop's work is the same in each iteration
//! of another loop. The loops are sums, vectors, sums of vectors and largest elements, in any order.
//!
//! With sizes that are all the same, no index is out of range. Comparisons are exact, so that no rounding decides.

use lm::random::SplitMix;

/// The greatest depth of nested loops.
const DEPTH: usize = 3;

/// A program whose function is `f`.
pub fn nest(random: &mut SplitMix) -> String {
    let mut nests = Nests { random, indices: vec![], names: 0 };
    let (result, body) = match nests.below(5) {
        0 => ("Float", nests.sum()),
        1 => ("(Vec (Vec Float))", nests.build(Nests::vector)),
        // Sums whose iterations may run side by side.
        2 => ("(Vec Float)", nests.build(Nests::sum)),
        _ => ("(Vec Float)", nests.vector()),
    };
    format!("(def f {result} ((v : Vec Float) (w : Vec Float) (a : Tensor 2 Float))\n  {body})\n")
}

struct Nests<'a> {
    random: &'a mut SplitMix,
    /// The indices of the loops around.
    indices: Vec<String>,
    /// The number of indices so far.
    names: usize,
}

impl Nests<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.random.draw() as usize % n
    }

    fn index(&mut self) -> String {
        let i = self.below(self.indices.len());
        self.indices[i].clone()
    }

    /// Generates the body of a loop; returns it with the name of the loop's index.
    fn inside(&mut self, body: impl FnOnce(&mut Self) -> String) -> (String, String) {
        let index = format!("i{}", self.names);
        self.names += 1;
        self.indices.push(index.clone());
        let body = body(self);
        self.indices.pop();
        (index, body)
    }

    fn looped(&mut self, name: &str, body: impl FnOnce(&mut Self) -> String) -> String {
        let n = if self.indices.is_empty() || self.below(8) > 0 { "(size v)".into() } else { self.index() };
        let (index, body) = self.inside(body);
        format!("({name} {n} (lam ({index} : Integer) {body}))")
    }

    fn build(&mut self, body: impl FnOnce(&mut Self) -> String) -> String {
        let (index, body) = self.inside(body);
        format!("(build (size v) (lam ({index} : Integer) {body}))")
    }

    fn may_nest(&self) -> bool {
        self.indices.len() < DEPTH
    }

    fn sum(&mut self) -> String {
        self.looped("sumbuild", Self::number)
    }

    /// A loop over `size v`.
    fn vector(&mut self) -> String {
        match self.below(3) {
            0 if self.indices.len() + 1 < DEPTH => {
                let (index, body) = self.inside(Self::vector);
                format!("(sumbuild (size v) (lam ({index} : Integer) {body}))")
            }
            1 => self.build(|nests| if nests.may_nest() { nests.sum() } else { nests.number() }),
            _ => self.build(Self::number),
        }
    }

    /// Exact, since elements are.
    fn element(&mut self) -> String {
        match self.below(3) {
            0 => format!("(index {} v)", self.index()),
            1 => format!("(index {} w)", self.index()),
            _ => format!("(index (tuple {} {}) a)", self.index(), self.index()),
        }
    }

    fn product(&mut self) -> String {
        format!("(mul {} {})", self.element(), self.element())
    }

    fn number(&mut self) -> String {
        match self.below(13) {
            0..=2 if self.may_nest() => self.sum(),
            3 if self.may_nest() => {
                let vector = self.vector();
                format!("(let (r {vector}) (mul (sum r) (index {} r)))", self.index())
            }
            4 if self.may_nest() => format!("(max {})", self.build(Self::product)),
            5 => format!("(sin {})", self.element()),
            6 => format!("(if (gt {} {}) {} {})", self.element(), self.element(), self.number(), self.element()),
            7 => format!("(add {} {})", self.number(), self.number()),
            8 | 9 => format!("(mul {} {})", self.number(), self.element()),
            10 => format!("(mul {} (tanh {}))", self.element(), self.product()),
            _ => self.product(),
        }
    }
}
