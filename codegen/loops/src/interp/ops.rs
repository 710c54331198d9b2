//! The scalar operations, as native code has them with exact arithmetic.
//!
//! Functions of libm are the system's. The bits of NaNs are unspecified.

use super::word::Word::{self, Bool, Float, Integer, Text};
use crate::ir::Op;
use lm::interp::ranhashdoub;

/// The value of an operation, where chunks have at least so much work.
///
/// Errors: an operand is not set or of another type, or a divisor is 0.
pub(super) fn apply(op: Op, args: &[Word], grain: u64) -> Result<Word, String> {
    let value = match *args {
        [Float(a)] => float(op, a),
        [Float(a), Float(b)] => floats(op, a, b),
        [Integer(a)] => integer(op, a),
        [Integer(_), Integer(0)] if op == Op::DivI => return Err("a division by 0".into()),
        [Integer(a), Integer(b)] => integers(op, a, b),
        [Bool(a)] => boolean(op, a),
        [Bool(a), Bool(b)] => booleans(op, a, b),
        [Text(a), Text(b)] => (op == Op::EqT).then_some(Bool(a == b)),
        [Integer(n), Integer(cost), Integer(own), Integer(lanes)] => {
            (op == Op::Chunk).then(|| Integer(chunk_length([n, cost, own, lanes], grain)))
        }
        _ => None,
    };
    value.ok_or_else(|| format!("{} of {args:?}", op.name()))
}

fn float(op: Op, a: f64) -> Option<Word> {
    Some(Float(match op {
        Op::NegF => -a,
        Op::AbsF => a.abs(),
        Op::Sqrt => a.sqrt(),
        Op::Libm(f) => f.at(&[a])?,
        Op::ToInteger => return Some(Integer(a as i64)),
        _ => return None,
    }))
}

fn floats(op: Op, a: f64, b: f64) -> Option<Word> {
    Some(match op {
        Op::AddF => Float(a + b),
        Op::SubF => Float(a - b),
        Op::MulF => Float(a * b),
        Op::DivF => Float(a / b),
        Op::MinF => Float(if a <= b { a } else { b }),
        Op::MaxF => Float(if a >= b { a } else { b }),
        Op::Libm(f) => Float(f.at(&[a, b])?),
        Op::EqF => Bool(a == b),
        Op::LtF => Bool(a < b),
        Op::LeF => Bool(a <= b),
        _ => return None,
    })
}

fn integer(op: Op, a: i64) -> Option<Word> {
    Some(match op {
        Op::NegI => Integer(a.wrapping_neg()),
        Op::AbsI => Integer(a.wrapping_abs()),
        Op::ToFloat => Float(a as f64),
        Op::Hash => Float(ranhashdoub(a)),
        _ => return None,
    })
}

fn integers(op: Op, a: i64, b: i64) -> Option<Word> {
    Some(match op {
        Op::AddI => Integer(a.wrapping_add(b)),
        Op::SubI => Integer(a.wrapping_sub(b)),
        Op::MulI => Integer(a.wrapping_mul(b)),
        Op::DivI => Integer(a.wrapping_div(b)),
        Op::Count => Integer(a.checked_mul(b).unwrap_or(i64::MAX)),
        Op::Chunks => Integer(if a <= b { 1 } else { (a - 1) / b + 1 }),
        Op::EqI => Bool(a == b),
        Op::LtI => Bool(a < b),
        Op::LeI => Bool(a <= b),
        Op::Below => Bool((a as u64) < b as u64),
        _ => return None,
    })
}

fn boolean(op: Op, a: bool) -> Option<Word> {
    Some(match op {
        Op::Not => Bool(!a),
        Op::Likely => Bool(a),
        Op::BoolToFloat => Float(f64::from(a)),
        _ => return None,
    })
}

fn booleans(op: Op, a: bool, b: bool) -> Option<Word> {
    Some(Bool(match op {
        Op::EqB => a == b,
        Op::And => a && b,
        Op::Or => a || b,
        _ => return None,
    }))
}

/// The most chunks of a loop.
const MOST_CHUNKS: i64 = 64;

/// The most elements that the chunks of a loop have for themselves.
const MOST_OWN: i64 = 1 << 22;

/// How many iterations make a chunk: see `lmc.chunk` in `emit/chunks.ll`.
fn chunk_length([n, cost, own, lanes]: [i64; 4], grain: u64) -> i64 {
    let grain = grain as i64;
    let work = n.checked_mul(cost).unwrap_or(i64::MAX);
    if work < grain << 3 || n <= 0 {
        return n.max(1);
    }
    let mut chunks = (work / grain).min(MOST_CHUNKS).min(n);
    if own > 0 {
        let own = own.min(1 << 40);
        let dear = ((own * grain) << 5) / 3125;
        chunks = chunks.min(work / dear.max(1)).min(MOST_OWN / own);
    }
    if chunks <= 1 {
        return n;
    }
    let exact = (n + chunks - 1) / chunks;
    let unit = if n >= 1024 {
        63
    } else if n < 128 {
        0
    } else {
        7
    };
    let mask = unit | (lanes - 1);
    (exact + mask) & !mask
}
