//! One function of two modules, called with the same arguments: do they do the same?

use super::draw::Draw;
use loops::interp::{Machine, Options, Space, Stop, Word, expanded};
use loops::ir::{FunId, Function, Module};

/// Sets what a pass may change.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// How far Floats may lie apart, where sums are added up in another order.
    pub tolerance: f64,
    /// Whether checks go, so that a call that would fail has no meaning.
    pub unchecked: bool,
}

/// Calls of more statements are left out.
const STEPS: u64 = 200_000;

/// Holds the outcome of a call.
struct Ran<'a> {
    machine: Machine<'a>,
    args: Vec<Word>,
    results: Result<Vec<Word>, Stop>,
}

/// The outcome of a call, the same before the pass and after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Does {
    /// It gives values.
    Gives,
    /// A check stops it.
    Fails,
    /// It has no meaning with these arguments, or takes too long.
    Nothing,
}

/// The outcome in both modules, or how they differ.
pub type Compared = Result<Does, String>;

/// Calls the functions that two modules export first; where the first has a meaning, both must do the same.
///
/// Errors: what differs.
pub fn compare([before, after]: [&Module; 2], draw: Draw, rules: Rules) -> Compared {
    let all = [before, after].map(expanded);
    let wanted = run(before, &all[0], draw, Options { steps: STEPS, ..Options::default() });
    if wanted.same(&wanted, false, 0.0).is_err() {
        return Ok(Does::Nothing);
    }
    let does = match wanted.results {
        Ok(_) => Does::Gives,
        Err(Stop::Failed(_)) => Does::Fails,
        Err(Stop::Fault(_)) => return Ok(Does::Nothing),
    };
    if does == Does::Fails && rules.unchecked {
        return Ok(does);
    }
    for last_chunk_first in [false, true] {
        let options = Options { grain: 1, last_chunk_first, ..Options::default() };
        let found = run(after, &all[1], draw, options);
        wanted.same(&found, may_fail_otherwise(&all[1]), rules.tolerance)?;
    }
    Ok(does)
}

fn run<'a>(module: &'a Module, functions: &'a [Function], draw: Draw, options: Options) -> Ran<'a> {
    let mut machine = Machine::new(module, functions, options);
    let FunId(index) = module.exported[0];
    let args = draw.arguments(&functions[index], &mut machine.space);
    let results = machine.run(FunId(index), &args);
    Ran { machine, args, results }
}

/// Returns whether iterations run at once, so that another check may fail first.
fn may_fail_otherwise(functions: &[Function]) -> bool {
    let mut lanes = false;
    let visit = &mut |stmt: &loops::ir::Stmt| {
        lanes |= matches!(stmt, loops::ir::Stmt::For(looped) if looped.lanes > 1);
    };
    functions.iter().for_each(|function| function.body.visit(visit));
    lanes
}

impl Ran<'_> {
    /// Errors: what differs.
    fn same(&self, found: &Ran, fails_otherwise: bool, tolerance: f64) -> Result<(), String> {
        if self.machine.output != found.machine.output {
            return Err(format!("printed {:?} instead of {:?}", found.machine.output, self.machine.output));
        }
        match (&self.results, &found.results) {
            (Ok(wanted), Ok(results)) => {
                let pairs = wanted.iter().zip(results).chain(self.args.iter().zip(&found.args));
                let spaces = [&self.machine.space, &found.machine.space];
                pairs.into_iter().enumerate().try_for_each(|(i, (a, b))| {
                    same(spaces, [*a, *b], tolerance)
                        .map_err(|what| format!("in number {i} of results and arguments: {what}"))
                })
            }
            (Err(Stop::Failed(wanted)), Err(Stop::Failed(failed)))
                if wanted.failure == failed.failure && wanted.numbers == failed.numbers || fails_otherwise =>
            {
                Ok(())
            }
            (wanted, found) => Err(format!("{} instead of {}", told(found), told(wanted))),
        }
    }
}

fn told(results: &Result<Vec<Word>, Stop>) -> String {
    match results {
        Ok(words) => format!("{words:?}"),
        Err(stop) => format!("{stop}"),
    }
}

/// What is set on the left is the same on the right; there may be more there, where a buffer lies in a larger one.
fn same(spaces: [&Space; 2], words: [Word; 2], tolerance: f64) -> Result<(), String> {
    match words {
        [Word::Unset, _] => Ok(()),
        [Word::Buffer(..), Word::Buffer(..)] => {
            let [left, right] = [0, 1].map(|i| spaces[i].rest(words[i]));
            let (left, right) = (left?, right?);
            let rest = right.iter().copied().chain(std::iter::repeat(Word::Unset));
            left.iter()
                .zip(rest)
                .enumerate()
                .try_for_each(|(i, (a, b))| same(spaces, [*a, b], tolerance).map_err(|what| format!("{what} at {i}")))
        }
        [a, b] if a.same(b) || is_close(a, b, tolerance) => Ok(()),
        [a, b] => Err(format!("{b:?} instead of {a:?}")),
    }
}

fn is_close(a: Word, b: Word, tolerance: f64) -> bool {
    match (a, b) {
        (Word::Float(a), Word::Float(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0),
        _ => false,
    }
}
