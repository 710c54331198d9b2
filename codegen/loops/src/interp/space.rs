//! Memory: objects of typed cells, each with an address and a state.
//!
//! ```text
//! live --release--> released --another object was there, and went--> gone
//! live --slide-->   slid, with an object in its place
//! ```
//!
//! Each buffer knows the object that it was made for, so that an access beyond it is found, even where another object
//! lies there. A released object can be read until something is written at its address, as in native code: that is how
//! lowering moves results down (`lower::keep`). It cannot be written.

use super::arena::Arena;
use super::races::Races;
use super::word::{ObjectId, Word};
use crate::ir::Ty;
use std::cell::RefCell;

/// A result, or the description of a fault.
pub(super) type Checked<T> = Result<T, String>;

/// The state of an object, which decides what accesses are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Readable and writable.
    Live,
    /// Read-only, since it is an argument.
    Argument,
    /// The arena has it back, but may not have used it again.
    Released,
    /// Moved: another object holds the elements now.
    Slid(ObjectId),
    /// Overwritten or gone.
    Gone,
}

/// Some memory that was taken at once.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) start: u64,
    pub(super) bytes: u64,
    /// The bytes of a cell: 1 for Bools, else 8.
    pub(super) cell: u64,
    pub(super) state: State,
    pub(super) cells: Vec<Word>,
}

impl Object {
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

/// The first addresses of arguments, of the stack, and of the arena.
const ARGUMENTS: u64 = 1 << 20;
const STACK: u64 = 1 << 48;
const ARENA: u64 = 1 << 56;

/// Objects lie at multiples of so many bytes.
const UNIT: u64 = 16;

/// Returns the bytes that an object of this length takes.
pub(super) fn rounded(bytes: u64) -> u64 {
    bytes.next_multiple_of(UNIT)
}

/// All memory of a call.
#[derive(Debug)]
pub struct Space {
    pub(super) objects: Vec<Object>,
    /// The arena of the call; above it those of chunks and lanes.
    pub(super) arenas: Vec<Arena>,
    /// How many bytes there are for all of them.
    pub(super) capacity: u64,
    /// The accesses of chunks to older memory, while a loop on threads runs.
    pub(super) races: RefCell<Option<Races>>,
    next_argument: u64,
    next_on_stack: u64,
}

impl Space {
    /// No object yet, and an arena of so many bytes.
    pub fn new(capacity: u64) -> Space {
        let null = Object { start: 0, bytes: 0, cell: 8, state: State::Gone, cells: vec![] };
        let arenas = vec![Arena::new(ARENA, 0)];
        let races = RefCell::default();
        Space { objects: vec![null], arenas, capacity, races, next_argument: ARGUMENTS, next_on_stack: STACK }
    }

    pub(super) fn add(&mut self, start: u64, ty: Ty, cells: Vec<Word>, state: State) -> ObjectId {
        let id = ObjectId(u32::try_from(self.objects.len()).expect("a call makes fewer objects"));
        let (cell, count) = (ty.bytes(), cells.len() as u64);
        self.objects.push(Object { start, bytes: count * cell, cell, state, cells });
        id
    }

    /// A buffer from outside with elements of a type.
    pub fn argument(&mut self, ty: Ty, cells: Vec<Word>, is_writable: bool) -> Word {
        let start = self.next_argument;
        self.next_argument += rounded(cells.len() as u64 * ty.bytes()) + UNIT;
        let state = if is_writable { State::Live } else { State::Argument };
        Word::Buffer(self.add(start, ty, cells, state), start)
    }

    /// A buffer on the stack.
    pub(super) fn on_stack(&mut self, ty: Ty, count: u64) -> (ObjectId, Word) {
        let start = self.next_on_stack;
        self.next_on_stack += rounded(count * ty.bytes()) + UNIT;
        let id = self.add(start, ty, vec![Word::Unset; count as usize], State::Live);
        (id, Word::Buffer(id, start))
    }

    pub(super) fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    pub(super) fn object_mut(&mut self, id: ObjectId) -> &mut Object {
        &mut self.objects[id.0 as usize]
    }

    /// Forgets an object.
    pub(super) fn forget(&mut self, id: ObjectId) {
        let object = self.object_mut(id);
        (object.state, object.cells) = (State::Gone, vec![]);
    }

    /// The cells from a buffer's address to the end of its object: for those who look at results.
    ///
    /// Errors: the arena has it back.
    pub fn rest(&self, buffer: Word) -> Checked<&[Word]> {
        let (id, address) = buffer.buffer()?;
        let object = self.object(id);
        match object.state {
            _ if object.bytes == 0 => Ok(&[]),
            State::Live | State::Argument => Ok(&object.cells[((address - object.start) / object.cell) as usize..]),
            State::Released | State::Slid(_) | State::Gone => Err("a result lies in memory that was given back".into()),
        }
    }

    /// The object of an element, and its cell there.
    ///
    /// Errors: it has none.
    fn place(&self, buffer: Word, index: i64, ty: Ty) -> Checked<(ObjectId, usize)> {
        let (id, address) = buffer.buffer()?;
        let object = self.object(id);
        let bytes = i128::from(ty.bytes());
        let offset = i128::from(address) + i128::from(index) * bytes - i128::from(object.start);
        if offset < 0 || offset + bytes > i128::from(object.bytes) {
            let shift = (i128::from(address) - i128::from(object.start)) / bytes;
            let count = i128::from(object.bytes) / bytes;
            return Err(format!("element {index} of a buffer of {count}, from {shift} on, is outside of it"));
        }
        let offset = offset as u64;
        if !offset.is_multiple_of(object.cell) || ty.bytes() > object.cell {
            return Err(format!("element {index} as {ty} lies across cells of {} bytes", object.cell));
        }
        Ok((id, (offset / object.cell) as usize))
    }

    /// The element of a buffer with elements of a type.
    ///
    /// Errors: it cannot be read, or was not written.
    pub fn load(&self, buffer: Word, index: i64, ty: Ty) -> Checked<Word> {
        let (id, i) = self.place(buffer, index, ty)?;
        self.check_readable(id, i)?;
        self.note(id, i, false)?;
        match self.object(id).cells[i] {
            Word::Unset => Err(format!("element {index} is read before it is written")),
            word if word.is(ty) => Ok(word),
            word => Err(format!("element {index} is read as {ty}, but is {word:?}")),
        }
    }

    /// Sets an element.
    ///
    /// Errors: it cannot be written.
    pub(super) fn store(&mut self, buffer: Word, index: i64, ty: Ty, word: Word) -> Checked<()> {
        let (id, i) = self.place(buffer, index, ty)?;
        self.note(id, i, true)?;
        let object = self.object_mut(id);
        match object.state {
            State::Live => {
                object.cells[i] = word;
                Ok(())
            }
            State::Argument => Err("an argument is written".into()),
            State::Released | State::Slid(_) | State::Gone => Err("memory that was given back is written".into()),
        }
    }

    /// The first elements of a buffer.
    ///
    /// Errors: as [`Space::load`]; the count is negative.
    pub(super) fn load_all(&self, buffer: Word, count: i64, ty: Ty) -> Checked<Vec<Word>> {
        not_negative(count)?;
        (0..count).map(|i| self.load(buffer, i, ty)).collect()
    }

    /// Sets the first elements of a buffer.
    ///
    /// Errors: as [`Space::store`].
    pub(super) fn store_all(&mut self, buffer: Word, ty: Ty, words: impl IntoIterator<Item = Word>) -> Checked<()> {
        (0..).zip(words).try_for_each(|(i, word)| self.store(buffer, i, ty, word))
    }

    /// The same buffer from an element on.
    ///
    /// Errors: it begins outside of its object.
    pub(super) fn view(&self, buffer: Word, index: i64, ty: Ty) -> Checked<Word> {
        let (id, address) = buffer.buffer()?;
        let object = self.object(id);
        let from = i128::from(address) + i128::from(index) * i128::from(ty.bytes());
        if from < i128::from(object.start) || from > i128::from(object.end()) {
            return Err(format!("a view from element {index} on begins outside of its buffer"));
        }
        Ok(Word::Buffer(id, from as u64))
    }

    fn note(&self, id: ObjectId, cell: usize, writes: bool) -> Checked<()> {
        self.races.borrow_mut().as_mut().map_or(Ok(()), |races| races.note(id, cell, writes))
    }

    fn check_readable(&self, id: ObjectId, cell: usize) -> Checked<()> {
        let object = self.object(id);
        match object.state {
            State::Live | State::Argument => Ok(()),
            State::Released => {
                let from = object.start + cell as u64 * object.cell;
                match self.is_overwritten(id, from..from + object.cell) {
                    true => Err("memory that was given back is read after something else was written there".into()),
                    false => Ok(()),
                }
            }
            State::Slid(_) => Err("memory is read that slid elsewhere".into()),
            State::Gone => Err("memory is read that was given back and used again".into()),
        }
    }

    /// Returns whether a later object has something at these addresses.
    fn is_overwritten(&self, id: ObjectId, addresses: std::ops::Range<u64>) -> bool {
        self.arenas.iter().any(|arena| {
            let first = arena.live.partition_point(|x| self.object(*x).end() <= addresses.start);
            let there = arena.live[first..].iter().take_while(|x| self.object(**x).start < addresses.end);
            there.filter(|x| **x > id).any(|x| self.has_some(*x, &addresses))
        })
    }

    /// Returns whether an object has a cell at these addresses that is set.
    fn has_some(&self, id: ObjectId, addresses: &std::ops::Range<u64>) -> bool {
        let object = self.object(id);
        let first = addresses.start.saturating_sub(object.start) / object.cell;
        let past = (addresses.end - object.start).div_ceil(object.cell).min(object.cells.len() as u64);
        (first..past).any(|i| object.cells[i as usize] != Word::Unset)
    }
}

/// Errors: the number is negative.
pub(super) fn not_negative(count: i64) -> Checked<u64> {
    u64::try_from(count).map_err(|_| format!("{count} elements"))
}
