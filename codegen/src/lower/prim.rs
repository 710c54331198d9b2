//! The primitives.
//!
//! `add`, `sub`, `neg` and `mul k` are those of any vector space: component by component.

use super::body::Body;
use super::value::Val;
use crate::error::Error;
use crate::loops::{Failure, Op, Operand, Scalar};
use lm::prim::Prim;
use lm::term::Expr;

type Lowered = Result<Val, Error>;

impl Body<'_> {
    pub(super) fn prim(&mut self, p: Prim, args: &[Expr]) -> Lowered {
        if args.iter().any(|arg| arg.ty().mentions_array()) {
            return Err(self.unsupported(&format!("`{}` on arrays", p.name())));
        }
        let values = self.values(args)?;
        match p {
            Prim::Add => self.zip(p, &values, Op::AddF, Op::AddI),
            Prim::Sub => self.zip(p, &values, Op::SubF, Op::SubI),
            Prim::Neg => self.negate(&values[0]),
            Prim::Mul => self.multiply(&values),
            Prim::Div => Ok(self.divide(&values)),
            Prim::Abs => Ok(self.by_type(&values, Op::AbsF, Op::AbsI)),
            Prim::Min => self.scalar(Op::MinF, &values),
            Prim::Max => self.scalar(Op::MaxF, &values),
            Prim::Log => self.scalar(Op::Log, &values),
            Prim::Exp => self.scalar(Op::Exp, &values),
            Prim::Sin => self.scalar(Op::Sin, &values),
            Prim::Cos => self.scalar(Op::Cos, &values),
            Prim::Tan => self.scalar(Op::Tan, &values),
            Prim::Sinh => self.scalar(Op::Sinh, &values),
            Prim::Cosh => self.scalar(Op::Cosh, &values),
            Prim::Tanh => self.scalar(Op::Tanh, &values),
            Prim::Asin => self.scalar(Op::Asin, &values),
            Prim::Acos => self.scalar(Op::Acos, &values),
            Prim::Atan => self.scalar(Op::Atan, &values),
            Prim::Atan2 => self.scalar(Op::Atan2, &values),
            Prim::Sqrt => self.scalar(Op::Sqrt, &values),
            Prim::Erf => self.scalar(Op::Erf, &values),
            Prim::Lgamma => self.scalar(Op::Lgamma, &values),
            Prim::Pow => self.scalar(Op::Pow, &values),
            Prim::Powi => {
                let exponent = self.op(Op::ToFloat, [values[1].leaf()]);
                self.scalar(Op::Pow, &[values[0].clone(), Val::Leaf(exponent)])
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
            Prim::Print => Ok(self.print(&values)),
            Prim::Trace => {
                self.print(&values);
                Ok(values[0].clone())
            }
            Prim::StopGradient => Ok(values[0].clone()),
            Prim::Dot => Ok(Val::Leaf(self.dot(&values[0], &values[1]))),
            Prim::ZeroOf => Ok(self.zero(&values[0])),
            Prim::Bench
            | Prim::Build
            | Prim::Sum
            | Prim::Index
            | Prim::Size
            | Prim::CommonSize
            | Prim::VecInit
            | Prim::Fold
            | Prim::Scanl
            | Prim::AddAt
            | Prim::SumBuild
            | Prim::Loop
            | Prim::DeltaAt
            | Prim::Into
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
            | Prim::LmFold => Err(self.unsupported(&format!("`{}`", p.name()))),
        }
    }

    fn scalar(&mut self, op: Op, args: &[Val]) -> Lowered {
        let args: Vec<Operand> = args.iter().map(Val::leaf).collect();
        Ok(Val::Leaf(self.op(op, args)))
    }

    /// The Float or the Integer operation, as the arguments are.
    fn by_type(&mut self, args: &[Val], float: Op, integer: Op) -> Val {
        let args: Vec<Operand> = args.iter().map(Val::leaf).collect();
        let op = if self.scalar_of(&args[0]) == Scalar::Float { float } else { integer };
        Val::Leaf(self.op(op, args))
    }

    fn zip(&mut self, p: Prim, args: &[Val], float: Op, integer: Op) -> Lowered {
        let [x, y] = args else { panic!("{} has two arguments", p.name()) };
        match (x, y) {
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                let parts = xs.iter().zip(ys.iter());
                let parts = parts.map(|(x, y)| self.zip(p, &[x.clone(), y.clone()], float, integer));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            _ => match self.scalar_of(&x.leaf()) {
                Scalar::Float | Scalar::Integer => Ok(self.by_type(args, float, integer)),
                other @ (Scalar::Bool | Scalar::Text) => {
                    Err(self.unsupported(&format!("`{}` of values with a {other} in them", p.name())))
                }
            },
        }
    }

    /// Of a tuple, the Floats; what is discrete stays.
    fn each_float(&mut self, x: &Val, f: &mut dyn FnMut(&mut Self, Operand) -> Operand) -> Val {
        match x {
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|part| self.each_float(part, f)).collect::<Vec<_>>()),
            Val::Leaf(operand) => match self.scalar_of(operand) {
                Scalar::Float => Val::Leaf(f(self, operand.clone())),
                Scalar::Integer | Scalar::Bool | Scalar::Text => x.clone(),
            },
        }
    }

    fn negate(&mut self, x: &Val) -> Lowered {
        match x {
            Val::Leaf(operand) if self.scalar_of(operand) == Scalar::Integer => {
                self.scalar(Op::NegI, std::slice::from_ref(x))
            }
            _ => Ok(self.each_float(x, &mut |body, x| body.op(Op::NegF, [x]))),
        }
    }

    fn multiply(&mut self, args: &[Val]) -> Lowered {
        let k = args[0].leaf();
        match self.scalar_of(&k) {
            Scalar::Integer => self.scalar(Op::MulI, args),
            _ => Ok(self.each_float(&args[1], &mut |body, x| body.op(Op::MulF, [k.clone(), x]))),
        }
    }

    fn divide(&mut self, args: &[Val]) -> Val {
        let (dividend, divisor) = (args[0].leaf(), args[1].leaf());
        if self.scalar_of(&dividend) == Scalar::Integer {
            let zero = self.op(Op::EqI, [divisor, Operand::Integer(0)]);
            let nonzero = self.op(Op::Not, [zero]);
            self.check(nonzero, Failure::DivisionByZero, dividend);
        }
        self.by_type(args, Op::DivF, Op::DivI)
    }

    fn equal(&mut self, x: &Val, y: &Val) -> Result<Operand, Error> {
        match (x, y) {
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                let mut all: Option<Operand> = None;
                for (x, y) in xs.iter().zip(ys.iter()) {
                    let equal = self.equal(x, y)?;
                    all = Some(match all {
                        Some(before) => self.op(Op::And, [before, equal]),
                        None => equal,
                    });
                }
                Ok(all.unwrap_or(Operand::Bool(true)))
            }
            _ => {
                let op = match self.scalar_of(&x.leaf()) {
                    Scalar::Float => Op::EqF,
                    Scalar::Integer => Op::EqI,
                    Scalar::Bool => Op::EqB,
                    Scalar::Text => return Err(self.unsupported("the comparison of strings")),
                };
                Ok(self.op(op, [x.leaf(), y.leaf()]))
            }
        }
    }

    /// The sum of products from left to right, as the interpreter forms it.
    fn dot(&mut self, x: &Val, y: &Val) -> Operand {
        let mut sum: Option<Operand> = None;
        for (a, b) in x.flatten().into_iter().zip(y.flatten()) {
            if self.scalar_of(&a) == Scalar::Float {
                let product = self.op(Op::MulF, [a, b]);
                sum = Some(match sum {
                    Some(before) => self.op(Op::AddF, [before, product]),
                    None => product,
                });
            }
        }
        sum.unwrap_or(Operand::Float(0.0))
    }

    /// The zero tangent: that of a discrete component is unit.
    fn zero(&mut self, x: &Val) -> Val {
        match x {
            Val::Tuple(parts) => Val::tuple(parts.iter().map(|part| self.zero(part)).collect::<Vec<_>>()),
            Val::Leaf(operand) => match self.scalar_of(operand) {
                Scalar::Float => Val::Leaf(Operand::Float(0.0)),
                Scalar::Integer | Scalar::Bool | Scalar::Text => Val::tuple([]),
            },
        }
    }

    /// A tuple that is an argument stands without brackets, one inside it with them.
    fn print(&mut self, args: &[Val]) -> Val {
        for arg in args {
            match arg {
                Val::Tuple(parts) => self.print_list(parts, ","),
                Val::Leaf(operand) => self.write(operand.clone()),
            }
        }
        Val::Leaf(Operand::Integer(args.len() as i64))
    }

    fn print_nested(&mut self, value: &Val) {
        match value {
            Val::Tuple(parts) => {
                self.write(Operand::Text("(".into()));
                self.print_list(parts, ", ");
                self.write(Operand::Text(")".into()));
            }
            Val::Leaf(operand) => self.write(operand.clone()),
        }
    }

    fn print_list(&mut self, parts: &[Val], separator: &str) {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.write(Operand::Text(separator.into()));
            }
            self.print_nested(part);
        }
    }
}
