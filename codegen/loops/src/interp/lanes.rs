//! Loops in lanes: W iterations at once, statement by statement, as `emit::lanes` has them.
//!
//! ```text
//! for i in a..b lanes W carrying (y = c) s
//!   =   Y = (0, .., 0);  for I in a, a + W, .. < b { s in the lanes where i < b }, Y = next y;   y = c + Y1 + .. + YW
//! ```
//!
//! Every local has a word in each lane, and every lane has its own arena. Nothing is uniform or shared, so the results
//! of `Divergence` are not needed here. Sums start at 0 (-0.0) in each lane and are added up by halves at the end. The
//! rest that a wide loop leaves runs in fewer lanes. Additions of several lanes to one element are done lane by lane.
//! Native code may add up the lanes first, but not with exact arithmetic.

use super::frame::Frame;
use super::ops::apply;
use super::run::{Run, set_carried};
use super::word::Word;
use super::{Machine, Stop};
use crate::analyses::independence::{Best, Carried, bests, carried};
use crate::ir::{For, Op, Scalar};

/// More than so many vectors side by side make a loop wide.
const ABREAST: usize = 2;

/// A carried value that each lane has its own of, by its number in order.
struct Own {
    place: usize,
    /// The operation of a sum; none for other values.
    addition: Option<Op>,
    /// The value in each lane.
    words: Vec<Word>,
}

impl<'a> Machine<'a> {
    pub(super) fn run_in_lanes(&mut self, frame: &mut Frame<'a>, looped: &'a For) -> Run {
        let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a, 0).integer());
        let init: Vec<Word> = looped.carried.iter().map(|(_, a)| self.operand(frame, a, 0)).collect();
        set_carried(frame, 0, looped, &init)?;
        let mut own = own(frame, looped, &init)?;
        self.run_all_iterations(frame, looped, &mut own, from?, to?)?;
        let mut results = init;
        for sum in &own {
            if let Some(op) = sum.addition {
                let [total] = folded(op, sum.words.clone(), 1)?[..] else { panic!("one lane is left") };
                results[sum.place] = apply(op, &[results[sum.place], total], 0)?;
            }
        }
        for best in bests(&frame.function.locals, looped) {
            let lane = best_lane(&best, &own)?;
            own.iter().filter(|x| best.members().any(|i| i == x.place)).for_each(|x| results[x.place] = x.words[lane]);
        }
        Ok(looped.results.iter().zip(results).try_for_each(|(x, word)| frame.set(*x, 0, word))?)
    }

    fn run_all_iterations(
        &mut self,
        frame: &mut Frame<'a>,
        looped: &'a For,
        own: &mut [Own],
        from: i64,
        to: i64,
    ) -> Run {
        let width = looped.lanes as usize;
        let narrow = ABREAST * self.floats;
        if width <= narrow || own.iter().any(|own| own.addition.is_none()) {
            return self.groups(frame, looped, own, (from, to), width);
        }
        let whole = to.wrapping_sub(from).max(0) / width as i64 * width as i64;
        self.groups(frame, looped, own, (from, from.wrapping_add(whole)), width)?;
        for sum in own.iter_mut() {
            sum.words = folded(sum.addition.expect("all are sums"), std::mem::take(&mut sum.words), narrow)?;
        }
        self.groups(frame, looped, own, (from.wrapping_add(whole), to), narrow)
    }

    /// The iterations of a range, so many at once.
    fn groups(
        &mut self,
        frame: &mut Frame<'a>,
        looped: &'a For,
        own: &mut [Own],
        (from, to): (i64, i64),
        width: usize,
    ) -> Run {
        let mut first = from;
        while first < to {
            let on: Vec<usize> = (0..width).take_while(|lane| (*lane as i64) < to - first).collect();
            self.group(frame, looped, own, first, (&on, width))?;
            first = first.saturating_add(width as i64);
        }
        Ok(())
    }

    fn group(
        &mut self,
        frame: &mut Frame<'a>,
        looped: &'a For,
        own: &mut [Own],
        first: i64,
        (on, width): (&[usize], usize),
    ) -> Run {
        let below = frame.arena;
        let arenas = (0..width).map(|lane| self.space.open(below, lane as u64 * self.space.capacity));
        let arenas: Vec<usize> = arenas.collect();
        (frame.arena, frame.width) = (arenas[0], width);
        for lane in on {
            frame.set(looped.index, *lane, Word::Integer(first + *lane as i64))?;
            own.iter().try_for_each(|own| frame.set(looped.carried[own.place].0, *lane, own.words[*lane]))?;
        }
        let ran = self.run_block(frame, on, &looped.body);
        for own in own.iter_mut() {
            on.iter().for_each(|lane| own.words[*lane] = self.operand(frame, &looped.body.results[own.place], *lane));
        }
        (frame.arena, frame.width) = (below, 1);
        self.space.merge(below, arenas[0]);
        ran
    }
}

/// Returns the values that each lane has its own copy of, as they are before the first iteration.
///
/// Errors: the loop carries something else.
fn own(frame: &Frame, looped: &For, init: &[Word]) -> Run<Vec<Own>> {
    let carried = carried(&frame.function.locals, looped).map_err(|refusal| Stop::fault(refusal.to_string()))?;
    let width = looped.lanes as usize;
    let own = |(place, carried): (usize, &Carried)| match carried {
        Carried::Sum => {
            let is_float = frame.function.ty(&looped.results[place].into()) == Scalar::Float.ty();
            let (op, zero) = if is_float { (Op::AddF, Word::Float(-0.0)) } else { (Op::AddI, Word::Integer(0)) };
            Some(Own { place, addition: Some(op), words: vec![zero; width] })
        }
        Carried::Best(_) => Some(Own { place, addition: None, words: vec![init[place]; width] }),
        Carried::Same => None,
    };
    Ok(carried.iter().enumerate().filter_map(own).collect())
}

/// The sums of halves, of halves of these, and so on, until so many lanes are left.
fn folded(op: Op, mut words: Vec<Word>, width: usize) -> Result<Vec<Word>, String> {
    while words.len() > width {
        let (first, second) = words.split_at(words.len() / 2);
        words = first.iter().zip(second).map(|(a, b)| apply(op, &[*a, *b], 0)).collect::<Result<_, _>>()?;
    }
    Ok(words)
}

/// The lane that has the best of all elements: halves beside halves.
fn best_lane(best: &Best, own: &[Own]) -> Result<usize, String> {
    let words = |place: usize| &own.iter().find(|own| own.place == place).expect("each lane has its own").words;
    let (values, places) = (words(best.value), best.place.map(words));
    let mut lanes: Vec<usize> = (0..values.len()).collect();
    while lanes.len() > 1 {
        let (first, second) = lanes.split_at(lanes.len() / 2);
        let better = |(a, b): (&usize, &usize)| Ok(if is_better(best, values, places, [*a, *b])? { *b } else { *a });
        lanes = first.iter().zip(second).map(better).collect::<Result<_, String>>()?;
    }
    Ok(lanes[0])
}

/// Returns whether the second lane has a better element than the first.
fn is_better(best: &Best, values: &[Word], places: Option<&Vec<Word>>, [a, b]: [usize; 2]) -> Result<bool, String> {
    let is_float = matches!(values[a], Word::Float(_));
    let (less, equal) = if is_float { (Op::LtF, Op::EqF) } else { (Op::LtI, Op::EqI) };
    let compare = |op, a: Word, b: Word| apply(op, &[a, b], 0)?.boolean();
    let better = match best.taken.larger {
        true => compare(less, values[a], values[b])?,
        false => compare(less, values[b], values[a])?,
    };
    let Some(places) = places else { return Ok(better) };
    let counts = match best.taken.last {
        true => compare(Op::LtI, places[a], places[b])?,
        false => compare(Op::LtI, places[b], places[a])?,
    };
    Ok(better || counts && compare(equal, values[a], values[b])?)
}
