//! Random points and directions.

use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// Random values. SplitMix64: the same for the same seed, everywhere.
#[derive(Debug)]
pub struct Random {
    numbers: SplitMix,
    /// The size of every tensor, in each dimension: so sizes that must agree do.
    side: usize,
}

impl Random {
    /// Values from a seed.
    pub fn new(seed: u64) -> Random {
        Random { numbers: SplitMix::new(seed), side: 0 }
    }

    fn next(&mut self) -> u64 {
        self.numbers.draw()
    }

    /// Uniform in [-1, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Returns a random argument: tensors have one size in all dimensions.
    pub fn point(&mut self, ty: &Type) -> Value {
        const LARGEST: u64 = 5;
        if ty.mentions_array() {
            self.side = (self.next() % LARGEST) as usize;
        }
        self.value(ty)
    }

    /// Returns a random argument in which tensors have one size, not zero, in all dimensions, and Integers have this
    /// size, too. An Integer inside of a tensor is an index into such a tensor.
    pub fn point_of_one_size(&mut self, ty: &Type) -> Value {
        const LARGEST: u64 = 4;
        self.side = 1 + (self.next() % LARGEST) as usize;
        let value = self.value(ty);
        self.with_one_size(value, false)
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
