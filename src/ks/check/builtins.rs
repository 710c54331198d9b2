//! The built-in functions of the language: one row for each name and kind of argument.
//!
//! A row gives the argument types of a name, and the term that a call becomes. Most become a
//! primitive of the core, often on fewer types: `add` adds numbers, where the core's adds any vectors.
//! A name may have several rows; the first that fits is taken. The definitions of `arrays.ks` and `linalg.ks` and
//! the functions of the C library have rows, too, made from their text and from the rows of [`lm::libm`].

use crate::ks::check::shapes::is_shape_of;
use crate::ks::check::terms::argument_type;
use crate::ks::check::typings::arguments_as_written;
use crate::ks::check::written;
use lm::libm;
use lm::prim::{ALL, JacobianRule, Prim};
use lm::scheme::{Named, Rule};
use lm::term::{Fun, FunName};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::{Arc, LazyLock, OnceLock};

/// The term that a built-in becomes.
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
    /// The body of the definition of that number in `arrays.ks` and `linalg.ks`.
    Generic(usize),
    /// The shape of the argument.
    Shape,
    /// `buildFromSparse` of several tensors at once.
    SparseTupled,
    /// One of two linear maps, chosen by a Bool.
    Variant,
    /// The fold that is the argument, whose derivative keeps so many states.
    Checkpoint,
}

/// The prefix of the names of [`Meaning::Primitive`]. No definition may have such a name.
pub(super) const PRIMITIVE_PREFIX: &str = "$prim$";

use Meaning::{
    Argument, Checkpoint, Componentwise, Core, Generic, MulInteger, Primitive, Shape, SparseTupled, Variant,
};

/// One row.
#[derive(Debug)]
pub struct Builtin {
    /// The name.
    pub name: Cow<'static, str>,
    /// Alternative typings, in the notation of [`lm::scheme`]; none of its own means those of the core.
    typing: &'static [&'static str],
    /// The meaning.
    pub meaning: Meaning,
    rules: OnceLock<Vec<Rule>>,
}

const REAL: &[&str] = &["Float -> Float"];
const REALS: &[&str] = &["Float Float -> Float"];
const NUMBER: &[&str] = &["Float -> Float", "Integer -> Integer", "(Tensor i t) -> (Tensor i t)"];
const NUMBERS: &[&str] = &["Float Float -> Float", "Integer Integer -> Integer"];
const TENSORS: &[&str] = &["(Tensor i t) (Tensor i t) -> (Tensor i t)"];
const OWN: &[&str] = &[];

#[rustfmt::skip]
const ROWS: &[(&str, &[&str], Meaning)] = &[
    ("add",           NUMBERS,                      Core(Prim::Add)),
    ("sub",           NUMBERS,                      Core(Prim::Sub)),
    ("add",           TENSORS,                      Core(Prim::Add)),
    ("sub",           TENSORS,                      Core(Prim::Sub)),
    ("mul",           NUMBERS,                      Core(Prim::Mul)),
    ("mul",           &["Float (Tensor i Float) -> (Tensor i Float)"], Core(Prim::Mul)),
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
    ("sqrt",          REAL,                         Core(Prim::Sqrt)),
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
    ("lmVCatV",       OWN,                          Core(Prim::LmVCatV)),
    ("lmHCatV",       OWN,                          Core(Prim::LmHCatV)),
    ("lmAddV",        OWN,                          Core(Prim::LmAddV)),
    ("lmIndex",       OWN,                          Core(Prim::LmIndex)),
    ("lmSum",         OWN,                          Core(Prim::LmSum)),
    ("lmTo",          OWN,                          Core(Prim::LmTo)),
    ("lmL",           OWN,                          Core(Prim::LmL)),
    ("lmLT",          OWN,                          Core(Prim::LmLT)),
    ("lmFold",        OWN,                          Core(Prim::LmFold)),
    ("lmVariant",     &["Bool (LM s t) (LM s t) -> (LM s t)"], Variant),
    // Arrays; others are in `arrays.ks`.
    ("build",         OWN,                          Core(Prim::Build)),
    ("index",         OWN,                          Core(Prim::Index)),
    ("size",          OWN,                          Core(Prim::Size)),
    ("sum",           OWN,                          Core(Prim::Sum)),
    ("sumbuild",      OWN,                          Core(Prim::SumBuild)),
    ("imax",          OWN,                          Core(Prim::Imax)),
    ("fold",          OWN,                          Core(Prim::Fold)),
    ("scanl",         OWN,                          Core(Prim::Scanl)),
    ("map2",          OWN,                          Core(Prim::Map2)),
    ("reduce",        OWN,                          Core(Prim::Reduce)),
    ("scanr",         OWN,                          Core(Prim::Scanr)),
    ("shift1L",       OWN,                          Core(Prim::Shift1L)),
    ("shift1R",       OWN,                          Core(Prim::Shift1R)),
    ("$place",        OWN,                          Core(Prim::Place)),
    ("checkpoint",    &["Integer t -> t"],          Checkpoint),
    ("$checkpoint",   OWN,                          Core(Prim::Checkpoint)),
    ("$replay",       OWN,                          Core(Prim::Replay)),
    ("$states",       OWN,                          Core(Prim::States)),
    ("Vec_init",      OWN,                          Core(Prim::VecInit)),
    ("unzip",         OWN,                          Core(Prim::Unzip)),
    ("$common_size",  OWN,                          Core(Prim::CommonSize)),
    ("$as_size",      OWN,                          Core(Prim::AsSize)),
    ("$same_size",    OWN,                          Core(Prim::SameSize)),
    ("$in_range",     OWN,                          Core(Prim::InRange)),
    ("$add_at",       OWN,                          Core(Prim::AddAt)),
    ("$delta_at",     OWN,                          Core(Prim::DeltaAt)),
    ("$into",         OWN,                          Core(Prim::Into)),
    ("$loop",         OWN,                          Core(Prim::Loop)),
    ("shape",         &["t -> t"],                  Shape),
    ("buildFromSparseTupled", &["z k (Lam k t) -> t"], SparseTupled),
    ("$BENCH",        OWN,                          Core(Prim::Bench)),
];

static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let written = ROWS.iter().map(|&(name, typing, meaning)| Builtin::new(name, typing, meaning));
    let functions = libm::ALL.iter().map(|&f| Builtin::new(f.name(), OWN, Core(Prim::Libm(f))));
    let primitive = |&p: &Prim| Builtin::new(format!("{PRIMITIVE_PREFIX}{}", p.name()), OWN, Primitive(p));
    let generic = |(i, g): (usize, &written::Definition)| {
        // The table lives as long as the program.
        let typing: &'static str = g.typing.clone().leak();
        Builtin::new(g.name.to_string(), vec![typing].leak(), Generic(i))
    };
    let generics = written::DEFINITIONS.iter().enumerate().map(generic);
    functions.chain(written).chain(generics).chain(ALL.iter().map(primitive)).collect()
});

impl Builtin {
    fn new(name: impl Into<Cow<'static, str>>, typing: &'static [&'static str], meaning: Meaning) -> Builtin {
        Builtin { name: name.into(), typing, meaning, rules: OnceLock::new() }
    }

    /// Returns the typings, read: a program asks for those of few rows.
    fn rules(&self) -> &[Rule] {
        self.rules.get_or_init(|| self.typings().iter().map(|text| Rule::parse(text)).collect())
    }

    fn typings(&self) -> &'static [&'static str] {
        match self.meaning {
            Core(prim) | Primitive(prim) if self.typing.is_empty() => prim.typing(),
            _ => self.typing,
        }
    }

    /// Returns whether it is of the library, `linalg.ks`: a program may have a variable or an external function of its
    /// name, as if the name were unknown.
    pub(super) fn is_library(&self) -> bool {
        matches!(self.meaning, Generic(number) if written::DEFINITIONS[number].is_library)
    }

    /// Returns the type of the result for arguments that it takes.
    pub(super) fn result(&self, args: &[Type]) -> Option<Type> {
        match self.meaning {
            Core(prim) | Primitive(prim) => prim.result(args),
            Generic(_) => self.instance(args).map(|(_, result)| result),
            Shape => args.first().map(Type::shape),
            SparseTupled => sparse_parts(args.last()?).map(Type::tuple),
            Argument | Componentwise(Prim::Add | Prim::Neg) => args.first().cloned(),
            Componentwise(Prim::Dot) | MulInteger => Some(Type::Float),
            Componentwise(_) | Variant | Checkpoint => args.get(1).cloned(),
        }
    }

    /// Returns the primitive that it becomes on arguments of these types, if that is one with a derivative.
    pub(super) fn primitive(&self, args: &[Type]) -> Option<Prim> {
        match self.meaning {
            Core(prim) | Primitive(prim) if prim.jacobian() == JacobianRule::Structural => None,
            Core(prim) | Primitive(prim) => Some(prim),
            Componentwise(prim) if args.iter().all(|ty| ty.tangent() == *ty) => Some(prim),
            Componentwise(_) | Argument | MulInteger | Generic(_) => None,
            Shape | SparseTupled | Variant | Checkpoint => None,
        }
    }

    /// Returns the types of its type variables for these arguments, and the result type.
    pub(super) fn instance(&self, args: &[Type]) -> Option<(Named, Type)> {
        self.rules().iter().find_map(|rule| rule.instance(args))
    }

    /// Returns the argument types it takes, as users write them, one or two for each alternative.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = String> {
        self.typings().iter().flat_map(|text| arguments_as_written(text))
    }

    /// Returns how many arguments it takes, when that is one number.
    pub fn arity(&self) -> Option<usize> {
        let mut counts =
            self.typings().iter().zip(self.rules()).map(|(text, rule)| {
                (!text.contains("..")).then(|| (0..5).find(|&n| rule.at_arity(n).is_some())).flatten()
            });
        let first = counts.next()??;
        counts.all(|n| n == Some(first)).then_some(first)
    }
}

/// The rows of each name, by their places in `BUILTINS`.
static PLACES: LazyLock<FxHashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (place, row) in BUILTINS.iter().enumerate() {
        places.entry(&row.name).or_default().push(place);
    }
    places
});

/// Returns the rows of a name.
pub fn rows(name: &str) -> impl Iterator<Item = &'static Builtin> {
    PLACES.get(name).into_iter().flatten().map(|&place| &BUILTINS[place])
}

/// Returns whether a name is that of a built-in whose result may be a tuple: its type is one, or depends on arguments.
/// The library does not count. See Note [Two readings of a let] in `lets.rs`.
pub(super) fn may_give_tuple(name: &str) -> bool {
    let never = ["Float", "Integer", "Bool", "String", "(Vec", "(Tensor", "(LM"];
    let core = rows(name).filter(|row| !row.is_library());
    let mut results = core.flat_map(|row| row.typings()).filter_map(|text| text.rsplit("-> ").next());
    results.any(|result| !never.iter().any(|start| result.starts_with(start)))
}

/// Returns the typings of a name, in order.
pub(super) fn rules(name: &str) -> impl Iterator<Item = &'static Rule> {
    rows(name).flat_map(Builtin::rules)
}

/// Returns the row of a name that takes arguments of these types.
pub fn select(name: &str, args: &[Type]) -> Option<&'static Builtin> {
    let says = |rule: &Rule| rule.says_functions(args) && rule.result(args).is_some();
    rows(name).find(|row| row.admits(args) && row.rules().iter().any(says))
}

/// Returns whether a built-in of that name would take such arguments if functions were values.
pub(super) fn takes_no_functions(name: &str, args: &[Type]) -> bool {
    let fits = |rule: &Rule| !rule.says_functions(args) && rule.result(args).is_some();
    rules(name).any(fits)
}

/// Returns every name with each of its typings, those of `$prim$` apart, in the order of the table.
pub fn typings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = BUILTINS.iter().filter(|row| !matches!(row.meaning, Primitive(_)));
    rows.flat_map(|row| row.typings().iter().map(|text| (&*row.name, *text)))
}

/// Returns the name and the typing that a call with arguments of these types uses.
pub fn typing_of(name: &str, args: &[Type]) -> Option<(&'static str, &'static str)> {
    let row = select(name, args)?;
    let (text, _) = row.typings().iter().zip(row.rules()).find(|(_, rule)| rule.result(args).is_some())?;
    Some((&row.name, text))
}

impl Builtin {
    /// Checks the conditions that a typing cannot state: arithmetic takes numbers, comparison takes data.
    fn admits(&self, args: &[Type]) -> bool {
        match self.meaning {
            Core(Prim::Add | Prim::Sub) => args.iter().all(is_numeric),
            // The core's negates the Floats of a tensor only.
            Core(Prim::Neg) => args.iter().all(|ty| *ty == Type::Integer || ty.tangent() == *ty),
            Primitive(Prim::Add | Prim::Sub) => args.iter().all(Type::has_sums),
            Core(Prim::SumBuild) | Primitive(Prim::SumBuild) => match args.last() {
                Some(Type::Lam(_, t)) => is_numeric(t),
                _ => false,
            },
            Core(Prim::Sum | Prim::AddAt) | Primitive(Prim::Sum | Prim::AddAt) => args.first().is_some_and(is_numeric),
            Core(Prim::Eq | Prim::Ne | Prim::Print) => !args.iter().any(Type::mentions_lm),
            Core(Prim::Unzip) | Primitive(Prim::Unzip) => Prim::Unzip.result(args).is_some(),
            SparseTupled => is_sparse(args),
            Core(_) | Argument | MulInteger | Componentwise(_) | Primitive(_) | Generic(_) => true,
            Shape | Variant | Checkpoint => true,
        }
    }
}

/// Returns the types of the tensors that a function gives pairs for: `(Lam k (Tuple (Tuple i t) ..))`.
pub(super) fn sparse_parts(function: &Type) -> Option<Vec<Type>> {
    let Type::Lam(_, pairs) = function else { return None };
    let part = |pair: &Type| match pair.as_tuple()? {
        [i, t] if is_numeric(t) => Some(Type::Tensor(i.rank_of_index()?, Arc::new(t.clone()))),
        _ => None,
    };
    pairs.as_tuple()?.iter().map(part).collect()
}

fn is_sparse(args: &[Type]) -> bool {
    let [shapes, n, f] = args else { return false };
    n.rank_of_index().is_some() && sparse_parts(f).is_some_and(|parts| is_shape_of(&Type::tuple(parts), shapes))
}

fn is_numeric(ty: &Type) -> bool {
    match ty {
        Type::Float | Type::Integer => true,
        Type::Tuple(parts) => parts.iter().all(is_numeric),
        Type::Tensor(_, element) => is_numeric(element),
        Type::Bool | Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => false,
    }
}

/// Returns the built-in as a function `[base s]` of the argument type `s`.
pub(super) fn builtin_function(base: &str, s: &Type) -> Option<Fun> {
    let parts = s.as_tuple().filter(|parts| parts.len() != 1).map(<[Type]>::to_vec);
    parts.into_iter().chain([vec![s.clone()]]).find_map(|params| {
        let result = select(base, &params)?.result(&params)?;
        let name = FunName { overload: Some(s.clone()), ..FunName::base(base) };
        Some(Fun { name, params, result })
    })
}

/// Returns the argument types that the name of a built-in may mean: the one that it says, or those of the rows that are
/// for one type only.
pub(super) fn builtin_arguments(name: &FunName) -> Vec<Type> {
    match &name.overload {
        Some(ty) => vec![ty.clone()],
        None => {
            let all = rules(&name.base).filter_map(|rule| rule.only_arguments());
            all.map(|types| argument_type(&types)).collect()
        }
    }
}

/// Returns every name, in the order of the table; those with several rows are repeated.
pub fn names() -> impl Iterator<Item = &'static str> {
    let shown = BUILTINS.iter().filter(|row| !matches!(row.meaning, Primitive(_)));
    shown.map(|row| &*row.name)
}
