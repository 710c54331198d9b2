//! Lowers the primitives on scalars; those on tensors are in `arrays`, those on any values in `vector_space`.

use super::body::{Body, Sharing};
use super::sink::Sink;
use super::value::Val;
use crate::error::Error;
use crate::ir::{Failure, Op, Operand, Scalar};
use lm::libm::Libm;
use lm::prim::Prim;
use lm::term::Expr;
use lm::types::Type;

type Lowered = Result<Val, Error>;

impl Body<'_> {
    /// The value of `p(args)`, of type `ty`.
    pub(super) fn lower_prim(&mut self, p: Prim, args: &[Expr], ty: &Type, sharing: Sharing) -> Lowered {
        match p {
            Prim::Add if !ty.has_fixed_shape() => return self.add_terms(args),
            Prim::Into => return self.starting_at_zero(args, &Sink::Own),
            Prim::Bench => return self.lower_timing_loop(&args[0]),
            Prim::StopGradient => return self.produce(&args[0], sharing),
            Prim::Trace => {
                let value = self.produce(&args[0], sharing)?;
                self.print(std::slice::from_ref(&value))?;
                return Ok(value);
            }
            _ => {}
        }
        if let Some(outcome) = self.lower_array_prim(p, args, ty, sharing) {
            return outcome;
        }
        let values = self.lower_values(args)?;
        match p {
            Prim::Add => self.zip(p, &values, Op::AddF, Op::AddI),
            Prim::Sub => self.zip(p, &values, Op::SubF, Op::SubI),
            Prim::Neg => self.negate(&values[0]),
            Prim::Mul => self.multiply(&values),
            Prim::Div => Ok(self.divide(&values)),
            Prim::Abs => Ok(self.by_type(&values, Op::AbsF, Op::AbsI)),
            Prim::Min => self.scalar(Op::MinF, &values),
            Prim::Max => self.scalar(Op::MaxF, &values),
            Prim::Libm(f) => self.scalar(Op::Libm(f), &values),
            Prim::Sqrt => self.scalar(Op::Sqrt, &values),
            Prim::Powi => {
                let exponent = self.op(Op::ToFloat, [values[1].leaf()]);
                self.scalar(Op::Libm(Libm::Pow), &[values[0].clone(), Val::Leaf(exponent)])
            }
            Prim::Gt => Ok(self.by_type(&[values[1].clone(), values[0].clone()], Op::LtF, Op::LtI)),
            Prim::Gte => Ok(self.by_type(&[values[1].clone(), values[0].clone()], Op::LeF, Op::LeI)),
            Prim::Lt => Ok(self.by_type(&values, Op::LtF, Op::LtI)),
            Prim::Lte => Ok(self.by_type(&values, Op::LeF, Op::LeI)),
            Prim::Eq => Ok(Val::Leaf(self.equal(&values[0], &values[1])?)),
            Prim::Ne => {
                let equal = self.equal(&values[0], &values[1])?;
                Ok(Val::Leaf(self.op(Op::Not, [equal])))
            }
            Prim::And => self.scalar(Op::And, &values),
            Prim::Or => self.scalar(Op::Or, &values),
            Prim::Not => self.scalar(Op::Not, &values),
            Prim::ToFloat => self.scalar(Op::ToFloat, &values),
            Prim::ToInteger => self.scalar(Op::ToInteger, &values),
            Prim::BoolToFloat => self.scalar(Op::BoolToFloat, &values),
            Prim::Ranhashdoub => self.scalar(Op::Hash, &values),
            Prim::Print => self.print(&values),
            Prim::Dot => Ok(Val::Leaf(self.dot(&values[0], &values[1])?)),
            Prim::ZeroOf => self.zero(&values[0], ty),
            Prim::StopGradient | Prim::Trace | Prim::Into | Prim::Bench => unreachable!("handled above"),
            Prim::Build
            | Prim::Sum
            | Prim::Imax
            | Prim::Index
            | Prim::Size
            | Prim::CommonSize
            | Prim::AsSize
            | Prim::SameSize
            | Prim::InRange
            | Prim::Unzip
            | Prim::VecInit
            | Prim::Fold
            | Prim::Place
            | Prim::Scanl
            | Prim::Map2
            | Prim::Reduce
            | Prim::Scanr
            | Prim::Shift1L
            | Prim::Shift1R
            | Prim::Checkpoint
            | Prim::States
            | Prim::Replay
            | Prim::AddAt
            | Prim::SumBuild
            | Prim::Loop
            | Prim::DeltaAt
            | Prim::LmZero
            | Prim::LmOne
            | Prim::LmScale
            | Prim::LmScaleR
            | Prim::LmDot
            | Prim::LmAdd
            | Prim::LmVCat
            | Prim::LmHCat
            | Prim::LmVCatV
            | Prim::LmHCatV
            | Prim::LmCompose
            | Prim::LmTranspose
            | Prim::LmApply
            | Prim::LmApplyR
            | Prim::LmL
            | Prim::LmLT
            | Prim::LmAddV
            | Prim::LmIndex
            | Prim::LmSum
            | Prim::LmTo
            | Prim::LmFold => Err(self.unsupported_prim(p)),
        }
    }

    pub(super) fn scalar(&mut self, op: Op, args: &[Val]) -> Lowered {
        let args: Vec<Operand> = args.iter().map(Val::leaf).collect();
        Ok(Val::Leaf(self.op(op, args)))
    }

    /// The Float or the Integer operation, as the arguments are.
    pub(super) fn by_type(&mut self, args: &[Val], float: Op, integer: Op) -> Val {
        let args: Vec<Operand> = args.iter().map(Val::leaf).collect();
        let op = if self.scalar_of(&args[0]) == Scalar::Float { float } else { integer };
        Val::Leaf(self.op(op, args))
    }

    fn divide(&mut self, args: &[Val]) -> Val {
        let (dividend, divisor) = (args[0].leaf(), args[1].leaf());
        if self.scalar_of(&dividend) == Scalar::Integer {
            let zero = self.op(Op::EqI, [divisor, Operand::Integer(0)]);
            let nonzero = self.op(Op::Not, [zero]);
            self.check(nonzero, Failure::DivisionByZero, [dividend]);
        }
        self.by_type(args, Op::DivF, Op::DivI)
    }
}
