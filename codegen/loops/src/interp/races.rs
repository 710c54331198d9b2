//! Races: what two chunks of a loop on threads do to the same cell, where one of them writes it.

use super::word::ObjectId;
use rustc_hash::FxHashMap;

/// Records the accesses of chunks to memory that existed before the loop.
#[derive(Debug)]
pub(super) struct Races {
    /// Objects from this one on were made in the loop.
    first: ObjectId,
    /// The chunk that runs.
    pub(super) chunk: i64,
    cells: FxHashMap<(ObjectId, usize), Touch>,
}

/// The chunks that have used a cell.
#[derive(Debug)]
struct Touch {
    /// The first chunk that has.
    chunk: i64,
    /// Whether others have, too: then all of them have read it.
    others: bool,
    is_written: bool,
}

impl Races {
    /// No chunk has run yet, and the next object will be this one.
    pub(super) fn new(first: ObjectId) -> Races {
        Races { first, chunk: 0, cells: FxHashMap::default() }
    }

    /// Notes that the chunk reads or writes a cell.
    ///
    /// Errors: another chunk has used it, too, and one of them writes it.
    pub(super) fn note(&mut self, object: ObjectId, cell: usize, writes: bool) -> Result<(), String> {
        if object >= self.first {
            return Ok(());
        }
        let chunk = self.chunk;
        let touch = self.cells.entry((object, cell)).or_insert(Touch { chunk, others: false, is_written: false });
        touch.others |= touch.chunk != chunk;
        touch.is_written |= writes;
        match touch.others && touch.is_written {
            true => Err(format!("chunk {chunk} and another one use the same element, and one of them writes it")),
            false => Ok(()),
        }
    }
}
