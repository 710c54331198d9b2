//! Operations element by element.

use super::{Printer, Ty, Val, signature};
use crate::ir::{Fun, Id};
use lm::libm::Libm;
use lm::term::Constant;

/// SplitMix64, as `lm::random` has it: what is added, then shifts each with a factor, then a shift.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
const ROUNDS: [(u32, u64); 2] = [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB)];
const LAST_SHIFT: u32 = 31;

impl Printer<'_> {
    pub(super) fn each(&mut self, fun: Fun, args: &[Id], ty: &Ty) -> Val {
        let values: Vec<Val> = args.iter().map(|&arg| self.value(arg)).collect();
        let args: Vec<&Val> = values.iter().collect();
        match (fun, args.as_slice()) {
            (Fun::Add, _) => self.alike("stablehlo.add", &args),
            (Fun::Sub, _) => self.alike("stablehlo.subtract", &args),
            (Fun::Mul, _) => self.alike("stablehlo.multiply", &args),
            (Fun::Div, _) => self.alike("stablehlo.divide", &args),
            (Fun::Neg, _) => self.alike("stablehlo.negate", &args),
            (Fun::Abs, _) => self.alike("stablehlo.abs", &args),
            (Fun::Sqrt, _) => self.alike("stablehlo.sqrt", &args),
            (Fun::And, _) => self.alike("stablehlo.and", &args),
            (Fun::Or, _) => self.alike("stablehlo.or", &args),
            (Fun::Not, _) => self.alike("stablehlo.not", &args),
            (Fun::Gt, [x, y]) => self.compare("GT", x, y),
            (Fun::Lt, [x, y]) => self.compare("LT", x, y),
            (Fun::Gte, [x, y]) => self.compare("GE", x, y),
            (Fun::Lte, [x, y]) => self.compare("LE", x, y),
            (Fun::Eq, [x, y]) => self.compare("EQ", x, y),
            (Fun::Ne, [x, y]) => self.compare("NE", x, y),
            (Fun::Select, [c, x, y]) => self.select(c, x, y),
            (Fun::ToFloat | Fun::BoolToFloat, [x]) => self.convert(x, ty.element),
            (Fun::ToInteger, [x]) => self.truncated(x),
            (Fun::Hash, [k]) => self.hash(k, ty.element),
            (Fun::Powi, [x, n]) => {
                let n = self.convert(n, x.ty.element);
                self.alike("stablehlo.power", &[x, &n])
            }
            (Fun::Libm(f), _) => self.function(f, &args),
            _ => unreachable!("{fun:?} has another number of operands"),
        }
    }

    fn function(&mut self, f: Libm, args: &[&Val]) -> Val {
        let (dialect, name) = match f {
            Libm::Log => ("stablehlo", "log"),
            Libm::Exp => ("stablehlo", "exponential"),
            Libm::Expm1 => ("stablehlo", "exponential_minus_one"),
            Libm::Sin => ("stablehlo", "sine"),
            Libm::Cos => ("stablehlo", "cosine"),
            Libm::Tan => ("stablehlo", "tan"),
            Libm::Tanh => ("stablehlo", "tanh"),
            Libm::Atan2 => ("stablehlo", "atan2"),
            Libm::Pow => ("stablehlo", "power"),
            Libm::Sinh => ("chlo", "sinh"),
            Libm::Cosh => ("chlo", "cosh"),
            Libm::Asin => ("chlo", "asin"),
            Libm::Acos => ("chlo", "acos"),
            Libm::Atan => ("chlo", "atan"),
            Libm::Erf => ("chlo", "erf"),
            Libm::Lgamma => ("chlo", "lgamma"),
        };
        match dialect {
            "chlo" => {
                let ty = args[0].ty.clone();
                self.assign(format!("chlo.{name} {} : {ty} -> {ty}", args[0].name), ty)
            }
            _ => self.alike(&format!("{dialect}.{name}"), args),
        }
    }

    pub(super) fn compare(&mut self, order: &str, x: &Val, y: &Val) -> Val {
        let ty = x.ty.of("i1");
        let kind = x.ty.order();
        self.typed(format!("stablehlo.compare {order}, {}, {}, {kind}", x.name, y.name), &[x, y], ty)
    }

    pub(super) fn select(&mut self, c: &Val, x: &Val, y: &Val) -> Val {
        let types = format!("{}, {}", c.ty, x.ty);
        self.assign(format!("stablehlo.select {}, {}, {} : {types}", c.name, x.name, y.name), x.ty.clone())
    }

    pub(super) fn convert(&mut self, x: &Val, element: &'static str) -> Val {
        let ty = x.ty.of(element);
        self.assign(format!("stablehlo.convert {} : {}", x.name, signature(&[x], &ty)), ty)
    }

    /// Returns x towards zero, the nearest Integer if there is none, 0 for NaN. StableHLO leaves these cases open.
    fn truncated(&mut self, x: &Val) -> Val {
        const END: f64 = 9_223_372_036_854_775_808.0;
        let bound = |printer: &mut Self, end: f64| printer.constant(&Constant::Float(end), &x.ty);
        let number = |printer: &mut Self, n: i64| printer.constant(&Constant::Integer(n), &x.ty.of("i64"));
        let (low, high, zero) = (bound(self, -END), bound(self, END), bound(self, 0.0));
        let (least, most) = (number(self, i64::MIN), number(self, i64::MAX));
        let above = self.compare("GE", x, &high);
        let below = self.compare("LE", x, &low);
        let outside = self.alike("stablehlo.or", &[&above, &below]);
        let is_nan = self.compare("NE", x, x);
        let odd = self.alike("stablehlo.or", &[&outside, &is_nan]);
        let inside = self.select(&odd, &zero, x);
        let whole = self.convert(&inside, "i64");
        let whole = self.select(&above, &most, &whole);
        self.select(&below, &least, &whole)
    }

    /// Returns `lm::random`'s number in [0, 1): SplitMix64.
    fn hash(&mut self, k: &Val, element: &'static str) -> Val {
        let number = |printer: &mut Self, n: u64| printer.constant(&Constant::Integer(n as i64), &k.ty);
        let gamma = number(self, GAMMA);
        let mut z = self.alike("stablehlo.add", &[k, &gamma]);
        for (shift, factor) in ROUNDS {
            z = self.mixed(&z, shift);
            let factor = number(self, factor);
            z = self.alike("stablehlo.multiply", &[&z, &factor]);
        }
        z = self.mixed(&z, LAST_SHIFT);
        let eleven = number(self, 11);
        let top = self.alike("stablehlo.shift_right_logical", &[&z, &eleven]);
        let top = self.convert(&top, element);
        let scale = self.constant(&Constant::Float((1u64 << 53) as f64), &top.ty);
        self.alike("stablehlo.divide", &[&top, &scale])
    }

    fn mixed(&mut self, z: &Val, shift: u32) -> Val {
        let shift = self.constant(&Constant::Integer(i64::from(shift)), &z.ty);
        let shifted = self.alike("stablehlo.shift_right_logical", &[z, &shift]);
        self.alike("stablehlo.xor", &[z, &shifted])
    }
}
