//! Statements on memory, in each lane that is on.
//!
//! ```text
//! move     all lanes read before one writes: they may lie between each other
//! alloc    from the arena of the lane
//! stack    a new buffer each time; the one that the statement gave before goes
//! ```

use super::frame::Frame;
use super::ops::apply;
use super::run::Run;
use super::space::not_negative;
use super::word::Word;
use super::{Failed, Machine};
use crate::ir::{Failure, Local, Memory, Op, Operand, Ty};

/// A lane of a frame, whose operands are asked for.
struct Lane<'m, 'a, 'f> {
    machine: &'m mut Machine<'a>,
    frame: &'f mut Frame<'a>,
    lane: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn run_memory(&mut self, frame: &mut Frame<'a>, on: &[usize], memory: &'a Memory) -> Run {
        if let Memory::Move { to, from, count } = memory {
            return self.move_all(frame, on, [to, from, count]);
        }
        on.iter().try_for_each(|lane| Lane { machine: self, frame, lane: *lane }.run_memory(memory))
    }

    fn move_all(&mut self, frame: &Frame<'a>, on: &[usize], [to, from, count]: [&Operand; 3]) -> Run {
        let ty = frame.function.ty(to).element().expect("loops are well-typed");
        let mut moved = Vec::new();
        for lane in on {
            let [to, from] = [to, from].map(|a| self.operand(frame, a, *lane));
            if to != from {
                let count = self.operand(frame, count, *lane).integer()?;
                moved.push((to, self.space.load_all(from, count, ty)?));
            }
        }
        Ok(moved.into_iter().try_for_each(|(to, words)| self.space.store_all(to, ty, words))?)
    }
}

impl Lane<'_, '_, '_> {
    fn run_memory(&mut self, memory: &Memory) -> Run {
        match memory {
            Memory::Alloc { .. } | Memory::Stack(..) => self.take(memory),
            Memory::Zero(..) | Memory::Store(..) | Memory::Add(..) => self.write(memory),
            Memory::Load(x, b, i) => {
                let (buffer, i, ty) = self.cell(b, i)?;
                let word = self.machine.space.load(buffer, i, ty)?;
                self.set(*x, word)
            }
            Memory::View(x, b, i) => {
                let (buffer, i, ty) = self.cell(b, i)?;
                let view = self.machine.space.view(buffer, i, ty)?;
                self.set(*x, view)
            }
            Memory::Cast(x, b) => self.set(*x, self.word(b)),
            Memory::Before(x, b, c) => {
                let [b, c] = [b, c].map(|b| self.word(b).buffer());
                self.set(*x, Word::Bool(b?.1 < c?.1))
            }
            Memory::Mark(_) | Memory::Release(_) | Memory::Above(..) | Memory::Slide(..) | Memory::Slid { .. } => {
                self.run_arena(memory)
            }
            Memory::Move { .. } => panic!("all lanes move at once"),
        }
    }

    fn take(&mut self, memory: &Memory) -> Run {
        let (Memory::Alloc { buffer, count, .. } | Memory::Stack(buffer, count)) = memory else {
            panic!("{memory:?} takes nothing")
        };
        let count = self.word(count).integer()?;
        let ty = self.element(&(*buffer).into());
        if let Memory::Alloc { span, .. } = memory {
            let arena = self.frame.arena_of(self.lane);
            let out_of_memory =
                |numbers: [i64; 2]| Failed { failure: Failure::OutOfMemory, numbers: numbers.to_vec(), span: *span };
            let taken = self.machine.space.alloc(arena, ty, count)?.map_err(out_of_memory)?;
            return self.set(*buffer, taken);
        }
        let (object, word) = self.machine.space.on_stack(ty, not_negative(count)?);
        let before = self.frame.stack.iter_mut().find(|(x, lane, _)| (*x, *lane) == (*buffer, self.lane));
        match before {
            Some((.., old)) => self.machine.space.forget(std::mem::replace(old, object)),
            None => self.frame.stack.push((*buffer, self.lane, object)),
        }
        self.set(*buffer, word)
    }

    fn write(&mut self, memory: &Memory) -> Run {
        match memory {
            Memory::Zero(b, n) => {
                let (buffer, n, ty) = self.cell(b, n)?;
                let zeros = (0..not_negative(n)?).map(|_| Word::zero(ty)).collect::<Result<Vec<_>, _>>()?;
                self.machine.space.store_all(buffer, ty, zeros)?;
            }
            Memory::Store(b, i, a) => {
                let (buffer, i, ty) = self.cell(b, i)?;
                let word = self.word(a);
                self.machine.space.store(buffer, i, ty, word)?;
            }
            Memory::Add(b, i, a) => {
                let (buffer, i, ty) = self.cell(b, i)?;
                let word = self.word(a);
                let op = if matches!(word, Word::Float(_)) { Op::AddF } else { Op::AddI };
                let sum = apply(op, &[self.machine.space.load(buffer, i, ty)?, word], 0)?;
                self.machine.space.store(buffer, i, ty, sum)?;
            }
            other => panic!("{other:?} writes nothing"),
        }
        Ok(())
    }

    fn run_arena(&mut self, memory: &Memory) -> Run {
        let arena = self.frame.arena_of(self.lane);
        match memory {
            Memory::Mark(m) => self.set(*m, self.machine.space.mark(arena)),
            Memory::Release(m) => {
                let mark = self.word(m).mark()?;
                Ok(self.machine.space.release(arena, mark)?)
            }
            Memory::Above(x, b, m) => {
                let above = self.machine.space.above(arena, self.word(b), self.word(m).mark()?)?;
                self.set(*x, Word::Bool(above))
            }
            Memory::Slide(d, piece, m) => {
                let [piece, m] = [piece, m].map(|m| self.word(m).mark());
                let distance = self.machine.space.slide(arena, piece?, m?)?;
                self.set(*d, Word::Integer(distance))
            }
            Memory::Slid { target, buffer, piece, distance } => {
                let [buffer, piece, distance] = [buffer, piece, distance].map(|a| self.word(a));
                let now = self.machine.space.slid(arena, buffer, piece.mark()?, distance.integer()?)?;
                self.set(*target, now)
            }
            other => panic!("{other:?} leaves the arena alone"),
        }
    }

    fn word(&self, a: &Operand) -> Word {
        self.machine.operand(self.frame, a, self.lane)
    }

    /// A buffer, an Integer, and the type of the buffer's elements.
    fn cell(&self, b: &Operand, i: &Operand) -> Run<(Word, i64, Ty)> {
        Ok((self.word(b), self.word(i).integer()?, self.element(b)))
    }

    fn element(&self, b: &Operand) -> Ty {
        self.frame.function.ty(b).element().expect("loops are well-typed")
    }

    fn set(&mut self, x: Local, word: Word) -> Run {
        Ok(self.frame.set(x, self.lane, word)?)
    }
}
