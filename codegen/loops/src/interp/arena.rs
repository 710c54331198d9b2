//! The arena: a stack of objects.
//!
//! ```text
//! alloc n      an object at the top, not set
//! mark         the address of the top
//! release m    what lies above m is released
//! slide p, m   what lies above p lies above m then, as new objects
//! ```
//!
//! Each chunk of a loop on threads, and each lane of a loop in lanes, has an arena of its own above that of the loop.
//! What lanes leave in theirs belongs to the loop's afterwards.

use super::space::{Checked, Space, State, not_negative, rounded};
use super::word::{ObjectId, Word};
use crate::ir::Ty;
use std::collections::BTreeMap;

/// A stack of objects.
#[derive(Debug)]
pub(super) struct Arena {
    /// The address of the next object.
    pub(super) top: u64,
    /// The bytes in use, also in the arenas below.
    pub(super) used: u64,
    /// The objects in order of their addresses.
    pub(super) live: Vec<ObjectId>,
    /// The released objects, by address. An object that covers older ones hides them.
    released: BTreeMap<u64, ObjectId>,
}

/// The result of an `alloc`: the buffer, or the bytes that were requested and the bytes that are free.
pub(super) type Taken = Result<Word, [i64; 2]>;

impl Arena {
    pub(super) fn new(top: u64, used: u64) -> Arena {
        Arena { top, used, live: vec![], released: BTreeMap::new() }
    }
}

impl Space {
    /// Takes so many elements from an arena.
    ///
    /// Errors: a negative number of them.
    pub(super) fn alloc(&mut self, arena: usize, ty: Ty, count: i64) -> Checked<Taken> {
        let count = not_negative(count)?;
        let Arena { top, used, .. } = self.arenas[arena];
        let free = self.capacity - used;
        if count > free / ty.bytes() {
            return Ok(Err([count.wrapping_mul(ty.bytes()) as i64, free as i64]));
        }
        let id = self.add(top, ty, vec![Word::Unset; count as usize], State::Live);
        let arena = &mut self.arenas[arena];
        let bytes = rounded(count * ty.bytes());
        (arena.top, arena.used) = (top + bytes, used + bytes);
        arena.live.push(id);
        Ok(Ok(Word::Buffer(id, top)))
    }

    /// The address of the top.
    pub(super) fn mark(&self, arena: usize) -> Word {
        Word::Mark(self.arenas[arena].top)
    }

    /// Puts the top back.
    ///
    /// Errors: the mark lies above it.
    pub(super) fn release(&mut self, arena: usize, mark: u64) -> Checked<()> {
        for id in self.pop(arena, mark)? {
            self.released(arena, id);
        }
        self.arenas[arena].top = mark;
        Ok(())
    }

    /// The objects above a mark, in order, which are not the arena's any more.
    fn pop(&mut self, arena: usize, mark: u64) -> Checked<Vec<ObjectId>> {
        if mark > self.arenas[arena].top {
            return Err("a mark lies above the top of the arena".into());
        }
        let first = self.arenas[arena].live.partition_point(|x| self.object(*x).start < mark);
        let popped = self.arenas[arena].live.split_off(first);
        let bytes: u64 = popped.iter().map(|x| rounded(self.object(*x).bytes)).sum();
        self.arenas[arena].used -= bytes;
        Ok(popped)
    }

    /// Records a released object, and forgets the older released objects that it covers.
    fn released(&mut self, arena: usize, id: ObjectId) {
        let object = self.object_mut(id);
        object.state = State::Released;
        let (start, end) = (object.start, object.end());
        if start == end {
            return;
        }
        let others = &self.arenas[arena].released;
        let within = others.range(start..end);
        let before = others.range(..start).next_back().filter(|(_, x)| self.object(**x).end() > start);
        let covered: Vec<(u64, ObjectId)> = within.chain(before).map(|(at, x)| (*at, *x)).collect();
        for (at, other) in covered {
            self.arenas[arena].released.remove(&at);
            self.forget(other);
        }
        self.arenas[arena].released.insert(start, id);
    }

    /// Returns whether a buffer lies between a mark and the top.
    pub(super) fn above(&self, arena: usize, buffer: Word, mark: u64) -> Checked<bool> {
        Ok((mark..self.arenas[arena].top).contains(&buffer.buffer()?.1))
    }

    /// Moves what lies above one mark down to another; gives the distance.
    ///
    /// Errors: the marks lie otherwise.
    pub(super) fn slide(&mut self, arena: usize, piece: u64, mark: u64) -> Checked<i64> {
        let Some(distance) = piece.checked_sub(mark) else { return Err("a piece would slide up".into()) };
        let top = self.arenas[arena].top;
        if piece > top {
            return Err("a mark lies above the top of the arena".into());
        }
        if distance == 0 {
            return Ok(0);
        }
        let popped = self.pop(arena, mark)?;
        let (others, moved): (Vec<_>, Vec<_>) = popped.into_iter().partition(|x| self.object(*x).start < piece);
        others.into_iter().for_each(|x| self.released(arena, x));
        moved.into_iter().for_each(|x| self.moved(arena, x, distance));
        self.arenas[arena].top = top - distance;
        Ok(distance as i64)
    }

    fn moved(&mut self, arena: usize, id: ObjectId, distance: u64) {
        let new = ObjectId(self.objects.len() as u32);
        let old = self.object_mut(id);
        let cells = std::mem::take(&mut old.cells);
        let object = super::space::Object { start: old.start - distance, cells, ..*old };
        old.state = State::Slid(new);
        let bytes = rounded(object.bytes);
        self.objects.push(object);
        self.arenas[arena].used += bytes;
        self.arenas[arena].live.push(new);
    }

    /// Returns the address of a buffer after a slide.
    ///
    /// Errors: it lay in the piece, but was no longer live there.
    pub(super) fn slid(&self, arena: usize, buffer: Word, piece: u64, distance: i64) -> Checked<Word> {
        let (id, address) = buffer.buffer()?;
        let end = self.arenas[arena].top + distance as u64;
        if distance == 0 || !(piece..end).contains(&address) {
            return Ok(buffer);
        }
        match self.object(id).state {
            State::Slid(new) => Ok(Word::Buffer(new, address - distance as u64)),
            _ if self.object(id).bytes == 0 => Ok(buffer),
            _ => Err("a buffer lies where a piece slid, but did not slide with it".into()),
        }
    }

    /// Adds an arena above one, so many bytes from its top; gives its number.
    pub(super) fn open(&mut self, below: usize, distance: u64) -> usize {
        let Arena { top, used, .. } = self.arenas[below];
        self.arenas.push(Arena::new(top + distance, used));
        self.arenas.len() - 1
    }

    /// Forgets the last arena, with all that lies there.
    pub(super) fn close(&mut self) {
        let arena = self.arenas.pop().expect("it was opened");
        arena.live.into_iter().chain(arena.released.into_values()).for_each(|x| self.forget(x));
    }

    /// Gives what lies in the arenas above a number to one below.
    pub(super) fn merge(&mut self, below: usize, first: usize) {
        let own = self.arenas[below].used;
        for arena in self.arenas.split_off(first) {
            arena.released.into_values().for_each(|x| self.forget(x));
            let target = &mut self.arenas[below];
            if !arena.live.is_empty() {
                target.top = arena.top;
                target.used += arena.used - own;
                target.live.extend(arena.live);
            }
        }
    }
}
