//! Lists the primitives: one row each, with name, typing, cost, effect and derivative.
//!
//! A row's derivative is the right-hand side of the law `∂name(x, y, ...) = ...` (working notes, Fig. 2). The rows of
//! the functions of the C library are those of `libm`, as `Prim::Libm`. The value of a primitive is in `eval` and
//! `interp`, its lowering in the crate `loops`, which match on [`Prim`] without a wildcard. So the compiler names the
//! places that a new row needs.
//!
//! A function of a derivative that is no row of the table (`digamma`) is one of the prelude.
//!
//! The arithmetic is that of any vector space: `add`, `sub`, `neg` work component by component and
//! `mul k x` scales (working notes, sec. 1.1), so tangents need no arithmetic of their own.

use crate::libm::{self, Libm};
use crate::scheme::Rule;
use crate::types::Type;
use std::sync::{Arc, LazyLock};

/// The derivative of a primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JacobianRule {
    /// The right-hand side of a law over the arguments `x`, `y`.
    Law(&'static str),
    /// Zero: the result is locally constant, or takes no part in differentiation.
    Zero,
    /// By a rule of the derivation itself (`build`, the linear maps).
    Structural,
}

/// The cost of evaluating a primitive on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// An instruction or a few, for each number.
    Cheap,
    /// A square root, which takes as long as several additions.
    Root,
    /// A function of the C library: longer than to store its result and load it.
    Call,
}

/// The effect of an evaluation besides its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Pure,
    /// The primitive may stop the program with an error of its own.
    Fails,
    /// The primitive prints or measures, so it may be neither repeated nor moved.
    Shows,
}

/// One row of the table.
#[derive(Debug)]
struct Row {
    /// The KS name.
    name: &'static str,
    /// Alternative typings, tried in order.
    typing: &'static [&'static str],
    cost: Cost,
    effect: Effect,
    jacobian: JacobianRule,
}

use Cost::{Call, Cheap, Root};
use Effect::{Fails, Pure, Shows};
use JacobianRule::{Law, Structural, Zero};

macro_rules! primitives {
    ($($variant:ident $name:literal [$($typing:literal),+] $cost:ident $effect:ident $jacobian:expr;)*) => {
        /// A primitive operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the table below is their documentation
        pub enum Prim {
            /// A function of the C library.
            Libm(Libm),
            $($variant),*
        }

        /// Every primitive: those of this table in order, then the functions of the C library.
        pub static ALL: LazyLock<Vec<Prim>> = LazyLock::new(|| {
            [$(Prim::$variant),*].into_iter().chain(libm::ALL.iter().copied().map(Prim::Libm)).collect()
        });

        /// The number of a primitive in [`ALL`].
        enum Number { $($variant),* }

        static ROWS: &[Row] = &[$(Row {
            name: $name, typing: &[$($typing),+], cost: $cost, effect: $effect, jacobian: $jacobian,
        }),*];

        impl Prim {
            fn number(self) -> usize {
                match self {
                    Prim::Libm(f) => ROWS.len() + f as usize,
                    $(Prim::$variant => Number::$variant as usize),*
                }
            }
        }
    };
}

#[rustfmt::skip]
primitives! {
//  variant      KS name         typing                                      cost  effect derivative at (x, y)
    Add          "add"           ["t t -> t"]                                Cheap Fails Law("1(x) ⋈ 1(y)");
    Sub          "sub"           ["t t -> t"]                                Cheap Fails Law("1(x) ⋈ S(y, -1.0)");
    Mul          "mul"           ["Integer Integer -> Integer", "Float t -> t"] Cheap Pure  Law("lmScaleR(y) ⋈ S(y, x)");
    Div          "div"           ["Float Float -> Float", "Integer Integer -> Integer"] Cheap Fails Law("S(1.0 / y) ⋈ S(-(x / (y * y)))");
    Neg          "neg"           ["t -> t"]                                  Cheap Pure  Law("S(x, -1.0)");
    Abs          "abs"           ["Float -> Float", "Integer -> Integer"]    Cheap Pure  Law("S(if x > 0.0 then 1.0 else -1.0)");
    Min          "min"           ["Float Float -> Float"]                    Cheap Pure  Law("if x <= y then 1(x) ⋈ 0(y, x) else 0(x, y) ⋈ 1(y)");
    Max          "max"           ["Float Float -> Float"]                    Cheap Pure  Law("if x >= y then 1(x) ⋈ 0(y, x) else 0(x, y) ⋈ 1(y)");

    Sqrt         "sqrt"          ["Float -> Float"]                          Root  Pure  Law("S(0.5 / sqrt(x))");
    Powi         "powi"          ["Float Integer -> Float"]                  Call  Pure  Law("S(if y == int(0) then 0.0 else to_float(y) * powi(x, y - int(1))) ⋈ 0(y, x)");

    Gt           "gt"            ["Float Float -> Bool", "Integer Integer -> Bool"] Cheap Pure  Zero;
    Lt           "lt"            ["Float Float -> Bool", "Integer Integer -> Bool"] Cheap Pure  Zero;
    Gte          "gte"           ["Float Float -> Bool", "Integer Integer -> Bool"] Cheap Pure  Zero;
    Lte          "lte"           ["Float Float -> Bool", "Integer Integer -> Bool"] Cheap Pure  Zero;
    Eq           "eq"            ["t t -> Bool"]                             Cheap Pure  Zero;
    Ne           "ne"            ["t t -> Bool"]                             Cheap Pure  Zero;
    And          "and"           ["Bool Bool -> Bool"]                       Cheap Pure  Zero;
    Or           "or"            ["Bool Bool -> Bool"]                       Cheap Pure  Zero;
    Not          "not"           ["Bool -> Bool"]                            Cheap Pure  Zero;
    ToFloat      "to_float"      ["Integer -> Float"]                        Cheap Pure  Zero;
    ToInteger    "to_integer"    ["Float -> Integer"]                        Cheap Pure  Zero;
    BoolToFloat  "bool_to_float" ["Bool -> Float"]                           Cheap Pure  Zero;
    Ranhashdoub  "$ranhashdoub"  ["Integer -> Float"]                        Cheap Pure  Zero;
    Print        "print"         ["t .. -> Integer"]                         Cheap Shows Zero;
    Trace        "$trace"        ["t -> t"]                                  Cheap Shows Law("1(x)");
    Bench        "$BENCH"        ["(Lam (Tuple) t) -> Float"]                Cheap Shows Zero;
    StopGradient "stop_gradient" ["t -> t"]                                  Cheap Pure  Zero;

    Dot          "ts_dot"        ["t t -> Float"]                            Cheap Fails Law("lmDot(y) ⋈ lmDot(x)");
    ZeroOf       "ts_zero"       ["t -> (d t)"]                              Cheap Pure  Zero;
    Build        "build"         ["i (Lam i t) -> (Tensor i t)"]             Cheap Fails Structural;
    SumBuild     "sumbuild"      ["i (Lam i t) -> t", "s i (Lam i (d s)) -> (d s)"] Cheap Fails Structural;
    Sum          "sum"           ["(Tensor i t) -> t"]                       Cheap Fails Structural;
    Index        "index"         ["i (Tensor i t) -> t"]                     Cheap Fails Structural;
    Imax         "imax"          ["(Vec Float) -> Integer"]                  Cheap Fails Zero;
    Unzip        "unzip"         ["(Tensor i t) -> t"]                       Cheap Pure  Structural;
    Size         "size"          ["(Tensor i t) -> i"]                       Cheap Pure  Zero;
    CommonSize   "$common_size"  ["(Tensor i s) (Tensor i t) -> i"]          Cheap Fails Zero;
    AsSize       "$as_size"      ["Integer -> Integer"]                      Cheap Fails Zero;
    SameSize     "$same_size"    ["Integer Integer -> Bool"]                 Cheap Fails Zero;
    InRange      "$in_range"     ["Integer Integer -> Bool"]                 Cheap Fails Zero;
    VecInit      "Vec_init"      ["t .. -> (Vec t)"]                         Cheap Pure  Structural;
    Fold         "fold"          ["(Lam (Tuple s t) s) s (Vec t) -> s"]      Cheap Pure  Structural;
    Scanl        "scanl"         ["(Lam (Tuple s t) s) s (Vec t) -> (Vec s)"] Cheap Pure  Structural;
    Map2         "map2"          ["(Lam (Tuple s t) u) (Tensor i s) (Tensor i t) -> (Tensor i u)"] Cheap Fails Structural;
    Reduce       "reduce"        ["(Lam (Tuple t t) t) t (Vec t) -> t"]      Cheap Pure  Structural;
    Scanr        "scanr"         ["(Lam (Tuple s t) s) s (Vec t) -> (Vec s)"] Cheap Pure  Structural;
    Shift1L      "shift1L"       ["(Vec t) -> (Vec t)"]                      Cheap Pure  Structural;
    Shift1R      "shift1R"       ["(Vec t) -> (Vec t)"]                      Cheap Pure  Structural;
    Place        "$place"        ["(Lam (Tuple s t) Bool) (Lam t s) s (Vec t) -> Integer"] Cheap Pure Zero;
    Checkpoint   "$checkpoint"   ["Integer (Lam (Tuple s t) s) s (Vec t) -> s"] Cheap Pure  Structural;
    States       "$states"       ["Integer (Lam (Tuple s t) s) s (Vec t) -> (Vec s)"] Cheap Pure  Structural;
    Replay       "$replay"       ["Integer (Lam (Tuple s t) s) s (Vec t) -> (Vec s)"] Cheap Pure  Structural;
    AddAt        "$add_at"       ["(Tensor i t) (Tensor k (Tuple i t)) -> (Tensor i t)"] Cheap Fails Structural;
    Loop         "$loop"         ["Integer (Lam (Tuple Integer s) (Tuple s (d t))) s t -> (Tuple s (d t))"] Cheap Fails Structural;
    Into         "$into"         ["t (d t) -> (d t)", "(Tuple (Tuple) t) (Tuple v (d t)) -> (Tuple v (d t))"] Cheap Fails Structural;
    DeltaAt      "$delta_at"     ["(Tensor i t) i (d t) -> (Tensor i (d t))"] Cheap Fails Structural;

    LmZero       "lmZero"        ["s t -> (LM s t)"]                         Cheap Pure  Structural;
    LmOne        "lmOne"         ["s -> (LM s s)"]                           Cheap Pure  Structural;
    LmScale      "lmScale"       ["s Float -> (LM s s)"]                     Cheap Pure  Structural;
    LmScaleR     "lmScaleR"      ["t -> (LM Float t)"]                       Cheap Pure  Structural;
    LmDot        "lmDot"         ["s -> (LM s Float)"]                       Cheap Pure  Structural;
    LmAdd        "lmAdd"         ["(LM s t) (LM s t) -> (LM s t)"]           Cheap Pure  Structural;
    LmVCat       "lmVCat"        ["(LM s t) .. -> (LM s (Tuple t ..))"]      Cheap Pure  Structural;
    LmHCat       "lmHCat"        ["(LM s t) .. -> (LM (Tuple s ..) t)"]      Cheap Pure  Structural;
    LmVCatV      "lmVCatV"       ["(Tensor i (LM s t)) -> (LM s (Tensor i t))", "(Tensor i t) (Tensor i (LM s t)) -> (LM s (Tensor i t))"] Cheap Pure  Structural;
    LmHCatV      "lmHCatV"       ["(Tensor i (LM s t)) -> (LM (Tensor i s) t)", "(d t) (Tensor i (LM s t)) -> (LM (Tensor i s) t)"] Cheap Pure  Structural;
    LmAddV       "lmAddV"        ["t (Tensor i (LM s t)) -> (LM s t)"]       Cheap Pure  Structural;
    LmIndex      "lmIndex"       ["i (Tensor i t) -> (LM (Tensor i t) t)"]   Cheap Pure  Structural;
    LmSum        "lmSum"         ["(Tensor i t) -> (LM (Tensor i t) t)"]     Cheap Pure  Structural;
    LmTo         "lmTo"          ["t (LM s t) -> (LM s t)"]                  Cheap Pure  Structural;
    LmFold       "lmFold"        ["Integer s t (Lam Integer (LM s t)) -> (LM s t)"] Cheap Pure  Structural;
    LmCompose    "lmCompose"     ["(LM s t) (LM r s) -> (LM r t)"]           Cheap Pure  Structural;
    LmTranspose  "lmTranspose"   ["(LM s t) -> (LM t s)"]                    Cheap Pure  Structural;
    LmApply      "lmApply"       ["(LM s t) (d s) -> (d t)"]                 Cheap Fails Structural;
    LmApplyR     "lmApplyR"      ["(d t) (LM s t) -> (d s)"]                 Cheap Fails Structural;
    LmL          "lmL"           ["(Lam Integer (LM s t)) -> (LM s (Lam Integer t))"] Cheap Pure  Structural;
    LmLT         "lmLT"          ["(Lam Integer (LM s t)) -> (LM (Lam Integer s) t)"] Cheap Pure  Structural;
}

impl Prim {
    /// Returns the KS name.
    pub fn name(self) -> &'static str {
        match self {
            Prim::Libm(f) => f.name(),
            other => other.row().name,
        }
    }

    /// Returns the alternative typings, which are tried in order.
    pub fn typing(self) -> &'static [&'static str] {
        match self {
            Prim::Libm(f) if f.arity() == 1 => &["Float -> Float"],
            Prim::Libm(_) => &["Float Float -> Float"],
            other => other.row().typing,
        }
    }

    /// Returns the derivative of the primitive.
    pub fn jacobian(self) -> JacobianRule {
        match self {
            Prim::Libm(f) => Law(f.derivative()),
            other => other.row().jacobian,
        }
    }

    /// Returns the cost on numbers.
    pub fn cost(self) -> Cost {
        match self {
            Prim::Libm(_) => Call,
            other => other.row().cost,
        }
    }

    /// Returns what an evaluation does beside giving a value.
    pub fn effect(self) -> Effect {
        match self {
            Prim::Libm(_) => Pure,
            other => other.row().effect,
        }
    }

    /// Returns whether evaluating it shows in another way than by its value or an error.
    pub fn has_effect(self) -> bool {
        self.effect() == Shows
    }

    /// Returns whether derivations and native code know the primitive by others alone: they take its expansion.
    pub fn is_expanded(self) -> bool {
        matches!(self, Prim::Map2 | Prim::Reduce | Prim::Scanr | Prim::Shift1L | Prim::Shift1R)
    }

    /// Returns the row of a primitive of this table.
    fn row(self) -> &'static Row {
        &ROWS[self.number()]
    }

    /// Returns the primitive of a KS name.
    pub fn named(name: &str) -> Option<Prim> {
        ALL.iter().copied().find(|p| p.name() == name)
    }

    /// Returns the result type for the given argument types, or `None` when no typing fits.
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

    /// Returns the typing rules of the row, read.
    pub fn rules(self) -> &'static [Rule] {
        static RULES: LazyLock<Vec<Vec<Rule>>> =
            LazyLock::new(|| ALL.iter().map(|p| p.typing().iter().map(|t| Rule::parse(t)).collect()).collect());
        &RULES[self.number()]
    }
}
