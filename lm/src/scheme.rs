//! Reads type schemes: the typing rule of an operator, written as one line of text.
//!
//! ```text
//! (LM s t) (LM r s) -> (LM r t)             lower-case words are type variables
//! (LM s t) .. -> (LM s (Tuple t ..))        `p ..` repeats p for each argument; a variable that
//!                                           occurs only under `..` takes a value per repetition
//! (LM s t) (d s) -> (d t)                   `(d s)` is the tangent type of s
//! i (Tensor i t) -> t                       a tensor is known by its index type: `(Vec t)` is
//!                                           `(Tensor Integer t)`
//! ```
//!
//! One scheme serves to type a term (`Scheme::result`) and to type a law (`law::check`).

use crate::types::Type;
use std::sync::Arc;

/// A type with variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheme {
    /// A type variable; the number tells repetitions under `..` apart.
    Var(Arc<str>, usize),
    /// A type without variables.
    Known(Type),
    /// `(d t)`.
    Tangent(Box<Scheme>),
    /// `(Tuple t1 .. tn)`.
    Tuple(Vec<Scheme>),
    /// `(Tensor i t)`, of index type i.
    Tensor(Box<Scheme>, Box<Scheme>),
    /// `(Lam s t)`.
    Lam(Box<Scheme>, Box<Scheme>),
    /// `(LM s t)`.
    LM(Box<Scheme>, Box<Scheme>),
    /// `p ..`
    Repeat(Box<Scheme>),
}

/// The types of type variables, by name.
pub type Named = Vec<(Arc<str>, Type)>;

/// The typing rule of an operator: parameter schemes and result scheme.
#[derive(Clone, Debug)]
pub struct Rule {
    params: Vec<Scheme>,
    result: Scheme,
}

impl Rule {
    /// Reads a rule from its text.
    ///
    /// Panics when the text is malformed: rules are part of the program, not input.
    pub fn parse(text: &str) -> Rule {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        let mut schemes = Vec::new();
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (scheme, after) = parse_scheme(rest);
            schemes.push(scheme);
            rest = after;
        }
        let arrow = schemes.iter().position(is_arrow).unwrap_or_else(|| panic!("no arrow in type rule `{text}`"));
        let result = schemes.pop().expect("an arrow is followed by a result");
        schemes.truncate(arrow);
        Rule { params: schemes, result }
    }

    /// Returns the rule for exactly `n` arguments, repetitions written out; `None` when it cannot take `n`.
    pub fn at_arity(&self, n: usize) -> Option<(Vec<Scheme>, Scheme)> {
        let repeats = self.params.iter().filter(|p| matches!(p, Scheme::Repeat(_))).count();
        let fixed = self.params.len() - repeats;
        if (repeats == 0 && n != fixed) || n < fixed {
            return None;
        }
        let count = n - fixed;
        let mut shared = Vec::new();
        self.params.iter().chain([&self.result]).for_each(|p| fixed_vars(p, &mut shared));
        let params = expand_all(&self.params, count, &shared);
        Some((params, expand(&self.result, count, &shared)))
    }

    /// Returns the result type for the given argument types, or `None` when they do not fit.
    pub fn result(&self, args: &[Type]) -> Option<Type> {
        self.instance(args).map(|(_, result)| result)
    }

    /// Returns the types of the type variables for the given argument types, in order of appearance, and the result
    /// type; `None` when the arguments do not fit.
    pub fn instance(&self, args: &[Type]) -> Option<(Named, Type)> {
        let (params, result) = self.at_arity(args.len())?;
        let mut bound = Vec::new();
        let fits = params.iter().zip(args).all(|(p, t)| matches_type(p, t, &mut bound));
        let tangents_fit = || params.iter().zip(args).all(|(p, t)| known_type(p, &bound).as_ref() == Some(t));
        let result = if fits && tangents_fit() { known_type(&result, &bound)? } else { return None };
        Some((bound.into_iter().map(|((name, _), ty)| (name, ty)).collect(), result))
    }

    /// Returns the types of the arguments, when there is no choice.
    pub fn only_arguments(&self) -> Option<Vec<Type>> {
        let (params, _) = self.at_arity(self.params.len())?;
        params.iter().map(|p| known_type(p, &Vec::new())).collect()
    }

    /// Returns the type of what the i-th argument, a function, is applied to, if the types of the others tell.
    pub fn domain(&self, args: &[Option<Type>], i: usize) -> Option<Type> {
        let (params, _) = self.at_arity(args.len())?;
        let mut bound = Vec::new();
        let mut known_args = params.iter().zip(args).filter_map(|(p, t)| Some((p, t.as_ref()?)));
        let Scheme::Lam(s, _) = &params[i] else { return None };
        if known_args.all(|(p, t)| matches_type(p, t, &mut bound)) { known_type(s, &bound) } else { None }
    }

    /// Returns whether the rule has a function type for every function among the arguments. A type variable may be a
    /// function in the core only.
    pub fn says_functions(&self, args: &[Type]) -> bool {
        let said = |(p, t): (&Scheme, &Type)| matches!(p, Scheme::Lam(..)) == matches!(t, Type::Lam(..));
        self.at_arity(args.len()).is_some_and(|(params, _)| params.iter().zip(args).all(said))
    }
}

const ARROW: &str = "->";

fn is_arrow(s: &Scheme) -> bool {
    matches!(s, Scheme::Var(name, _) if &**name == ARROW)
}

fn parse_scheme<'a>(tokens: &'a [&'a str]) -> (Scheme, &'a [&'a str]) {
    let (scheme, rest) = match tokens {
        ["(", head, rest @ ..] => parse_compound(head, rest),
        ["Float", rest @ ..] => (Scheme::Known(Type::Float), rest),
        ["Integer", rest @ ..] => (Scheme::Known(Type::Integer), rest),
        ["Bool", rest @ ..] => (Scheme::Known(Type::Bool), rest),
        ["String", rest @ ..] => (Scheme::Known(Type::String), rest),
        [name, rest @ ..] => (Scheme::Var((*name).into(), 0), rest),
        [] => panic!("type rule ends early"),
    };
    match rest {
        ["..", rest @ ..] => (Scheme::Repeat(Box::new(scheme)), rest),
        _ => (scheme, rest),
    }
}

fn parse_compound<'a>(head: &str, mut rest: &'a [&'a str]) -> (Scheme, &'a [&'a str]) {
    let mut parts = Vec::new();
    while rest[0] != ")" {
        let (part, after) = parse_scheme(rest);
        parts.push(part);
        rest = after;
    }
    let rest = &rest[1..];
    if head == "Tuple" {
        return (Scheme::Tuple(parts), rest);
    }
    let mut parts = parts.into_iter().map(Box::new);
    let mut next = || parts.next().expect("a type constructor has its arguments");
    let scheme = match head {
        "d" => Scheme::Tangent(next()),
        "Vec" => Scheme::Tensor(Box::new(Scheme::Known(Type::Integer)), next()),
        "Tensor" => Scheme::Tensor(next(), next()),
        "Lam" => Scheme::Lam(next(), next()),
        "LM" => Scheme::LM(next(), next()),
        other => panic!("unknown type constructor `{other}` in a type rule"),
    };
    (scheme, rest)
}

/// Returns the variables that occur outside of every `..`: they have one type for all repetitions.
fn fixed_vars(s: &Scheme, out: &mut Vec<Arc<str>>) {
    match s {
        Scheme::Var(name, _) => out.push(name.clone()),
        Scheme::Known(_) | Scheme::Repeat(_) => {}
        Scheme::Tangent(t) => fixed_vars(t, out),
        Scheme::Tuple(ts) => ts.iter().for_each(|t| fixed_vars(t, out)),
        Scheme::Tensor(s, t) | Scheme::Lam(s, t) | Scheme::LM(s, t) => {
            fixed_vars(s, out);
            fixed_vars(t, out);
        }
    }
}

fn expand_all(ss: &[Scheme], count: usize, shared: &[Arc<str>]) -> Vec<Scheme> {
    let mut out = Vec::new();
    for s in ss {
        match s {
            Scheme::Repeat(t) => out.extend((1..=count).map(|i| number(t, i, shared))),
            other => out.push(expand(other, count, shared)),
        }
    }
    out
}

fn expand(s: &Scheme, count: usize, shared: &[Arc<str>]) -> Scheme {
    let below = |s: &Scheme| Box::new(expand(s, count, shared));
    match s {
        Scheme::Var(..) | Scheme::Known(_) => s.clone(),
        Scheme::Tangent(t) => Scheme::Tangent(below(t)),
        Scheme::Tuple(ts) => Scheme::Tuple(expand_all(ts, count, shared)),
        Scheme::Tensor(i, t) => Scheme::Tensor(below(i), below(t)),
        Scheme::Lam(a, b) => Scheme::Lam(below(a), below(b)),
        Scheme::LM(a, b) => Scheme::LM(below(a), below(b)),
        Scheme::Repeat(_) => panic!("`..` outside a list of types"),
    }
}

/// Returns the i-th repetition: variables that are not shared get the number i.
fn number(s: &Scheme, i: usize, shared: &[Arc<str>]) -> Scheme {
    let below = |s: &Scheme| Box::new(number(s, i, shared));
    match s {
        Scheme::Var(name, _) if !shared.contains(name) => Scheme::Var(name.clone(), i),
        Scheme::Var(..) | Scheme::Known(_) => s.clone(),
        Scheme::Tangent(t) => Scheme::Tangent(below(t)),
        Scheme::Tuple(ts) => Scheme::Tuple(ts.iter().map(|t| number(t, i, shared)).collect()),
        Scheme::Tensor(index, t) => Scheme::Tensor(below(index), below(t)),
        Scheme::Lam(a, b) => Scheme::Lam(below(a), below(b)),
        Scheme::LM(a, b) => Scheme::LM(below(a), below(b)),
        Scheme::Repeat(_) => panic!("`..` under `..`"),
    }
}

type Bindings = Vec<((Arc<str>, usize), Type)>;

/// Binds the variables of `s` from `t`; tangents are left for a second look, once all is bound.
fn matches_type(s: &Scheme, t: &Type, bound: &mut Bindings) -> bool {
    match (s, t) {
        (Scheme::Var(name, i), _) => match bound.iter().find(|((n, j), _)| n == name && i == j) {
            Some((_, u)) => u == t,
            None => {
                bound.push(((name.clone(), *i), t.clone()));
                true
            }
        },
        (Scheme::Known(u), _) => u == t,
        (Scheme::Tangent(_), _) => true,
        (Scheme::Tuple(ss), Type::Tuple(ts)) => {
            ss.len() == ts.len() && ss.iter().zip(ts.iter()).all(|(s, t)| matches_type(s, t, bound))
        }
        (Scheme::Tensor(i, s), Type::Tensor(rank, t)) => {
            matches_type(i, &Type::index(*rank), bound) && matches_type(s, t, bound)
        }
        (Scheme::Lam(a, b), Type::Lam(s, t)) | (Scheme::LM(a, b), Type::LM(s, t)) => {
            matches_type(a, s, bound) && matches_type(b, t, bound)
        }
        (Scheme::Repeat(_), _) | (Scheme::Tuple(_) | Scheme::Tensor(..) | Scheme::Lam(..) | Scheme::LM(..), _) => false,
    }
}

/// Returns the type that `s` means, once its variables are bound.
fn known_type(s: &Scheme, bound: &Bindings) -> Option<Type> {
    Some(match s {
        Scheme::Var(name, i) => bound.iter().find(|((n, j), _)| n == name && i == j)?.1.clone(),
        Scheme::Known(t) => t.clone(),
        Scheme::Tangent(t) => known_type(t, bound)?.tangent(),
        Scheme::Tuple(ts) => Type::tuple(ts.iter().map(|t| known_type(t, bound)).collect::<Option<Vec<_>>>()?),
        Scheme::Tensor(i, t) => Type::Tensor(known_type(i, bound)?.rank_of_index()?, Arc::new(known_type(t, bound)?)),
        Scheme::Lam(a, b) => Type::lam(known_type(a, bound)?, known_type(b, bound)?),
        Scheme::LM(a, b) => Type::lm(known_type(a, bound)?, known_type(b, bound)?),
        Scheme::Repeat(_) => return None,
    })
}
