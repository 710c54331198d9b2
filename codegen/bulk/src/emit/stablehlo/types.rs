//! Types and numbers as MLIR writes them.

use crate::ir::Scalar;
use lm::term::Constant;
use std::fmt;

/// The precision of Floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 64 bits, as in programs.
    #[default]
    F64,
    /// 32 bits: about 7 digits.
    F32,
}

impl Precision {
    /// Every precision.
    pub const ALL: &[Precision] = &[Precision::F64, Precision::F32];

    /// Returns the name, as MLIR and the command line have it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }

    /// Returns the type of elements.
    pub(super) fn element(self, scalar: Scalar) -> &'static str {
        match scalar {
            Scalar::Float => self.name(),
            Scalar::Integer => "i64",
            Scalar::Bool => "i1",
        }
    }
}

/// The type of an array: `tensor<8x3xf64>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ty {
    pub element: &'static str,
    pub dims: Vec<i64>,
}

impl Ty {
    /// Returns the type of one Integer.
    pub fn integer() -> Ty {
        Ty { element: "i64", dims: vec![] }
    }

    /// Returns the type of arrays of other sizes, with the same elements.
    pub fn sized(&self, dims: Vec<i64>) -> Ty {
        Ty { element: self.element, dims }
    }

    /// Returns the type of arrays of other elements, of the same size.
    pub fn of(&self, element: &'static str) -> Ty {
        Ty { element, dims: self.dims.clone() }
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Returns how `compare` compares elements.
    pub fn order(&self) -> &'static str {
        match self.element {
            "i64" => "SIGNED",
            "i1" => "UNSIGNED",
            _ => "FLOAT",
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("tensor<")?;
        self.dims.iter().try_for_each(|n| write!(f, "{n}x"))?;
        write!(f, "{}>", self.element)
    }
}

/// Returns a number as MLIR writes it.
pub fn literal(c: &Constant, precision: Precision) -> String {
    match c {
        Constant::Float(x) => float(*x, precision),
        Constant::Integer(n) => n.to_string(),
        Constant::Bool(b) => b.to_string(),
        Constant::String(_) => unreachable!("text is refused"),
    }
}

/// Returns a Float: with a point, as MLIR requires; by its bits where it is not finite.
fn float(x: f64, precision: Precision) -> String {
    let narrow = x as f32;
    match precision {
        Precision::F64 if !x.is_finite() => format!("0x{:016X}", x.to_bits()),
        Precision::F32 if !narrow.is_finite() => format!("0x{:08X}", narrow.to_bits()),
        _ => {
            let text = format!("{x:?}");
            match text.split_once('e') {
                Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
                _ => text,
            }
        }
    }
}

/// Returns numbers as a list: `[0, 2]`.
pub fn list(numbers: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(", "))
}
