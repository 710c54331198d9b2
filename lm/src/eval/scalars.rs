//! Defines the value of each primitive: here on scalars, in `arrays` and `map` the others.
//!
//! The functions of the C library are the rows of `libm`. Native code calls them by name, so a wrong row shows.

use super::evaluator::{Evaluator, fail};
use super::value::{Map, Outcome, Space, Val};
use super::vector::{add, dot, negative, scale, sub, untraced, zero};
use crate::prim::Prim;
use crate::random::hash;
use crate::runtime_error::ErrorKind;
use crate::term::Expr;
use crate::types::Type;
use Val::{Bool, Float, Integer};
use std::cmp::Ordering;
use std::rc::Rc;

impl Evaluator<'_> {
    /// Evaluates the primitive `p`, whose application is the term `e`.
    pub(super) fn prim(&self, p: Prim, args: &[Val], e: &Expr) -> Outcome {
        use Prim::*;
        match p {
            Libm(f) => {
                let numbers: Vec<f64> = args.iter().map(Val::float).collect();
                let value = f.at(&numbers).expect("so many arguments as the function has");
                self.float(p, args, value)
            }
            Sqrt => self.float(p, args, args[0].float().sqrt()),
            Powi => self.float(p, args, args[0].float().powf(args[1].integer() as f64)),
            Min => {
                let [a, b] = [args[0].float(), args[1].float()];
                self.float(p, args, if a <= b { a } else { b })
            }
            Max => {
                let [a, b] = [args[0].float(), args[1].float()];
                self.float(p, args, if a >= b { a } else { b })
            }
            Abs => match &args[0] {
                Float(a) => self.float(p, args, a.value.abs()),
                a => Ok(Integer(a.integer().wrapping_abs())),
            },
            Div => match (&args[0], &args[1]) {
                (Integer(a), Integer(0)) => fail(ErrorKind::DivisionByZero(*a)),
                (Integer(a), b) => Ok(Integer(a.wrapping_div(b.integer()))),
                (a, b) => self.float(p, args, a.float() / b.float()),
            },
            Mul => match (&args[0], &args[1]) {
                (Integer(a), b) => Ok(Integer(a.wrapping_mul(b.integer()))),
                (k, x) => scale(self, k, x),
            },
            Add => add(self, &args[0], &args[1]),
            Sub => sub(self, &args[0], &args[1]),
            Neg => negative(self, &args[0]),
            Dot => dot(self, &args[0], &args[1]),
            ZeroOf => Ok(zero(&args[0])),
            Gt => Ok(Bool(order(args) == Some(Ordering::Greater))),
            Lt => Ok(Bool(order(args) == Some(Ordering::Less))),
            Gte => Ok(Bool(order(args).is_some_and(Ordering::is_ge))),
            Lte => Ok(Bool(order(args).is_some_and(Ordering::is_le))),
            Eq => Ok(Bool(args[0].equals(&args[1]))),
            Ne => Ok(Bool(!args[0].equals(&args[1]))),
            And => Ok(Bool(args[0].boolean() && args[1].boolean())),
            Or => Ok(Bool(args[0].boolean() || args[1].boolean())),
            Not => Ok(Bool(!args[0].boolean())),
            ToFloat => Ok(Val::constant(args[0].integer() as f64)),
            // Rust's conversion truncates and saturates, as the language's does.
            ToInteger => Ok(Integer(args[0].float() as i64)),
            BoolToFloat => Ok(Val::constant(if args[0].boolean() { 1.0 } else { 0.0 })),
            Ranhashdoub => Ok(Val::constant((hash(args[0].integer() as u64) >> 11) as f64 / (1u64 << 53) as f64)),
            Print => Ok(self.print(args)),
            Trace => {
                self.print(args);
                Ok(args[0].clone())
            }
            StopGradient => untraced(self, &args[0]),
            Build | SumBuild | Sum | Imax | Index | Unzip | Size | CommonSize | AsSize | SameSize | InRange
            | VecInit | Fold | Place | Scanl | Map2 | Reduce | Scanr | Shift1L | Shift1R | Checkpoint | States
            | Replay | AddAt | Loop | Into | DeltaAt | Bench => self.array(p, args, e.ty()),
            LmApply => args[0].map().apply(self, &args[1]),
            LmApplyR => args[1].map().adjoint(self, &args[0]),
            // The witness shows the codomain to the passes; it changes nothing.
            LmTo => Ok(args[1].clone()),
            LmZero | LmOne | LmScale | LmScaleR | LmDot | LmAdd | LmVCat | LmHCat | LmVCatV | LmHCatV | LmAddV
            | LmIndex | LmSum | LmFold | LmCompose | LmTranspose | LmL | LmLT => {
                let (s, t) = e.ty().as_lm().expect("an operator on linear maps gives one");
                Ok(Val::map_of(self.linear_map(p, args, s, t)))
            }
        }
    }

    /// Returns the linear map from `s` to `t` that an operator makes.
    fn linear_map(&self, p: Prim, args: &[Val], s: &Type, t: &Type) -> Map {
        let maps = |of: &[Val]| of.iter().map(|m| m.map().clone()).collect::<Vec<Rc<Map>>>();
        match (p, args) {
            (Prim::LmZero, [s, t]) => Map::zero(s, t),
            (Prim::LmOne, [s]) => Map::one(s),
            (Prim::LmScale, [s, k]) => Map::scale(s, k),
            (Prim::LmScaleR, [v]) => Map::scale_r(v),
            (Prim::LmDot, [v]) => Map::dot(v),
            (Prim::LmAdd, [m, n]) => Map::add(m.map().clone(), n.map().clone()),
            (Prim::LmVCat, ms) => Map::vcat(maps(ms)),
            (Prim::LmHCat, ms) => Map::hcat(maps(ms)),
            (Prim::LmVCatV, [v] | [_, v]) => Map::vcat_v(v.tensor().size.clone(), maps(&v.tensor().elements), s),
            (Prim::LmHCatV, [v]) => Map::hcat_v(v.tensor().size.clone(), maps(&v.tensor().elements), Space::of_type(t)),
            (Prim::LmHCatV, [w, v]) => Map::hcat_v(v.tensor().size.clone(), maps(&v.tensor().elements), Space::of(w)),
            (Prim::LmAddV, [w, v]) => Map::add_v(w, maps(&v.tensor().elements), s),
            (Prim::LmIndex, [i, v]) => Map::index(i, v),
            (Prim::LmSum, [v]) => Map::sum(v, t),
            (Prim::LmFold, [n, s, t, f]) => Map::fold(n.integer(), s, t, f),
            (Prim::LmCompose, [m, n]) => Map::compose(m.map().clone(), n.map().clone()),
            (Prim::LmTranspose, [m]) => Map::transpose(m.map().clone()),
            (Prim::LmL, [f]) => Map::l(self, f, s),
            (Prim::LmLT, [f]) => Map::lt(self, f, t),
            _ => panic!("{} makes no linear map of {args:?}", p.name()),
        }
    }
}

/// Returns the order of two numbers; `None` if one is NaN.
fn order(args: &[Val]) -> Option<Ordering> {
    match (&args[0], &args[1]) {
        (Integer(a), Integer(b)) => Some(a.cmp(b)),
        (a, b) => a.float().partial_cmp(&b.float()),
    }
}
