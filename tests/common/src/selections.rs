//! Random programs that build tensors and use one element of each, as KS text: `f` of a vector, its indices and a
//! Float. No index is out of range where the vector has `SIZE` elements or more.

use lm::random::SplitMix;

/// The least number of elements.
pub const SIZE: i64 = 6;

/// The greatest depth of tensors in tensors.
const DEPTH: usize = 3;

/// A program whose function is `f`.
pub fn selection(random: &mut SplitMix) -> String {
    let mut selections = Selections { random, indices: vec!["k".into()], names: 0 };
    let body = selections.number(DEPTH);
    format!("(def f Float ((v : Vec Float) (k : Integer) (x : Float))\n  {body})\n")
}

struct Selections<'a> {
    random: &'a mut SplitMix,
    /// The Integers in scope: all are below [`SIZE`] where they are used.
    indices: Vec<String>,
    names: usize,
}

impl Selections<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.random.draw() as usize % n
    }

    fn fresh(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn place(&mut self) -> String {
        match self.below(3) {
            0 => self.below(SIZE as usize).to_string(),
            _ => {
                let i = self.below(self.indices.len());
                self.indices[i].clone()
            }
        }
    }

    fn number(&mut self, depth: usize) -> String {
        let choice = if depth == 0 { self.below(3) } else { self.below(14) };
        match choice {
            0 => "x".into(),
            1 => format!("(index {} v)", self.place()),
            2 => format!("(to_float {})", self.place()),
            3 => format!("(sin {})", self.number(depth - 1)),
            4 => format!("(mul {} {})", self.number(depth - 1), self.number(depth - 1)),
            5 => format!("(add {} {})", self.number(depth - 1), self.number(depth - 1)),
            6 => {
                let (name, value) = (self.fresh("y"), self.number(depth - 1));
                let rest = self.number(0);
                format!("(let ({name} {value}) (mul {name} (add {name} {rest})))")
            }
            7 => {
                let (name, vector, at) = (self.fresh("t"), self.vector(depth - 1), self.place());
                format!("(let (({name} {vector}) (y {at})) (index y {name}))")
            }
            8 => {
                let at = format!("(tuple {} {})", self.place(), self.place());
                let ij = self.fresh("p");
                let body = self.with(&[format!("(get$1$2 {ij})"), format!("(get$2$2 {ij})")], depth - 1, Self::number);
                let matrix = format!("(build (tuple (size v) (size v)) (lam ({ij} : Tuple Integer Integer) {body}))");
                format!("(index {at} {matrix})")
            }
            9 => {
                let (i, k, j) = (self.fresh("i"), self.place(), self.place());
                let row = self.with(std::slice::from_ref(&i), depth - 1, Self::vector);
                format!("(index {j} (index {k} (build (size v) (lam ({i} : Integer) {row}))))")
            }
            10 => {
                let (i, k) = (self.fresh("i"), self.place());
                let pair = |cx: &mut Self, depth| format!("(tuple {} {})", cx.number(depth), cx.number(depth));
                let pair = self.with(std::slice::from_ref(&i), depth - 1, pair);
                let n = 1 + self.below(2);
                format!("(get${n}$2 (index {k} (build (size v) (lam ({i} : Integer) {pair}))))")
            }
            _ => {
                let (k, vector) = (self.place(), self.vector(depth - 1));
                format!("(index {k} {vector})")
            }
        }
    }

    fn vector(&mut self, depth: usize) -> String {
        let choice = if depth == 0 { self.below(2) } else { self.below(7) };
        match choice {
            3 => format!("(ts_scale {} {})", self.number(0), self.vector(depth - 1)),
            4 => format!("(add {} {})", self.vector(depth - 1), self.vector(depth - 1)),
            5 => {
                let (y, body) = (self.fresh("y"), self.vector(depth - 1));
                format!("(map (lam ({y} : Float) (mul {y} (cos {y}))) {body})")
            }
            _ => {
                let i = self.fresh("i");
                let body = self.with(std::slice::from_ref(&i), depth.saturating_sub(1), Self::number);
                format!("(build (size v) (lam ({i} : Integer) {body}))")
            }
        }
    }

    /// Generates a term in which more indices are known.
    fn with(&mut self, more: &[String], depth: usize, term: impl FnOnce(&mut Self, usize) -> String) -> String {
        let known = self.indices.len();
        self.indices.extend(more.iter().cloned());
        let term = term(self, depth);
        self.indices.truncate(known);
        term
    }
}
