//! Random points and directions.

use indexmap::IndexMap;
use lm::random::SplitMix;
use lm::sizes::{Atom, Polynomial, Signature, SizedType};
use lm::tensor::{Position, Tensor};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// The largest size that is drawn where nothing asks for a larger one.
const LARGEST: usize = 4;

/// Random values. SplitMix64: the same for the same seed, everywhere.
#[derive(Debug)]
pub struct Random {
    numbers: SplitMix,
    /// The size of every tensor, in each dimension: so sizes that must agree do.
    side: usize,
    /// The size variables of the last argument that has some.
    sizes: IndexMap<Arc<str>, i64>,
    /// Whether each tensor inside of a tensor has its own size, where none is said.
    is_jagged: bool,
}

impl Random {
    /// Values from a seed.
    pub fn new(seed: u64) -> Random {
        Random { numbers: SplitMix::new(seed), side: 0, sizes: IndexMap::new(), is_jagged: false }
    }

    fn next(&mut self) -> u64 {
        self.numbers.draw()
    }

    /// Uniform in [-1, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Returns a random argument: tensors have one size in all dimensions.
    pub fn point(&mut self, ty: &Type) -> Value {
        self.point_from(ty, 0)
    }

    /// Returns a random argument: tensors have one size in all dimensions, which is not below `least`.
    pub fn point_from(&mut self, ty: &Type, least: usize) -> Value {
        if ty.mentions_array() {
            self.side = self.size_from(least, LARGEST);
        }
        self.value(ty)
    }

    /// Returns a size between these two.
    fn size_from(&mut self, least: usize, largest: usize) -> usize {
        least + (self.next() % (1 + largest - least) as u64) as usize
    }

    /// Returns a random argument in which tensors have one size, not zero, in all dimensions, and Integers have this
    /// size, too. An Integer inside of a tensor is an index into such a tensor.
    pub fn point_of_one_size(&mut self, ty: &Type) -> Value {
        self.side = self.size_from(1, LARGEST);
        let value = self.value(ty);
        self.with_one_size(value, false)
    }

    /// Returns a random argument of the sizes that a signature says. Sizes are not below `least`, where that can be.
    /// Other tensors have one size, but for those inside of tensors where `is_jagged`: each has its own.
    pub fn point_of_sizes(&mut self, signature: &Signature, least: usize, is_jagged: bool) -> Value {
        self.draw_sizes(signature, least);
        self.side = self.size_from(least, LARGEST);
        self.is_jagged = is_jagged;
        let mut parts: Vec<Value> = signature.params.iter().map(|(_, ty)| self.sized_value(ty, false)).collect();
        if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
    }

    /// Draws the size variables. A difference of sizes may need larger ones than others do, so the range grows.
    fn draw_sizes(&mut self, signature: &Signature, least: usize) {
        const TRIES: usize = 16;
        let sizes: Vec<&Polynomial> = signature.params.iter().flat_map(|(_, ty)| ty.sizes()).collect();
        for least in [least, 0] {
            for more in 0..TRIES {
                self.draw_sizes_up_to(signature, least, LARGEST + more);
                if sizes.iter().all(|n| n.as_constant().is_some() || self.number(n) >= least as i64) {
                    return;
                }
            }
        }
        self.draw_sizes_up_to(signature, least, LARGEST);
    }

    fn draw_sizes_up_to(&mut self, signature: &Signature, least: usize, largest: usize) {
        let variables = signature.variables();
        self.sizes = variables.into_iter().map(|name| (name, self.size_from(least, largest) as i64)).collect();
    }

    /// Returns a random value of a type with sizes.
    fn sized_value(&mut self, ty: &SizedType, in_tensor: bool) -> Value {
        match ty {
            SizedType::Plain(ty) => self.value(ty),
            SizedType::Number(n) => Value::Integer(self.size(n) as i64),
            SizedType::Index(sizes) => {
                let index = sizes.iter().map(|n| (self.next() % self.size(n).max(1) as u64) as i64).collect::<Vec<_>>();
                Position::from(index).value()
            }
            SizedType::Tuple(parts) => {
                Value::Tuple(parts.iter().map(|part| self.sized_value(part, in_tensor)).collect())
            }
            SizedType::Tensor(sizes, element) => {
                let size = |n: &Option<Polynomial>| match n {
                    Some(n) => self.size(n),
                    None if self.is_jagged && in_tensor => self.size_from(0, LARGEST),
                    None => self.side,
                };
                let sizes = sizes.iter().map(size).collect::<Vec<_>>();
                let elements = (0..sizes.iter().product()).map(|_| self.sized_value(element, true)).collect();
                Value::Tensor(Arc::new(Tensor::new(sizes, elements)))
            }
        }
    }

    /// Returns a size; 0 where it would be negative.
    fn size(&self, n: &Polynomial) -> usize {
        usize::try_from(self.number(n)).unwrap_or(0)
    }

    /// Returns what a polynomial in size variables is.
    fn number(&self, n: &Polynomial) -> i64 {
        let by = |atom: &Atom| match atom {
            Atom::Variable(name) => self.sizes.get(name).map(|n| Polynomial::constant(*n)),
            Atom::Number(..) => None,
        };
        n.substituted(&by).and_then(|n| n.as_constant()).expect("sizes are of size variables")
    }

    fn with_one_size(&mut self, value: Value, in_tensor: bool) -> Value {
        match value {
            Value::Integer(_) if in_tensor => Value::Integer((self.next() % self.side as u64) as i64),
            Value::Integer(_) => Value::Integer(self.side as i64),
            Value::Tuple(parts) => {
                Value::Tuple(parts.into_iter().map(|part| self.with_one_size(part, in_tensor)).collect())
            }
            Value::Tensor(t) => {
                let elements = t.elements().iter().map(|x| self.with_one_size(x.clone(), true)).collect();
                Value::Tensor(Arc::new(t.with(elements)))
            }
            other => other,
        }
    }

    /// Returns a random value: Floats in [-2, 2), small Integers.
    ///
    /// Panics for functions and linear maps.
    fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Float => Value::Float(2.0 * self.unit()),
            Type::Integer => Value::Integer((self.next() % 9) as i64 - 2),
            Type::Bool => Value::Bool(self.next().is_multiple_of(2)),
            Type::String => Value::String("text".into()),
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(|t| self.value(t)).collect()),
            Type::Tensor(rank, element) => {
                let count = self.side.pow(*rank as u32);
                let elements = (0..count).map(|_| self.value(element)).collect();
                Value::Tensor(Arc::new(Tensor::new(vec![self.side; *rank], elements)))
            }
            Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("no random {ty}"),
        }
    }

    /// Returns a random tangent at a value, its Floats in [-1, 1).
    ///
    /// Panics for functions and linear maps.
    pub fn direction(&mut self, at: &Value) -> Value {
        match at {
            Value::Float(_) => Value::Float(self.unit()),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|v| self.direction(v)).collect()),
            Value::Integer(_) | Value::Bool(_) | Value::String(_) => Value::Tuple(vec![]),
            Value::Tensor(t) => {
                Value::Tensor(Arc::new(t.with(t.elements().iter().map(|v| self.direction(v)).collect())))
            }
            Value::Map(_) | Value::Function(_) | Value::Support(_) | Value::Record(_) => panic!("no tangent at {at}"),
        }
    }
}
