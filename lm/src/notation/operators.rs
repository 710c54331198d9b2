//! The infix operators: one table for the parser of laws and the printers.
//!
//! Signs are those of the working notes, Fig. 3. A higher level binds tighter.

use crate::prim::Prim;
use crate::term::Op;

/// The associativity of an operator: the meaning of a chain `a ∘ b ∘ c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// `(a ∘ b) ∘ c`.
    Left,
    /// `a ∘ (b ∘ c)`.
    Right,
    /// One operator on all of a, b and c.
    Chain,
    /// Not without parentheses.
    None,
}

/// One row of the table.
#[derive(Debug)]
pub struct Operator {
    /// The sign.
    pub sign: &'static str,
    /// The primitive.
    pub prim: Prim,
    /// The binding strength.
    pub level: u8,
    /// The associativity.
    pub grouping: Grouping,
    /// Whether the sign is used in the plain infix format, too; else only in `unicode` and in laws.
    pub ascii: bool,
}

use Grouping::{Chain, Left, None, Right};

#[rustfmt::skip]
/// The table.
pub static OPERATORS: &[Operator] = &[
    Operator { sign: "==", prim: Prim::Eq,        level: 2, grouping: None,  ascii: true },
    Operator { sign: "!=", prim: Prim::Ne,        level: 2, grouping: None,  ascii: true },
    Operator { sign: ">=", prim: Prim::Gte,       level: 2, grouping: None,  ascii: true },
    Operator { sign: "<=", prim: Prim::Lte,       level: 2, grouping: None,  ascii: true },
    Operator { sign: ">",  prim: Prim::Gt,        level: 2, grouping: None,  ascii: true },
    Operator { sign: "<",  prim: Prim::Lt,        level: 2, grouping: None,  ascii: true },
    Operator { sign: "+",  prim: Prim::Add,       level: 3, grouping: Left,  ascii: true },
    Operator { sign: "-",  prim: Prim::Sub,       level: 3, grouping: Left,  ascii: true },
    Operator { sign: "⊕",  prim: Prim::LmAdd,     level: 3, grouping: Left,  ascii: false },
    Operator { sign: "×",  prim: Prim::LmVCat,    level: 4, grouping: Chain, ascii: false },
    Operator { sign: "⋈",  prim: Prim::LmHCat,    level: 4, grouping: Chain, ascii: false },
    Operator { sign: "*",  prim: Prim::Mul,       level: 5, grouping: Left,  ascii: true },
    Operator { sign: "/",  prim: Prim::Div,       level: 5, grouping: Left,  ascii: true },
    Operator { sign: "⊙ᴿ", prim: Prim::LmApplyR,  level: 6, grouping: None,  ascii: false },
    Operator { sign: "⊙",  prim: Prim::LmApply,   level: 6, grouping: None,  ascii: false },
    Operator { sign: "•",  prim: Prim::Dot,       level: 6, grouping: None,  ascii: false },
    Operator { sign: "∘",  prim: Prim::LmCompose, level: 7, grouping: Right, ascii: false },
];

/// Signs in front of parentheses, beside the infix ones: `S(k)`, `V(v)`.
pub static FUNCTION_SIGNS: &[(&str, Prim)] = &[
    ("S", Prim::LmScale),
    ("V", Prim::LmVCatV),
    ("H", Prim::LmHCatV),
    ("L", Prim::LmL),
    ("L'", Prim::LmLT),
    ("0", Prim::LmZero),
    ("1", Prim::LmOne),
];

/// The level of a prefix minus and of the postfix transpose: tighter than any infix operator.
pub const PREFIX_LEVEL: u8 = 8;

/// Returns the operator that prints `prim`, if it has a sign.
pub fn of(prim: Prim) -> Option<&'static Operator> {
    OPERATORS.iter().find(|o| o.prim == prim)
}

/// Returns the operator whose sign `text` starts with; the longest sign wins.
pub fn at_start_of(text: &str) -> Option<&'static Operator> {
    OPERATORS.iter().filter(|o| text.starts_with(o.sign)).max_by_key(|o| o.sign.len())
}

/// Returns the name of an operator that every notation calls the same; none for primitives and their Jacobians.
pub fn word(op: &Op) -> Option<String> {
    Some(match op {
        Op::Tuple => "tuple".into(),
        Op::Get(i, n) => format!("get${i}${n}"),
        Op::If => "if".into(),
        Op::Assert => "assert".into(),
        Op::Dummy => "$dummy".into(),
        Op::Pack(f) => format!("$pack {f}"),
        Op::Unpack(ty) => format!("$unpack {ty}"),
        Op::Call(f) => f.name.to_string(),
        Op::JacobianAt(f) => format!("$jacobian_at {}", f.name),
        Op::LmGet(i, n) => format!("lmGet${i}${n}"),
        Op::Prim(_) | Op::JacobianOf(_) | Op::JacobianOfFun(_) => return Option::None,
    })
}
