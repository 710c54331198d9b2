//! Defines the value of each primitive.

use super::interpreter::{Interpreter, witness};
use crate::map;
use crate::prim::Prim;
use crate::random::hash;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::Position;
use crate::types::Type;
use crate::value::LinearMap;
use crate::value::Value::{self, Bool, Float, Integer, Map};
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

impl Interpreter<'_> {
    /// Returns the value of `p(args)`, of type `ty`.
    pub(super) fn prim(&mut self, p: Prim, args: &[Value], ty: &Type) -> Outcome {
        self.counts.accesses += accesses(p, args);
        match args {
            [Integer(a), Integer(b)] => self.integer2(p, *a, *b, args, ty),
            [Integer(a)] => self.integer1(p, *a, args, ty),
            [Float(a), Float(b)] => self.float2(p, *a, *b, args, ty),
            [Float(a)] => self.float1(p, *a, args, ty),
            _ => self.other(p, args, ty),
        }
    }

    fn integer2(&mut self, p: Prim, a: i64, b: i64, args: &[Value], ty: &Type) -> Outcome {
        Ok(match p {
            Prim::Add => Integer(a.wrapping_add(b)),
            Prim::Sub => Integer(a.wrapping_sub(b)),
            Prim::Mul => Integer(a.wrapping_mul(b)),
            Prim::Div if b == 0 => return fail(ErrorKind::DivisionByZero(a)),
            Prim::Div => Integer(a.wrapping_div(b)),
            Prim::Gt => Bool(a > b),
            Prim::Lt => Bool(a < b),
            Prim::Gte => Bool(a >= b),
            Prim::Lte => Bool(a <= b),
            _ => return self.other(p, args, ty),
        })
    }

    fn integer1(&mut self, p: Prim, a: i64, args: &[Value], ty: &Type) -> Outcome {
        Ok(match p {
            Prim::Neg => Integer(a.wrapping_neg()),
            Prim::Abs => Integer(a.wrapping_abs()),
            Prim::ToFloat => Float(a as f64),
            Prim::Ranhashdoub => Float(ranhashdoub(a)),
            _ => return self.other(p, args, ty),
        })
    }

    fn float2(&mut self, p: Prim, a: f64, b: f64, args: &[Value], ty: &Type) -> Outcome {
        match p {
            Prim::Div | Prim::Libm(_) => self.counts.nonlinear += 1,
            Prim::Min | Prim::Max | Prim::Gt | Prim::Lt | Prim::Gte | Prim::Lte => self.counts.comparisons += 1,
            _ => {}
        }
        Ok(match p {
            Prim::Div => self.float(p, &[a, b], a / b),
            Prim::Libm(f) => self.float(p, &[a, b], f.at(&[a, b]).expect("a function of two Floats")),
            Prim::Min => Float(if a <= b { a } else { b }),
            Prim::Max => Float(if a >= b { a } else { b }),
            Prim::Gt => Bool(a > b),
            Prim::Lt => Bool(a < b),
            Prim::Gte => Bool(a >= b),
            Prim::Lte => Bool(a <= b),
            _ => return self.other(p, args, ty),
        })
    }

    fn float1(&mut self, p: Prim, a: f64, args: &[Value], ty: &Type) -> Outcome {
        let value = match p {
            Prim::Abs => a.abs(),
            Prim::Libm(f) => f.at(&[a]).expect("a function of one Float"),
            Prim::Sqrt => a.sqrt(),
            Prim::ToInteger => return Ok(Integer(a as i64)),
            _ => return self.other(p, args, ty),
        };
        self.counts.nonlinear += 1;
        Ok(self.float(p, &[a], value))
    }

    /// Returns the result of an operation, after a look at it.
    fn float(&mut self, p: Prim, inputs: &[f64], result: f64) -> Value {
        Float(self.record(p.name(), inputs, result))
    }

    /// Evaluates primitives on several types, on vectors and on linear maps.
    fn other(&mut self, p: Prim, args: &[Value], ty: &Type) -> Outcome {
        if let Some(outcome) = self.array(p, args, ty) {
            return outcome;
        }
        Ok(match (p, args) {
            (Prim::Add, [x, y]) => self.add(x, y)?,
            (Prim::Sub, [x, y]) => self.sub(x, y)?,
            (Prim::Neg, [x]) => self.neg(x),
            (Prim::Mul, [Float(k), x]) => self.scale(*k, x),
            (Prim::Dot, [x, y]) => Float(self.dot(x, y)?),
            (Prim::ZeroOf, [w]) => self.zero(w),
            (Prim::Powi, [Float(x), Integer(n)]) => {
                self.counts.nonlinear += 1;
                self.float(p, &[*x, *n as f64], x.powf(*n as f64))
            }
            (Prim::Eq, [x, y]) => Bool(x == y),
            (Prim::Ne, [x, y]) => Bool(x != y),
            (Prim::And, [Bool(a), Bool(b)]) => Bool(*a && *b),
            (Prim::Or, [Bool(a), Bool(b)]) => Bool(*a || *b),
            (Prim::Not, [Bool(a)]) => Bool(!a),
            (Prim::BoolToFloat, [Bool(a)]) => Float(f64::from(*a)),
            (Prim::StopGradient, [x]) => x.clone(),
            (Prim::Print, _) => self.print(args),
            (Prim::Trace, [x]) => {
                self.print(std::slice::from_ref(x));
                x.clone()
            }
            // The witness shows the codomain to the passes; it changes nothing.
            (Prim::LmTo, [_, m]) => m.clone(),
            (Prim::Into, [_, x]) => x.clone(),
            (Prim::LmApply, [Map(m), dx]) => map::apply(self, m, dx)?,
            (Prim::LmApplyR, [dr, Map(m)]) => map::apply_reverse(self, dr, m)?,
            _ => Map(Arc::new(linear_map(p, args, ty))),
        })
    }

    fn print(&mut self, args: &[Value]) -> Value {
        for v in args {
            // `print` writes a tuple without brackets. A full output pipe is no error of the program.
            let _ = match v {
                Value::Tuple(parts) => {
                    let parts: Vec<String> = parts.iter().map(Value::to_string).collect();
                    write!(self.output, "{}", parts.join(","))
                }
                other => write!(self.output, "{other}"),
            };
        }
        Integer(args.len() as i64)
    }
}

/// Returns the number of operands and results, all scalars. Vector spaces count theirs Float by Float.
fn accesses(p: Prim, args: &[Value]) -> u64 {
    let in_vector_space = matches!(p, Prim::Add | Prim::Sub | Prim::Neg | Prim::Mul | Prim::Dot)
        && args.iter().any(|arg| matches!(arg, Float(_)));
    let is_scalar = |arg: &Value| matches!(arg, Float(_) | Integer(_) | Bool(_));
    if in_vector_space || !args.iter().all(is_scalar) { 0 } else { args.len() as u64 + 1 }
}

/// Returns the linear map that the operator `p` builds, of type `ty`.
fn linear_map(p: Prim, args: &[Value], ty: &Type) -> LinearMap {
    let maps =
        || args.iter().map(|m| if let Map(m) = m { m.clone() } else { panic!("{m:?} is no linear map") }).collect();
    let (s, t) = ty.as_lm().unwrap_or_else(|| panic!("{} gives no linear map on {args:?}", p.name()));
    match (p, args) {
        (Prim::LmZero, [s, t]) => LinearMap::Zero(s.clone(), t.clone()),
        (Prim::LmOne, [s]) => LinearMap::One(s.clone()),
        (Prim::LmScale, [s, Float(k)]) => LinearMap::Scale(s.clone(), *k),
        (Prim::LmScaleR, [v]) => LinearMap::ScaleR(v.clone()),
        (Prim::LmDot, [v]) => LinearMap::Dot(v.clone()),
        (Prim::LmAdd, [Map(m), Map(n)]) => LinearMap::Add(m.clone(), n.clone()),
        (Prim::LmVCat, _) => LinearMap::VCat(maps()),
        (Prim::LmHCat, _) => LinearMap::HCat(maps()),
        (Prim::LmVCatV, [Value::Tensor(v)] | [_, Value::Tensor(v)]) => LinearMap::VCatV(v.clone(), witness(s)),
        (Prim::LmHCatV, [Value::Tensor(v)]) => LinearMap::HCatV(v.clone(), witness(t)),
        (Prim::LmHCatV, [w, Value::Tensor(v)]) => LinearMap::HCatV(v.clone(), Some(w.clone())),
        (Prim::LmAddV, [t, Value::Tensor(v)]) => LinearMap::AddV(v.elements().to_vec(), t.clone(), witness(s)),
        (Prim::LmIndex, [i, Value::Tensor(v)]) => LinearMap::Index(Position::of(i), v.clone()),
        (Prim::LmSum, [Value::Tensor(v)]) => LinearMap::Sum(v.clone(), witness(t)),
        (Prim::LmFold, [Integer(n), s, t, Value::Function(f)]) => LinearMap::Fold(*n, s.clone(), t.clone(), f.clone()),
        (Prim::LmCompose, [Map(m), Map(n)]) => LinearMap::Compose(m.clone(), n.clone()),
        (Prim::LmTranspose, [Map(m)]) => LinearMap::Transpose(m.clone()),
        (Prim::LmL, [Value::Function(f)]) => LinearMap::L(f.clone(), witness(s)),
        (Prim::LmLT, [Value::Function(f)]) => LinearMap::LT(f.clone(), witness(t)),
        _ => panic!("{} has no meaning on {args:?}", p.name()),
    }
}

fn fail(kind: ErrorKind) -> Outcome {
    Err(RuntimeError::new(kind))
}

/// Returns a hash of an Integer, uniform in `[0, 1)`: the finaliser of SplitMix64.
pub fn ranhashdoub(k: i64) -> f64 {
    (hash(k as u64) >> 11) as f64 / (1u64 << 53) as f64
}
