//! Sets of roots of memory (`crate::analyses::alias::Aliases`), as bits. Words of which no bit is set are left out.
//!
//! In a long function, buffers that went through memory together may be parts of very many roots; these are mostly
//! neighbours, 32 to a word.

use crate::ir::Local;

/// Memory that is taken at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// The memory that a statement makes for the local.
    Made(Local),
    /// The memory inside a parameter, at any depth.
    Inside(Local),
}

impl Root {
    fn number(self) -> u64 {
        match self {
            Root::Made(Local(x)) => 2 * u64::from(x),
            Root::Inside(Local(x)) => 2 * u64::from(x) + 1,
        }
    }

    fn numbered(number: u64) -> Root {
        let x = Local(u32::try_from(number / 2).expect("it is the number of a root"));
        if number.is_multiple_of(2) { Root::Made(x) } else { Root::Inside(x) }
    }
}

/// Several of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The words that are not 0, with their places, which rise.
    words: Vec<(u64, u64)>,
}

impl Roots {
    /// None.
    pub const fn new() -> Roots {
        Roots { words: Vec::new() }
    }

    /// One.
    pub fn single(root: Root) -> Roots {
        Roots { words: vec![(root.number() / 64, 1 << (root.number() % 64))] }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// Returns whether a root is among them.
    pub fn contains(&self, root: &Root) -> bool {
        let place = self.words.binary_search_by_key(&(root.number() / 64), |(place, _)| *place);
        place.is_ok_and(|at| self.words[at].1 >> (root.number() % 64) & 1 == 1)
    }

    /// Returns whether the two have none in common.
    pub fn is_disjoint(&self, other: &Roots) -> bool {
        let (few, many) = if self.words.len() < other.words.len() { (self, other) } else { (other, self) };
        let mut rest = &many.words[..];
        few.words.iter().all(|(place, word)| {
            let at = rest.partition_point(|(other, _)| other < place);
            rest = &rest[at..];
            rest.first().is_none_or(|(other, bits)| other != place || bits & word == 0)
        })
    }

    /// Adds all of another set; whether any of it is new.
    pub fn add(&mut self, other: &Roots) -> bool {
        if self.covers(other) {
            return false;
        }
        let mut all = Vec::with_capacity(self.words.len() + other.words.len());
        let (mut own, mut new) = (self.words.iter().peekable(), other.words.iter().peekable());
        loop {
            let place = match (own.peek(), new.peek()) {
                (Some((a, _)), Some((b, _))) => *a.min(b),
                (Some((a, _)), None) | (None, Some((a, _))) => *a,
                (None, None) => break,
            };
            let word = [&mut own, &mut new].into_iter().filter_map(|side| side.next_if(|(at, _)| *at == place));
            all.push((place, word.fold(0, |bits, (_, word)| bits | word)));
        }
        self.words = all;
        true
    }

    /// Adds all of another set; gives those that are new. It takes time with the words of the two, not with the roots
    /// that both have.
    pub fn add_new(&mut self, other: &Roots) -> Roots {
        let mut new = Roots::new();
        let mut own = self.words.iter().peekable();
        for (place, word) in &other.words {
            while own.next_if(|(at, _)| at < place).is_some() {}
            let known = own.next_if(|(at, _)| at == place).map_or(0, |(_, bits)| *bits);
            new.words.extend((word & !known != 0).then_some((*place, word & !known)));
        }
        self.add(&new);
        new
    }

    /// Returns whether all of another set is in this one. Few words are looked up, many are gone through.
    fn covers(&self, other: &Roots) -> bool {
        if 8 * other.words.len() < self.words.len() {
            return other.words.iter().all(|(place, word)| self.word(*place) & word == *word);
        }
        let mut own = self.words.iter();
        let has = |(place, word): &(u64, u64)| {
            own.find(|(at, _)| at >= place).is_some_and(|(at, bits)| at == place && bits & word == *word)
        };
        other.words.iter().all(has)
    }

    /// Adds all of another set.
    pub fn extend(&mut self, other: &Roots) {
        self.add(other);
    }

    fn word(&self, place: u64) -> u64 {
        self.words.binary_search_by_key(&place, |(at, _)| *at).map_or(0, |at| self.words[at].1)
    }

    /// Iterates over the roots in order.
    pub fn iter(&self) -> impl Iterator<Item = Root> {
        let bits = |(place, word): &(u64, u64)| {
            let (place, word) = (*place, *word);
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| Root::numbered(64 * place + bit))
        };
        self.words.iter().flat_map(bits)
    }

    /// Returns those that are not in another set.
    pub fn without(&self, other: &Roots) -> Roots {
        let rest = self.words.iter().map(|(place, word)| (*place, word & !other.word(*place)));
        Roots { words: rest.filter(|(_, word)| *word != 0).collect() }
    }

    /// Returns those for which something holds.
    pub fn filtered(&self, holds: impl Fn(&Root) -> bool) -> Roots {
        let mut kept = Roots::new();
        for (place, word) in &self.words {
            let bits = (0..64).filter(|bit| word >> bit & 1 == 1 && holds(&Root::numbered(64 * place + bit)));
            let word = bits.fold(0, |word, bit| word | 1 << bit);
            kept.words.extend((word != 0).then_some((*place, word)));
        }
        kept
    }
}
