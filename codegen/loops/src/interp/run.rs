//! Statements, one after the other, each in all lanes that are on.
//!
//! ```text
//! outside of lanes      there is one lane, 0
//! x = op a..            in each lane
//! check c else e        fails if c is false in a lane; with the numbers of the first
//! if c s else t         s in the lanes where c holds, then t in the others
//! for i in a..b s       as long as i < b in a lane: s in these lanes
//! ```

use super::frame::Frame;
use super::ops::apply;
use super::word::Word;
use super::{Failed, Machine, Stop};
use crate::ir::{Block, Failure, For, Function, Local, Op, Operand, Stmt};

/// The result of running a statement.
pub(super) type Run<T = ()> = Result<T, Stop>;

impl<'a> Machine<'a> {
    /// Runs a function on words.
    pub(super) fn run_function(&mut self, index: usize, args: &[Word], arena: usize, depth: usize) -> Run<Vec<Word>> {
        let function: &'a Function = &self.functions[index];
        if function.recursive && depth > self.options.depth {
            let numbers = vec![depth as i64];
            return Err(Failed { failure: Failure::RecursionTooDeep, numbers, span: function.span }.into());
        }
        let mut frame = Frame::new(function, arena, depth);
        for (x, word) in function.params.iter().zip(args) {
            frame.set(*x, 0, *word).map_err(|what| Stop::fault(what).at(function, "its parameters"))?;
        }
        self.run_block(&mut frame, &[0], &function.body)?;
        let results = function.body.results.iter().map(|a| self.operand(&frame, a, 0)).collect();
        frame.stack.into_iter().for_each(|(.., object)| self.space.forget(object));
        Ok(results)
    }

    pub(super) fn run_block(&mut self, frame: &mut Frame<'a>, on: &[usize], block: &'a Block) -> Run {
        block.stmts.iter().try_for_each(|stmt| self.run_stmt(frame, on, stmt))
    }

    fn run_stmt(&mut self, frame: &mut Frame<'a>, on: &[usize], stmt: &'a Stmt) -> Run {
        let function = frame.function;
        self.run_stmt_anywhere(frame, on, stmt).map_err(|stop| match stop {
            Stop::Fault(fault) if fault.place.is_none() => Stop::Fault(fault).at(function, &self.shown(function, stmt)),
            stop => stop,
        })
    }

    fn run_stmt_anywhere(&mut self, frame: &mut Frame<'a>, on: &[usize], stmt: &'a Stmt) -> Run {
        self.steps = self.steps.checked_sub(1).ok_or_else(|| Stop::fault("too many statements run"))?;
        match stmt {
            Stmt::Let(x, op, args) => on.iter().try_for_each(|lane| self.run_operation(frame, *lane, *x, *op, args)),
            Stmt::If(xs, condition, then, other) => self.run_conditional(frame, on, xs, condition, [then, other]),
            Stmt::For(looped) if looped.on_threads && frame.width == 1 => self.run_on_threads(frame, looped),
            Stmt::For(looped) if looped.lanes > 1 && frame.width == 1 => self.run_in_lanes(frame, looped),
            Stmt::For(looped) => self.run_loop(frame, on, looped),
            Stmt::Check { .. } => self.run_check(frame, on, stmt),
            Stmt::Memory(memory) => self.run_memory(frame, on, memory),
            _ if frame.width > 1 => Err(Stop::fault("a statement that does not run in lanes")),
            Stmt::Call(xs, callee, args) => {
                let args: Vec<Word> = args.iter().map(|a| self.operand(frame, a, 0)).collect();
                let results = self.run_function(callee.0, &args, frame.arena, frame.depth + 1)?;
                set_all(frame, 0, xs, results)
            }
            Stmt::Write(_) | Stmt::Bench { .. } | Stmt::External { .. } if frame.in_chunk => {
                Err(Stop::fault("a statement that does not run in a chunk"))
            }
            Stmt::Write(value) => self.write(frame, value),
            Stmt::Bench { seconds, given, body } => {
                // Any number of seconds may be right.
                let words = given.iter().map(|(_, a)| self.operand(frame, a, 0)).collect::<Vec<_>>();
                given.iter().zip(words).try_for_each(|((x, _), word)| frame.set(*x, 0, word))?;
                self.run_block(frame, on, body)?;
                Ok(frame.set(*seconds, 0, Word::Float(0.0))?)
            }
            Stmt::External { symbol, .. } => Err(Stop::fault(format!("{symbol} is implemented elsewhere"))),
        }
    }

    fn run_operation(&mut self, frame: &mut Frame<'a>, lane: usize, x: Local, op: Op, args: &'a [Operand]) -> Run {
        let mut words = [Word::Unset; 4];
        words.iter_mut().zip(args).for_each(|(word, a)| *word = self.operand(frame, a, lane));
        let value = apply(op, &words[..args.len()], self.options.grain)?;
        Ok(frame.set(x, lane, value)?)
    }

    fn run_conditional(
        &mut self,
        frame: &mut Frame<'a>,
        on: &[usize],
        xs: &[Local],
        condition: &Operand,
        arms: [&'a Block; 2],
    ) -> Run {
        let mut sides = [vec![], vec![]];
        for lane in on {
            let holds = self.operand(frame, condition, *lane).boolean()?;
            sides[usize::from(!holds)].push(*lane);
        }
        for (arm, side) in arms.into_iter().zip(sides).filter(|(_, side)| !side.is_empty()) {
            self.run_block(frame, &side, arm)?;
            for lane in side {
                let words: Vec<Word> = arm.results.iter().map(|a| self.operand(frame, a, lane)).collect();
                set_all(frame, lane, xs, words)?;
            }
        }
        Ok(())
    }

    fn run_check(&mut self, frame: &Frame<'a>, on: &[usize], stmt: &'a Stmt) -> Run {
        let Stmt::Check { condition, failure, numbers, span } = stmt else { panic!("{stmt:?} is no check") };
        for lane in on {
            if !self.operand(frame, condition, *lane).boolean()? {
                let numbers = numbers.iter().map(|a| self.operand(frame, a, *lane).integer());
                let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
                return Err(Failed { failure: *failure, numbers, span: *span }.into());
            }
        }
        Ok(())
    }

    pub(super) fn run_loop(&mut self, frame: &mut Frame<'a>, on: &[usize], looped: &'a For) -> Run {
        let mut on = on.to_vec();
        let all = on.clone();
        let mut ranges = vec![(0, 0); frame.width];
        for lane in &all {
            let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a, *lane).integer());
            ranges[*lane] = (from?, to?);
            let init: Vec<Word> = looped.carried.iter().map(|(_, a)| self.operand(frame, a, *lane)).collect();
            set_carried(frame, *lane, looped, &init)?;
        }
        loop {
            on.retain(|lane| ranges[*lane].0 < ranges[*lane].1);
            if on.is_empty() {
                break;
            }
            for lane in &on {
                frame.set(looped.index, *lane, Word::Integer(ranges[*lane].0))?;
                ranges[*lane].0 += 1;
            }
            self.run_block(frame, &on, &looped.body)?;
            for lane in &on {
                let next: Vec<Word> = looped.body.results.iter().map(|a| self.operand(frame, a, *lane)).collect();
                set_carried(frame, *lane, looped, &next)?;
            }
        }
        for lane in all {
            for (x, (y, _)) in looped.results.iter().zip(&looped.carried) {
                frame.set(*x, lane, frame.get(*y, lane))?;
            }
        }
        Ok(())
    }

    pub(super) fn operand(&self, frame: &Frame, a: &Operand, lane: usize) -> Word {
        match a {
            Operand::Local(x) => frame.get(*x, lane),
            Operand::Float(x) => Word::Float(*x),
            Operand::Integer(i) => Word::Integer(*i),
            Operand::Bool(b) => Word::Bool(*b),
            Operand::Text(text) => Word::Text(self.texts.number(text)),
        }
    }
}

pub(super) fn set_carried(frame: &mut Frame, lane: usize, looped: &For, words: &[Word]) -> Run {
    Ok(looped.carried.iter().zip(words).try_for_each(|((y, _), word)| frame.set(*y, lane, *word))?)
}

fn set_all(frame: &mut Frame, lane: usize, xs: &[Local], words: Vec<Word>) -> Run {
    Ok(xs.iter().zip(words).try_for_each(|(x, word)| frame.set(*x, lane, word))?)
}
