//! Loops on threads: chunk by chunk, in order or the other way round.
//!
//! Each chunk has an arena of its own, and nothing of it is left afterwards. The error is that of the first chunk that
//! fails, whenever it runs: so both orders must give the same.

use super::frame::Frame;
use super::races::Races;
use super::run::Run;
use super::word::{ObjectId, Word};
use super::{Machine, Stop};
use crate::ir::For;

impl<'a> Machine<'a> {
    pub(super) fn run_on_threads(&mut self, frame: &mut Frame<'a>, looped: &'a For) -> Run {
        let to = self.operand(frame, &looped.to, 0).integer()?;
        let mut order: Vec<i64> = (0..to).collect();
        if self.options.last_chunk_first {
            order.reverse();
        }
        let mut outcome = Ok(());
        // Loops in a chunk are its own affair.
        let watches = !frame.in_chunk;
        for chunk in order {
            if watches {
                self.watch(chunk);
            }
            match self.run_chunk(frame, looped, chunk) {
                Ok(()) => {}
                Err(stop @ Stop::Failed(_)) if self.options.last_chunk_first => outcome = Err(stop),
                Err(stop) => return Err(stop),
            }
        }
        if watches {
            self.space.races.replace(None);
        }
        outcome
    }

    fn watch(&mut self, chunk: i64) {
        let next = ObjectId(self.space.objects.len() as u32);
        self.space.races.get_mut().get_or_insert_with(|| Races::new(next)).chunk = chunk;
    }

    fn run_chunk(&mut self, frame: &mut Frame<'a>, looped: &'a For, chunk: i64) -> Run {
        let (below, stack) = (frame.arena, frame.stack.len());
        frame.arena = self.space.open(below, 0);
        let around = std::mem::replace(&mut frame.in_chunk, true);
        frame.set(looped.index, 0, Word::Integer(chunk))?;
        let ran = self.run_block(frame, &[0], &looped.body);
        frame.in_chunk = around;
        frame.stack.drain(stack..).for_each(|(.., object)| self.space.forget(object));
        frame.arena = below;
        self.space.close();
        ran
    }
}
