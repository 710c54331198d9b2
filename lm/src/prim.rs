//! The primitives: one table row each, with name, typing and derivative.
//!
//! A row's derivative is the right-hand side of the law `∂name(x, y, ...) = ...` (working notes,
//! Fig. 2). The value of a primitive is in `interp`, its machine code in the crate `native`, which
//! matches on [`Prim`] without a wildcard; tests of both crates go through all rows, so that a new one
//! is missed nowhere.
//!
//! A function of a derivative that is no row of the table (`digamma`) is one of the prelude.
//!
//! The arithmetic is that of any vector space: `add`, `sub`, `neg` work component by component and
//! `mul k x` scales (working notes, sec. 1.1), so tangents need no arithmetic of their own.

use crate::scheme::Rule;
use crate::types::Type;
use std::sync::{Arc, LazyLock};

/// How a primitive is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JacobianRule {
    /// The Jacobian, as the right-hand side of a law over the arguments `x`, `y`.
    Law(&'static str),
    /// The result is locally constant, or takes no part in differentiation: the zero map.
    Zero,
    /// Differentiated by a rule of the derivation itself (`build`, the linear maps).
    Structural,
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    /// The KS name.
    pub name: &'static str,
    /// Alternative typings, tried in order.
    pub typing: &'static [&'static str],
    /// The derivative.
    pub derivative: JacobianRule,
}

use JacobianRule::{Law, Structural, Zero};

macro_rules! primitives {
    ($($variant:ident $name:literal [$($typing:literal),+] $derivative:expr;)*) => {
        /// A primitive operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the table below is their documentation
        pub enum Prim { $($variant),* }

        /// Every primitive, in the order of the table.
        pub const ALL: &[Prim] = &[$(Prim::$variant),*];

        static ROWS: &[Row] = &[$(Row { name: $name, typing: &[$($typing),+], derivative: $derivative }),*];
    };
}

#[rustfmt::skip]
primitives! {
//  variant      KS name        typing                                      derivative at (x, y)
    Add          "add"          ["t t -> t"]                                Law("1(x) ⋈ 1(y)");
    Sub          "sub"          ["t t -> t"]                                Law("1(x) ⋈ S(y, -1.0)");
    Mul          "mul"          ["Integer Integer -> Integer", "Float t -> t"]
                                                                            Law("lmScaleR(y) ⋈ S(y, x)");
    Div          "div"          ["Float Float -> Float", "Integer Integer -> Integer"]
                                                                            Law("S(1.0 / y) ⋈ S(-(x / (y * y)))");
    Neg          "neg"          ["t -> t"]                                  Law("S(x, -1.0)");
    Abs          "abs"          ["Float -> Float", "Integer -> Integer"]    Law("S(if x > 0.0 then 1.0 else -1.0)");
    Min          "min"          ["Float Float -> Float"]                    Law("if x <= y then 1(x) ⋈ 0(y, x) else 0(x, y) ⋈ 1(y)");
    Max          "max"          ["Float Float -> Float"]                    Law("if x >= y then 1(x) ⋈ 0(y, x) else 0(x, y) ⋈ 1(y)");

    Log          "log"          ["Float -> Float"]                          Law("S(1.0 / x)");
    Exp          "exp"          ["Float -> Float"]                          Law("S(exp(x))");
    Sin          "sin"          ["Float -> Float"]                          Law("S(cos(x))");
    Cos          "cos"          ["Float -> Float"]                          Law("S(-sin(x))");
    Tan          "tan"          ["Float -> Float"]                          Law("S(1.0 + tan(x) * tan(x))");
    Sinh         "sinh"         ["Float -> Float"]                          Law("S(cosh(x))");
    Cosh         "cosh"         ["Float -> Float"]                          Law("S(sinh(x))");
    Tanh         "tanh"         ["Float -> Float"]                          Law("S(1.0 - tanh(x) * tanh(x))");
    Asin         "asin"         ["Float -> Float"]                          Law("S(1.0 / sqrt(1.0 - x * x))");
    Acos         "acos"         ["Float -> Float"]                          Law("S(-(1.0 / sqrt(1.0 - x * x)))");
    Atan         "atan"         ["Float -> Float"]                          Law("S(1.0 / (1.0 + x * x))");
    Atan2        "atan2"        ["Float Float -> Float"]                    Law("S(y / (x * x + y * y)) ⋈ S(-(x / (x * x + y * y)))");
    Sqrt         "sqrt"         ["Float -> Float"]                          Law("S(0.5 / sqrt(x))");
    Erf          "erf"          ["Float -> Float"]                          Law("S(1.1283791670955126 * exp(-(x * x)))");
    Lgamma       "lgamma"       ["Float -> Float"]                          Law("S(digamma(x))");
    Pow          "pow"          ["Float Float -> Float"]                    Law("S(if y == 0.0 then 0.0 else y * pow(x, y - 1.0)) ⋈ S(if x == 0.0 then (if y > 0.0 then 0.0 else pow(x, y) * log(x)) else pow(x, y) * log(x))");
    Powi         "powi"         ["Float Integer -> Float"]                  Law("S(if y == int(0) then 0.0 else to_float(y) * powi(x, y - int(1))) ⋈ 0(y, x)");

    Gt           "gt"           ["Float Float -> Bool", "Integer Integer -> Bool"]   Zero;
    Lt           "lt"           ["Float Float -> Bool", "Integer Integer -> Bool"]   Zero;
    Gte          "gte"          ["Float Float -> Bool", "Integer Integer -> Bool"]   Zero;
    Lte          "lte"          ["Float Float -> Bool", "Integer Integer -> Bool"]   Zero;
    Eq           "eq"           ["t t -> Bool"]                             Zero;
    Ne           "ne"           ["t t -> Bool"]                             Zero;
    And          "and"          ["Bool Bool -> Bool"]                       Zero;
    Or           "or"           ["Bool Bool -> Bool"]                       Zero;
    Not          "not"          ["Bool -> Bool"]                            Zero;
    ToFloat      "to_float"     ["Integer -> Float"]                        Zero;
    ToInteger    "to_integer"   ["Float -> Integer"]                        Zero;
    BoolToFloat  "bool_to_float" ["Bool -> Float"]                          Zero;
    Ranhashdoub  "$ranhashdoub" ["Integer -> Float"]                        Zero;
    Print        "print"        ["t .. -> Integer"]                         Zero;
    Trace        "$trace"       ["t -> t"]                                  Law("1(x)");
    Bench        "$BENCH"       ["(Lam (Tuple) t) -> Float"]                Zero;
    StopGradient "stop_gradient" ["t -> t"]                                 Zero;

    Dot          "ts_dot"       ["t t -> Float"]                            Law("lmDot(y) ⋈ lmDot(x)");
    ZeroOf       "ts_zero"      ["t -> (d t)"]                              Zero;
    Build        "build"        ["i (Lam i t) -> (Tensor i t)"]             Structural;
    SumBuild     "sumbuild"     ["i (Lam i t) -> t", "s i (Lam i (d s)) -> (d s)"] Structural;
    Sum          "sum"          ["(Tensor i t) -> t"]                       Structural;
    Index        "index"        ["i (Tensor i t) -> t"]                     Structural;
    Unzip        "unzip"        ["(Tensor i t) -> t"]                       Structural;
    Size         "size"         ["(Tensor i t) -> i"]                       Zero;
    CommonSize   "$common_size" ["(Tensor i s) (Tensor i t) -> i"]          Zero;
    VecInit      "Vec_init"     ["t .. -> (Vec t)"]                         Structural;
    Fold         "fold"         ["(Lam (Tuple s t) s) s (Vec t) -> s"]      Structural;
    Scanl        "scanl"        ["(Lam (Tuple s t) s) s (Vec t) -> (Vec s)"] Structural;
    AddAt        "$add_at"      ["(Tensor i t) (Tensor k (Tuple i t)) -> (Tensor i t)"] Structural;
    Loop         "$loop"        ["Integer (Lam (Tuple Integer s) (Tuple s (d t))) s t -> (Tuple s (d t))"] Structural;
    Into         "$into"        ["t (d t) -> (d t)", "(Tuple (Tuple) t) (Tuple v (d t)) -> (Tuple v (d t))"] Structural;
    DeltaAt      "$delta_at"    ["(Tensor i t) i (d t) -> (Tensor i (d t))"] Structural;

    LmZero       "lmZero"       ["s t -> (LM s t)"]                         Structural;
    LmOne        "lmOne"        ["s -> (LM s s)"]                           Structural;
    LmScale      "lmScale"      ["s Float -> (LM s s)"]                     Structural;
    LmScaleR     "lmScaleR"     ["t -> (LM Float t)"]                       Structural;
    LmDot        "lmDot"        ["s -> (LM s Float)"]                       Structural;
    LmAdd        "lmAdd"        ["(LM s t) (LM s t) -> (LM s t)"]           Structural;
    LmVCat       "lmVCat"       ["(LM s t) .. -> (LM s (Tuple t ..))"]      Structural;
    LmHCat       "lmHCat"       ["(LM s t) .. -> (LM (Tuple s ..) t)"]      Structural;
    LmVCatV      "lmVCatV"      ["(Tensor i (LM s t)) -> (LM s (Tensor i t))", "(Tensor i t) (Tensor i (LM s t)) -> (LM s (Tensor i t))"] Structural;
    LmHCatV      "lmHCatV"      ["(Tensor i (LM s t)) -> (LM (Tensor i s) t)"] Structural;
    LmAddV       "lmAddV"       ["t (Tensor i (LM s t)) -> (LM s t)"]       Structural;
    LmIndex      "lmIndex"      ["i (Tensor i t) -> (LM (Tensor i t) t)"]   Structural;
    LmSum        "lmSum"        ["(Tensor i t) -> (LM (Tensor i t) t)"]     Structural;
    LmTo         "lmTo"         ["t (LM s t) -> (LM s t)"]                  Structural;
    LmFold       "lmFold"       ["Integer s t (Lam Integer (LM s t)) -> (LM s t)"] Structural;
    LmCompose    "lmCompose"    ["(LM s t) (LM r s) -> (LM r t)"]           Structural;
    LmTranspose  "lmTranspose"  ["(LM s t) -> (LM t s)"]                    Structural;
    LmApply      "lmApply"      ["(LM s t) (d s) -> (d t)"]                 Structural;
    LmApplyR     "lmApplyR"     ["(d t) (LM s t) -> (d s)"]                 Structural;
    LmL          "lmL"          ["(Lam Integer (LM s t)) -> (LM s (Lam Integer t))"]  Structural;
    LmLT         "lmLT"         ["(Lam Integer (LM s t)) -> (LM (Lam Integer s) t)"]  Structural;
}

impl Prim {
    /// The primitive's row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The KS name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The primitive of that KS name.
    pub fn named(name: &str) -> Option<Prim> {
        ALL.iter().copied().find(|p| p.name() == name)
    }

    /// The result type for the given argument types, or `None` when no typing fits.
    pub fn result(self, args: &[Type]) -> Option<Type> {
        // The rule of sums, `t t -> t`, is for what can be summed.
        if matches!(self, Prim::Add | Prim::Sub) && !args.iter().all(Type::has_sums) {
            return None;
        }
        // A tensor of tuples as a tuple of tensors: no scheme says so for any number of components.
        if let (Prim::Unzip, [Type::Tensor(rank, element)]) = (self, args) {
            let parts = element.as_tuple()?.iter();
            return Some(Type::tuple(parts.map(|part| Type::Tensor(*rank, Arc::new(part.clone())))));
        }
        self.rules().iter().find_map(|rule| rule.result(args))
    }

    /// The typing rules of the row, read.
    pub fn rules(self) -> &'static [Rule] {
        static RULES: LazyLock<Vec<Vec<Rule>>> =
            LazyLock::new(|| ROWS.iter().map(|row| row.typing.iter().map(|t| Rule::parse(t)).collect()).collect());
        &RULES[self as usize]
    }

    /// Whether evaluating it shows in another way than by its value, so that it may be neither
    /// repeated nor moved.
    pub fn has_effect(self) -> bool {
        matches!(self, Prim::Print | Prim::Trace | Prim::Bench)
    }
}
