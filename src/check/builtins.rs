//! The built-in functions of the language: one row for each name and kind of argument.
//!
//! A row says which argument types the name takes and which term it stands for. Most stand for a
//! primitive of the core, often on fewer types: `add` adds numbers, where the core's adds vectors.
//! A name may have several rows; the first that fits is taken.

use lm::prim::{ALL, Prim};
use lm::scheme::Rule;
use lm::types::Type;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The term a built-in stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The primitive applied to the arguments.
    Core(Prim),
    /// The argument itself.
    Argument,
    /// `x * to_float(n)`.
    MulInteger,
    /// A vector operation on a type with discrete parts: on the Floats, component by component.
    Componentwise(Prim),
    /// The primitive applied to the arguments, on all types that the core has it for: `$prim$add`.
    /// Printed programs that define an `add` of their own need this name.
    Primitive(Prim),
    /// Not in this version.
    NotYet,
}

/// What names of [`Meaning::Primitive`] start with. No definition may have such a name.
pub const PRIMITIVE_PREFIX: &str = "$prim$";

use Meaning::{Argument, Componentwise, Core, MulInteger, NotYet, Primitive};

/// One row.
#[derive(Debug)]
pub struct Builtin {
    /// The name.
    pub name: Cow<'static, str>,
    /// Alternative typings, in the notation of [`lm::scheme`]; none of its own means those of the core.
    typing: &'static [&'static str],
    /// What it stands for.
    pub meaning: Meaning,
}

const REAL: &[&str] = &["Float -> Float"];
const REALS: &[&str] = &["Float Float -> Float"];
const NUMBER: &[&str] = &["Float -> Float", "Integer -> Integer"];
const NUMBERS: &[&str] = &["Float Float -> Float", "Integer Integer -> Integer"];
const OWN: &[&str] = &[];

#[rustfmt::skip]
const ROWS: &[(&str, &[&str], Meaning)] = &[
    ("add",           NUMBERS,                      Core(Prim::Add)),
    ("sub",           NUMBERS,                      Core(Prim::Sub)),
    ("mul",           NUMBERS,                      Core(Prim::Mul)),
    ("mul",           &["Float Integer -> Float"],  MulInteger),
    ("div",           NUMBERS,                      Core(Prim::Div)),
    ("neg",           NUMBER,                       Core(Prim::Neg)),
    ("abs",           OWN,                          Core(Prim::Abs)),
    ("gt",            OWN,                          Core(Prim::Gt)),
    ("lt",            OWN,                          Core(Prim::Lt)),
    ("gte",           OWN,                          Core(Prim::Gte)),
    ("lte",           OWN,                          Core(Prim::Lte)),
    ("eq",            OWN,                          Core(Prim::Eq)),
    ("ne",            OWN,                          Core(Prim::Ne)),
    ("min",           REALS,                        Core(Prim::Min)),
    ("max",           REALS,                        Core(Prim::Max)),
    ("log",           REAL,                         Core(Prim::Log)),
    ("exp",           REAL,                         Core(Prim::Exp)),
    ("sin",           REAL,                         Core(Prim::Sin)),
    ("cos",           REAL,                         Core(Prim::Cos)),
    ("tan",           REAL,                         Core(Prim::Tan)),
    ("sinh",          REAL,                         Core(Prim::Sinh)),
    ("cosh",          REAL,                         Core(Prim::Cosh)),
    ("tanh",          REAL,                         Core(Prim::Tanh)),
    ("asin",          REAL,                         Core(Prim::Asin)),
    ("acos",          REAL,                         Core(Prim::Acos)),
    ("atan",          REAL,                         Core(Prim::Atan)),
    ("atan2",         REALS,                        Core(Prim::Atan2)),
    ("sqrt",          REAL,                         Core(Prim::Sqrt)),
    ("erf",           REAL,                         Core(Prim::Erf)),
    ("lgamma",        REAL,                         Core(Prim::Lgamma)),
    ("pow",           REALS,                        Core(Prim::Pow)),
    ("pow",           &["Float Integer -> Float"],  Core(Prim::Powi)),
    ("to_float",      OWN,                          Core(Prim::ToFloat)),
    ("to_integer",    OWN,                          Core(Prim::ToInteger)),
    ("bool_to_float", OWN,                          Core(Prim::BoolToFloat)),
    ("and",           OWN,                          Core(Prim::And)),
    ("or",            OWN,                          Core(Prim::Or)),
    ("not",           OWN,                          Core(Prim::Not)),
    ("print",         OWN,                          Core(Prim::Print)),
    ("stop_gradient", OWN,                          Core(Prim::StopGradient)),
    ("$trace",        OWN,                          Core(Prim::Trace)),
    ("$ranhashdoub",  OWN,                          Core(Prim::Ranhashdoub)),
    ("$inline",       &["t -> t"],                  Argument),
    ("$copydown",     &["t -> t"],                  Argument),
    // The vector-space operations. `ts_sub` is not in the reference; the stages of a derivation
    // subtract vectors, too.
    ("ts_add",        &["t (d t) -> t"],            Componentwise(Prim::Add)),
    ("ts_sub",        &["t t -> t"],                Core(Prim::Sub)),
    ("ts_scale",      &["Float t -> t"],            Componentwise(Prim::Mul)),
    ("ts_neg",        &["t -> t"],                  Componentwise(Prim::Neg)),
    ("ts_dot",        &["t t -> Float"],            Componentwise(Prim::Dot)),
    ("ts_zero",       OWN,                          Core(Prim::ZeroOf)),
    // Linear maps.
    ("lmZero",        OWN,                          Core(Prim::LmZero)),
    ("lmOne",         OWN,                          Core(Prim::LmOne)),
    ("lmScale",       OWN,                          Core(Prim::LmScale)),
    ("lmScaleR",      OWN,                          Core(Prim::LmScaleR)),
    ("lmDot",         OWN,                          Core(Prim::LmDot)),
    ("lmAdd",         OWN,                          Core(Prim::LmAdd)),
    ("lmVCat",        OWN,                          Core(Prim::LmVCat)),
    ("lmHCat",        OWN,                          Core(Prim::LmHCat)),
    ("lmCompose",     OWN,                          Core(Prim::LmCompose)),
    ("lmTranspose",   OWN,                          Core(Prim::LmTranspose)),
    ("lmApply",       OWN,                          Core(Prim::LmApply)),
    ("lmApplyR",      OWN,                          Core(Prim::LmApplyR)),
    ("lmVCatV",       OWN,                          NotYet),
    ("lmHCatV",       OWN,                          NotYet),
    ("lmL",           OWN,                          NotYet),
    ("lmLT",          OWN,                          NotYet),
    ("lmFold",        OWN,                          NotYet),
    ("lmVariant",     OWN,                          NotYet),
    // Tensors and functions.
    ("build",         OWN,                          NotYet),
    ("sumbuild",      OWN,                          NotYet),
    ("index",         OWN,                          NotYet),
    ("size",          OWN,                          NotYet),
    ("shape",         OWN,                          NotYet),
    ("sum",           OWN,                          NotYet),
    ("fold",          OWN,                          NotYet),
    ("map",           OWN,                          NotYet),
    ("map2",          OWN,                          NotYet),
    ("reduce",        OWN,                          NotYet),
    ("scanl",         OWN,                          NotYet),
    ("scanr",         OWN,                          NotYet),
    ("shift1L",       OWN,                          NotYet),
    ("shift1R",       OWN,                          NotYet),
    ("constVec",      OWN,                          NotYet),
    ("deltaVec",      OWN,                          NotYet),
    ("diag",          OWN,                          NotYet),
    ("delta",         OWN,                          NotYet),
    ("Vec_init",      OWN,                          NotYet),
    ("unzip",         OWN,                          NotYet),
    ("buildFromSparse",       OWN,                  NotYet),
    ("buildFromSparseTupled", OWN,                  NotYet),
    ("imax",          OWN,                          NotYet),
    ("$check",        OWN,                          NotYet),
    ("$BENCH",        OWN,                          NotYet),
];

static BUILTINS: LazyLock<Vec<(Builtin, Vec<Rule>)>> = LazyLock::new(|| {
    let written = ROWS.iter().map(|&(name, typing, meaning)| Builtin { name: name.into(), typing, meaning });
    let primitive = |&p: &Prim| {
        let name = format!("{PRIMITIVE_PREFIX}{}", p.name()).into();
        Builtin { name, typing: OWN, meaning: Primitive(p) }
    };
    let rules = |row: Builtin| {
        let rules = row.typings().iter().map(|text| Rule::parse(text)).collect();
        (row, rules)
    };
    written.chain(ALL.iter().map(primitive)).map(rules).collect()
});

impl Builtin {
    fn typings(&self) -> &'static [&'static str] {
        match self.meaning {
            Core(prim) | Primitive(prim) if self.typing.is_empty() => prim.row().typing,
            _ => self.typing,
        }
    }

    /// The type of the result for arguments that it takes.
    pub fn result(&self, args: &[Type]) -> Option<Type> {
        match self.meaning {
            Core(prim) | Primitive(prim) => prim.result(args),
            Argument | Componentwise(Prim::Add | Prim::Neg) => args.first().cloned(),
            Componentwise(Prim::Dot) | MulInteger => Some(Type::Float),
            Componentwise(_) => args.get(1).cloned(),
            NotYet => None,
        }
    }

    /// The one primitive it stands for on arguments of these types.
    pub fn primitive(&self, args: &[Type]) -> Option<Prim> {
        match self.meaning {
            Core(prim) | Primitive(prim) => Some(prim),
            Componentwise(prim) if args.iter().all(|ty| ty.tangent() == *ty) => Some(prim),
            Componentwise(_) | Argument | MulInteger | NotYet => None,
        }
    }

    /// The argument types it takes, as text, one for each alternative.
    pub fn alternatives(&self) -> impl Iterator<Item = String> {
        self.typings().iter().map(|text| text.split("->").next().unwrap_or("").trim().to_string())
    }

    /// How many arguments it takes, when that is one number.
    pub fn arity(&self) -> Option<usize> {
        let mut counts = self.typings().iter().map(|text| {
            let rule = Rule::parse(text);
            (!text.contains("..")).then(|| (0..5).find(|&n| rule.at_arity(n).is_some())).flatten()
        });
        let first = counts.next()??;
        counts.all(|n| n == Some(first)).then_some(first)
    }
}

/// The rows of a name.
pub fn rows(name: &str) -> impl Iterator<Item = &'static Builtin> {
    BUILTINS.iter().map(|(row, _)| row).filter(move |row| row.name == name)
}

/// The row of a name that takes arguments of these types.
pub fn select(name: &str, args: &[Type]) -> Option<&'static Builtin> {
    let fits = |(row, rules): &&(Builtin, Vec<Rule>)| {
        row.name == name && row.admits(args) && rules.iter().any(|rule| rule.result(args).is_some())
    };
    BUILTINS.iter().find(fits).map(|(row, _)| row)
}

impl Builtin {
    /// What the typing cannot say: arithmetic wants numbers, comparison wants data.
    fn admits(&self, args: &[Type]) -> bool {
        match self.meaning {
            Core(Prim::Add | Prim::Sub) => args.iter().all(is_numeric),
            Core(Prim::Eq | Prim::Ne | Prim::Print) => !args.iter().any(Type::mentions_lm),
            Core(_) | Argument | MulInteger | Componentwise(_) | Primitive(_) | NotYet => true,
        }
    }
}

fn is_numeric(ty: &Type) -> bool {
    match ty {
        Type::Float | Type::Integer => true,
        Type::Tuple(parts) => parts.iter().all(is_numeric),
        Type::Tensor(_, element) => is_numeric(element),
        Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) => false,
    }
}

/// Every name, in the order of the table; those with several rows are repeated.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_primitive_has_a_surface_name() {
        let named = |p: &Prim| {
            ROWS.iter().any(|(name, _, m)| matches!(m, Core(q) | Componentwise(q) if q == p) || *name == p.name())
        };
        let missing: Vec<_> = ALL.iter().filter(|p| !named(p)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn arity_is_known_where_fixed() {
        let arity = |name: &str| rows(name).next().and_then(Builtin::arity);
        assert_eq!(arity("add"), Some(2));
        assert_eq!(arity("lmApply"), Some(2));
        assert_eq!(arity("print"), None);
        assert_eq!(arity("build"), None);
    }

    #[test]
    fn rows_choose_by_type() {
        let meaning = |name: &str, args: &[Type]| select(name, args).map(|row| row.meaning);
        assert_eq!(meaning("pow", &[Type::Float, Type::Integer]), Some(Core(Prim::Powi)));
        assert_eq!(meaning("mul", &[Type::Float, Type::Integer]), Some(MulInteger));
        assert_eq!(meaning("add", &[Type::Float, Type::Integer]), None);
        assert_eq!(meaning("ts_sub", &[Type::Bool, Type::Bool]), None);
        assert_eq!(meaning("$prim$exp", &[Type::Float]), Some(Primitive(Prim::Exp)));
    }
}
