//! The frame of a function that runs: what its locals hold, one word for each lane.

use super::word::{ObjectId, Word};
use crate::ir::{Function, Local, MOST_ELEMENTS};

/// The value of a local.
#[derive(Clone, Debug)]
enum Slot {
    /// The same in all lanes.
    One(Word),
    /// A word for each lane.
    Each(Vec<Word>),
}

/// A function that runs.
pub(super) struct Frame<'a> {
    pub(super) function: &'a Function,
    /// How many lanes there are.
    pub(super) width: usize,
    /// The arena of lane 0; those of other lanes follow.
    pub(super) arena: usize,
    /// How many calls there are below it.
    pub(super) depth: usize,
    /// The objects made by `stack`, each with its local and its lane.
    pub(super) stack: Vec<(Local, usize, ObjectId)>,
    /// Whether it is in a chunk of a loop on threads.
    pub(super) in_chunk: bool,
    slots: Vec<Slot>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(function: &'a Function, arena: usize, depth: usize) -> Frame<'a> {
        let slots = vec![Slot::One(Word::Unset); function.locals.len()];
        Frame { function, width: 1, arena, depth, stack: vec![], in_chunk: false, slots }
    }

    /// Returns the value of a local in a lane.
    pub(super) fn get(&self, Local(i): Local, lane: usize) -> Word {
        match &self.slots[i as usize] {
            Slot::One(word) => *word,
            Slot::Each(words) => words[lane],
        }
    }

    /// Sets a local in a lane.
    ///
    /// Errors: the word is not of the local's type, or no size where it is said to be one.
    pub(super) fn set(&mut self, x: Local, lane: usize, word: Word) -> Result<(), String> {
        let info = &self.function.locals[x.0 as usize];
        if !word.is(info.ty) {
            return Err(format!("%{} is set to {word:?}, but holds {}", x.0, info.ty));
        }
        if let Word::Integer(n) = word
            && info.is_size
            && !(0..=MOST_ELEMENTS).contains(&n)
        {
            return Err(format!("#{} is a size, but is set to {n}", x.0));
        }
        let slot = &mut self.slots[x.0 as usize];
        match slot {
            _ if self.width == 1 => *slot = Slot::One(word),
            Slot::Each(words) if words.len() == self.width => words[lane] = word,
            _ => {
                let mut words = vec![Word::Unset; self.width];
                words[lane] = word;
                *slot = Slot::Each(words);
            }
        }
        Ok(())
    }

    /// The arena of a lane.
    pub(super) fn arena_of(&self, lane: usize) -> usize {
        self.arena + if self.width == 1 { 0 } else { lane }
    }
}
