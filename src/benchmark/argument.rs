//! Arguments to measure a function at: written in the language, or generated.
//!
//! A written argument becomes the body of a function of n after the program's text, so that it may call whatever
//! the program defines. Its errors are shown as those of a text of its own.

use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::{Reading, Shape, read};
use crate::ks::source::Source;
use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::term::{FunName, Span};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// The name of the size in a written argument.
pub const SIZE: &str = "n";

/// A written argument behind a program.
#[derive(Clone, Debug)]
pub struct Written {
    /// The function that gives the argument.
    pub name: FunName,
    /// The program with that function.
    pub program: Source,
    /// The argument alone, as the user wrote it.
    pub text: Source,
    /// The offset of its start in the program.
    start: usize,
}

impl Written {
    /// Returns the argument `text`, of type `ty`: an expression, whose outer parentheses may be left out (`model n 25
    /// 10`), or the name of a function without parameters, as `is_constant` tells.
    ///
    /// Errors: those of the reader, with places in [`Written::text`]; the text is empty.
    pub fn new(
        program: &Source,
        text: &Source,
        ty: &Type,
        is_taken: impl Fn(&FunName) -> bool,
        is_constant: impl Fn(&FunName) -> bool,
    ) -> Result<Written, Vec<Diagnostic>> {
        let Reading { forms, errors, .. } = read(text.text());
        if !errors.is_empty() {
            return Err(errors);
        }
        let is_called = match forms.as_slice() {
            [one] => matches!(&one.shape, Shape::Symbol(name) if is_constant(&FunName::base(name))),
            _ => true,
        };
        let mut name = String::from("bench_argument");
        while is_taken(&FunName::base(&name)) {
            name.push('_');
        }
        let (open, close) = if is_called { ("(", ")") } else { ("", "") };
        let before = format!("\n(def {name} {ty} ({SIZE} : Integer)\n{open}");
        // The text may end with a comment.
        let argument = Source::new(text.name(), &format!("{before}{}\n{close})\n", text.text()));
        let start = program.text().len() + before.len();
        Ok(Written { name: FunName::base(&name), program: program.followed_by(argument), text: text.clone(), start })
    }

    /// Returns a place of the program as one of the argument's text; None for places outside of it.
    pub fn place(&self, span: Span) -> Option<Span> {
        let length = self.text.text().len() as u32;
        let start = span.start.checked_sub(self.start as u32).filter(|start| *start <= length)?;
        Some(Span { start, end: (span.end - self.start as u32).min(length) })
    }

    /// Errors of the program as errors of the argument's text. The program alone has none.
    pub fn placed(&self, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let placed = |error: Diagnostic| {
            let related = error.related.into_iter().filter_map(|(span, words)| Some((self.place(span)?, words)));
            Diagnostic { span: error.span.and_then(|span| self.place(span)), related: related.collect(), ..error }
        };
        errors.into_iter().map(placed).collect()
    }
}

/// Returns whether a generated argument of the type needs a size.
pub fn needs_size(ty: &Type) -> bool {
    match ty {
        Type::Integer | Type::Tensor(..) => true,
        Type::Tuple(parts) => parts.iter().any(needs_size),
        Type::Float | Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => false,
    }
}

/// Returns how many elements the tensors of a generated argument have; None where there are far too many to count, or
/// where the type has functions, linear maps or records, of which there are no random ones.
pub fn elements(ty: &Type, size: u64) -> Option<u64> {
    match ty {
        Type::Float | Type::Integer | Type::Bool | Type::String => Some(1),
        Type::Tuple(parts) => parts.iter().try_fold(0u64, |sum, ty| sum.checked_add(elements(ty, size)?)),
        Type::Tensor(rank, element) => size.checked_pow(*rank as u32)?.checked_mul(elements(element, size)?),
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => None,
    }
}

/// Returns a random value: tensors have `size` elements in each dimension, Floats lie in [0, 1). Integers are indices:
/// in tensors any from 0 to `size - 1`, elsewhere the last, so that work that goes with it grows with the size.
///
/// Panics for functions, linear maps and records.
pub fn generated(ty: &Type, size: usize, random: &mut SplitMix) -> Value {
    match ty {
        Type::Integer => Value::Integer(size.saturating_sub(1) as i64),
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(|ty| generated(ty, size, random)).collect()),
        ty => element(ty, size, random),
    }
}

fn element(ty: &Type, size: usize, random: &mut SplitMix) -> Value {
    match ty {
        Type::Float => Value::Float((random.draw() >> 11) as f64 / (1u64 << 53) as f64),
        Type::Integer => Value::Integer((random.draw() % size.max(1) as u64) as i64),
        Type::Bool => Value::Bool(random.draw().is_multiple_of(2)),
        Type::String => Value::String("text".into()),
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(|ty| element(ty, size, random)).collect()),
        Type::Tensor(rank, inner) => {
            let elements = (0..size.pow(*rank as u32)).map(|_| element(inner, size, random)).collect();
            Value::Tensor(Arc::new(Tensor::new(vec![size; *rank], elements)))
        }
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("no random {ty}"),
    }
}
