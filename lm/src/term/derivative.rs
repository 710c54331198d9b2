//! Names the derivatives that a function can have.
//!
//! ```text
//! [rev f]        the reverse derivative of f
//! [wrt$1$3.2 f]  f with respect to its first parameter and a component of the third
//! ```
//!
//! The names of derivatives are spelled in this file only: [`fmt::Display`] writes and [`FromStr`] reads them.
//! The table of recipes of the crate `lmc` gives the source and the passes of each derivative.

use super::Path;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A derivative of a function f : S -> T, or another function that is made from f.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Derivative {
    /// The Jacobian, `S -> LM S T`.
    D,
    /// The transposed Jacobian, `S -> LM T S`.
    Dt,
    /// The value with the Jacobian, `S -> (T, LM S T)`.
    Tupled,
    /// Linear map in, linear map out, `(S, LM a S) -> (T, LM a T)`.
    Polymorphic,
    /// Linear map to anywhere in, linear map to there out, `(S, LM S a) -> (T, LM T a)`.
    PolymorphicR,
    /// The function on dual numbers, `D(S1) .. D(Sn) -> D(T)`.
    Dual,
    /// The forward derivative, `(S, dS) -> dT`.
    Fwd,
    /// The reverse derivative, `(S, dT) -> dS`.
    Rev,
    /// The value with the forward derivative, `(S, dS) -> (T, dT)`.
    Jvp,
    /// The value with the reverse derivative, `(S, dT) -> (T, dS)`.
    Vjp,
    /// The forward half of the reverse derivative, `S -> (T, B)`: it records a B.
    SufFwdPass,
    /// The reverse half of the reverse derivative, `(dT, B) -> dS`: it consumes the B.
    SufRevPass,
    /// The reverse derivative by its two halves, `(S, dT) -> dS`.
    SufRev,
    /// The shape of the value, which is no derivative.
    Shape,
    /// The function after a way through the category language and back, which is no derivative.
    Cl,
    /// The gradient, `S -> dS`, for T = Float.
    Grad,
    /// The product of the Hessian and a vector, `(S, dS) -> dS`, for T = Float.
    Hvp,
    /// The dense Hessian, for T = Float.
    Hess,
    /// The dense Jacobian, by columns or by rows, whichever are fewer.
    Jac,
    /// The dense Jacobian, by columns.
    JacFwd,
    /// The dense Jacobian, by rows.
    JacRev,
    /// The function itself, with respect to these parts of the argument.
    Wrt(Arc<[Path]>),
}

/// A direction of differentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Tangents, along with the program.
    Forward,
    /// Cotangents, against the program.
    Reverse,
}

impl Mode {
    /// Returns the derivative of this mode.
    pub fn derivative(self) -> Derivative {
        match self {
            Mode::Forward => Derivative::Fwd,
            Mode::Reverse => Derivative::Rev,
        }
    }

    /// Returns the derivative of this mode that comes with the value.
    pub fn with_value(self) -> Derivative {
        match self {
            Mode::Forward => Derivative::Jvp,
            Mode::Reverse => Derivative::Vjp,
        }
    }
}

const WRT: &str = "wrt";

/// The facts about a derivative.
struct Row {
    derivative: Derivative,
    /// The word for it in programs.
    word: &'static str,
    /// The mode of differentiation that makes it; `None` where none does, or each of both can.
    mode: Option<Mode>,
    /// The mode in which a definition by hand is used in place of a derived one.
    replaces: Replaces,
    /// The other half, for a half of a reverse derivative.
    other_half: Option<Derivative>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Replaces {
    Nothing,
    OneMode(Mode),
    BothModes,
}

/// Returns the row of a derivative that is no half.
const fn row(derivative: Derivative, word: &'static str, mode: Option<Mode>, replaces: Replaces) -> Row {
    Row { derivative, word, mode, replaces, other_half: None }
}

/// Returns the row of a half of a reverse derivative.
const fn half(derivative: Derivative, word: &'static str, other: Derivative) -> Row {
    let replaces = Replaces::OneMode(Mode::Reverse);
    Row { derivative, word, mode: Some(Mode::Reverse), replaces, other_half: Some(other) }
}

/// All derivatives but those with respect to parts of the argument, in the order of the language's reference.
static ROWS: [Row; 21] = {
    use Derivative::*;
    const FORWARD: Option<Mode> = Some(Mode::Forward);
    const REVERSE: Option<Mode> = Some(Mode::Reverse);
    [
        row(D, "D", None, Replaces::BothModes),
        row(Dt, "Dt", None, Replaces::OneMode(Mode::Reverse)),
        row(Tupled, "tupled", None, Replaces::Nothing),
        row(Polymorphic, "polymorphic", None, Replaces::Nothing),
        row(PolymorphicR, "polymorphicR", None, Replaces::Nothing),
        row(Dual, "dual", None, Replaces::Nothing),
        row(Fwd, "fwd", FORWARD, Replaces::OneMode(Mode::Forward)),
        row(Rev, "rev", REVERSE, Replaces::OneMode(Mode::Reverse)),
        row(Jvp, "jvp", FORWARD, Replaces::Nothing),
        row(Vjp, "vjp", REVERSE, Replaces::Nothing),
        half(SufFwdPass, "suffwdpass", SufRevPass),
        half(SufRevPass, "sufrevpass", SufFwdPass),
        row(SufRev, "sufrev", REVERSE, Replaces::Nothing),
        row(Shape, "shape", None, Replaces::Nothing),
        row(Cl, "CL", None, Replaces::Nothing),
        row(Grad, "grad", None, Replaces::Nothing),
        row(Hvp, "hvp", None, Replaces::Nothing),
        row(Hess, "hess", None, Replaces::Nothing),
        row(Jac, "jac", None, Replaces::Nothing),
        row(JacFwd, "jacfwd", None, Replaces::Nothing),
        row(JacRev, "jacrev", None, Replaces::Nothing),
    ]
};

impl Derivative {
    /// Returns all derivatives but those with respect to parts of the argument, in the order of the language's
    /// reference.
    pub fn all() -> impl ExactSizeIterator<Item = Derivative> {
        ROWS.iter().map(|row| row.derivative.clone())
    }

    /// Returns the facts; `None` for a function with respect to parts of its argument.
    fn row(&self) -> Option<&'static Row> {
        let row = ROWS.iter().find(|row| row.derivative == *self);
        assert!(row.is_some() || self.varying().is_some(), "a derivative without a row in the table");
        row
    }

    /// Returns the word for the derivative in programs; for [`Derivative::Wrt`] its first letters.
    pub fn word(&self) -> &'static str {
        self.row().map_or(WRT, |row| row.word)
    }

    /// Returns the parts of the argument that vary, where the derivative names them.
    pub fn varying(&self) -> Option<&[Path]> {
        if let Derivative::Wrt(paths) = self { Some(paths) } else { None }
    }

    /// Returns the mode of differentiation that makes the derivative; `None` where none does, or each of both can.
    pub fn mode(&self) -> Option<Mode> {
        self.row().and_then(|row| row.mode)
    }

    /// Returns whether this is a half of a reverse derivative. The type of a half mentions B, the type of the record,
    /// which only the derivation or its user knows.
    pub fn is_half(&self) -> bool {
        self.other_half().is_some()
    }

    /// Returns the other half, for a half of a reverse derivative.
    pub fn other_half(&self) -> Option<Derivative> {
        self.row().and_then(|row| row.other_half.clone())
    }

    /// Returns whether the function differs from f: its shape, f through the category language and f with respect to
    /// parts of its argument are no derivatives.
    pub fn is_proper(&self) -> bool {
        !matches!(self, Derivative::Shape | Derivative::Cl | Derivative::Wrt(_))
    }

    /// Returns whether a definition of this derivative by hand is used in place of a derived one in a mode.
    pub fn replaces(&self, mode: Mode) -> bool {
        self.row().is_some_and(|row| [Replaces::BothModes, Replaces::OneMode(mode)].contains(&row.replaces))
    }
}

impl fmt::Display for Derivative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        self.varying().unwrap_or_default().iter().try_for_each(|path| {
            let path: Vec<String> = path.iter().map(usize::to_string).collect();
            write!(f, "${}", path.join("."))
        })
    }
}

/// A word that names no derivative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDerivative(pub String);

impl FromStr for Derivative {
    type Err = UnknownDerivative;

    fn from_str(word: &str) -> Result<Derivative, UnknownDerivative> {
        let known = Derivative::all().find(|derivative| derivative.word() == word);
        known.or_else(|| with_respect_to(word)).ok_or_else(|| UnknownDerivative(word.into()))
    }
}

/// Reads `wrt$1$3.2`.
fn with_respect_to(word: &str) -> Option<Derivative> {
    let paths = word.strip_prefix(WRT)?.strip_prefix('$')?;
    let step = |i: &str| i.parse().ok().filter(|i| *i > 0);
    let paths = paths.split('$').map(|path| path.split('.').map(step).collect());
    Some(Derivative::Wrt(paths.collect::<Option<_>>()?))
}
