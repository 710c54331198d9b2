//! Reads CL from s-expressions: the syntax that `write` writes.
//!
//! The environment is known at each term, so a term that is ill-typed is found where it is. Takes: an s-expression, and
//! the functions that it may name. Gives: a definition whose types are checked.

use super::typing::{self, IllTyped};
use super::write::is_taken;
use super::{Argument, Def, Term};
use crate::ks::reader::{Sexp, Shape};
use lm::prim::Prim;
use lm::term::{Constant, Fun, FunName, Op, Pattern, Span, Supply};
use lm::types::Type;
use std::sync::Arc;

/// A mistake in the text of a definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Mistake {
    /// The form is none of the syntax: what is wanted, and its grammar.
    Malformed(&'static str, &'static str, Span),
    /// No function has the name.
    Unknown(FunName, Span),
    /// The term has no type.
    IllTyped(IllTyped, Span),
}

type Read<T> = Result<T, Mistake>;

/// Returns the function of a name, with its types.
pub type Functions<'a> = &'a dyn Fn(&FunName) -> Option<Arc<Fun>>;

const DEFINITION: &str = "(cl f T (x : S) c)";
const TERM: &str = "I, (K k), (P (i ..) n), (F f), (seq c ..), (tuple c ..), (if c c c), (L x c c) or (B p c ..)";
const OPERATOR: &str = "a primitive, a function, (call f), (D f), ($pack f), ($unpack T) or ($jacobian_at f)";
const TYPE: &str =
    "Float, Integer, Bool, String, (Tuple T ..), (Vec T), (Tensor d T), (Lam S T), (LM S T) or (Record f)";
const NAME: &str = "f, [f T] or [derivative f]";

/// Returns whether an s-expression is a definition in CL.
pub fn is_definition(s: &Sexp) -> bool {
    matches!(&s.shape, Shape::List(items) if items.first().and_then(symbol) == Some("cl"))
}

/// Returns the definition. Its variables are fresh.
///
/// Errors: the first mistake in the text.
pub fn definition(s: &Sexp, functions: Functions, supply: &mut Supply) -> Read<Def> {
    let [_, name, result, params, body] = list(s).unwrap_or_default() else {
        return malformed("definition", DEFINITION, s);
    };
    let params: Vec<(&str, Type)> = match declaration(params)? {
        Some(one) => vec![one],
        None => list(params).unwrap_or_default().iter().map(parameter).collect::<Read<_>>()?,
    };
    let types: Vec<Type> = params.iter().map(|(_, ty)| ty.clone()).collect();
    let params = params.into_iter().map(|(x, ty)| supply.fresh(x, ty)).collect();
    let fun = Arc::new(Fun { name: fun_name(name)?, params: types.clone(), result: read_type(result)? });
    let itself = |name: &FunName| if *name == fun.name { Some(fun.clone()) } else { functions(name) };
    let body = Reader { functions: &itself, supply }.term(body, &types)?;
    let def = Def { fun: fun.clone(), params, body };
    def.check().map_err(|error| Mistake::IllTyped(error, s.span))?;
    Ok(def)
}

struct Reader<'a> {
    functions: Functions<'a>,
    supply: &'a mut Supply,
}

/// A term that waits for the one after it.
enum Open {
    Then(Term),
    Let(Pattern, Term),
}

impl Reader<'_> {
    /// Returns a term in an environment.
    fn term(&mut self, s: &Sexp, source: &[Type]) -> Read<Term> {
        // Chains of lets and compositions are long, so they are not walked by recursion.
        let (mut s, mut source, mut open) = (s, source.to_vec(), Vec::new());
        let last = loop {
            match headed(s) {
                Some(("L", [pattern, rhs, body])) => {
                    let read = self.term(rhs, &source)?;
                    let bound = typing::value(target(&read, &source, rhs)?);
                    let pattern = self.pattern(pattern, &bound)?;
                    source.extend(pattern.vars().iter().map(|x| x.ty().clone()));
                    open.push(Open::Let(pattern, read));
                    s = body;
                }
                Some(("seq", [steps @ .., last])) => {
                    for step in steps {
                        let read = self.term(step, &source)?;
                        source = target(&read, &source, step)?;
                        open.push(Open::Then(read));
                    }
                    s = last;
                }
                _ => break self.simple(s, &source)?,
            }
        };
        Ok(open.into_iter().rev().fold(last, |after, open| match open {
            Open::Then(first) => Term::Compose(Box::new(first), Box::new(after)),
            Open::Let(pattern, rhs) => Term::Let(pattern, Box::new(rhs), Box::new(after)),
        }))
    }

    fn simple(&mut self, s: &Sexp, source: &[Type]) -> Read<Term> {
        if symbol(s) == Some("I") {
            return Ok(Term::Identity);
        }
        match headed(s) {
            Some(("K", [k])) => Ok(Term::Constant(constant(k)?)),
            Some(("K", [hole, ty])) if symbol(hole) == Some("_") => Ok(Term::Dummy(read_type(ty)?)),
            Some(("P", [chosen, of])) => {
                let chosen = list(chosen).ok_or(Mistake::Malformed("pruning", "(P (i ..) n)", s.span))?;
                Ok(Term::Pruning { chosen: chosen.iter().map(number).collect::<Read<_>>()?, of: number(of)? })
            }
            Some(("F", [f])) => {
                let op = self.operator(f)?;
                let arity = arity(&op, source);
                Ok(Term::Function { op, arity, span: s.span })
            }
            Some(("F", [f, arity])) => {
                Ok(Term::Function { op: self.operator(f)?, arity: number(arity)?, span: s.span })
            }
            Some(("tuple", parts)) => Ok(Term::Tuple(parts.iter().map(|c| self.term(c, source)).collect::<Read<_>>()?)),
            Some(("if", [c, yes, no])) => {
                let [c, yes, no] =
                    [self.term(c, source)?, self.term(yes, source)?, self.term(no, source)?].map(Box::new);
                Ok(Term::If(c, yes, no))
            }
            Some(("B", [op, args @ ..])) => {
                let op = self.operator(op)?;
                let args = args.iter().map(|arg| self.argument(arg, source)).collect::<Read<_>>()?;
                Ok(Term::Binder { op, args, span: s.span })
            }
            _ => malformed("term of CL", TERM, s),
        }
    }

    fn argument(&mut self, s: &Sexp, source: &[Type]) -> Read<Argument> {
        let Some(("lam", [x, body])) = headed(s) else { return Ok(Argument::Value(self.term(s, source)?)) };
        let (name, ty) = parameter(x)?;
        let inner = [source, std::slice::from_ref(&ty)].concat();
        let x = self.supply.fresh(name, ty);
        Ok(Argument::Function(x, self.term(body, &inner)?))
    }

    /// Returns the variables that bind a value of a type.
    fn pattern(&mut self, s: &Sexp, bound: &Type) -> Read<Pattern> {
        let Some(names) = list(s) else {
            let name = symbol(s).ok_or(Mistake::Malformed("pattern", "x or (x1 .. xn)", s.span))?;
            return Ok(Pattern::Var(self.supply.fresh(name, bound.clone())));
        };
        let names: Option<Vec<&str>> = names.iter().map(symbol).collect();
        let parts = bound.as_tuple().filter(|parts| names.as_ref().is_some_and(|names| names.len() == parts.len()));
        let (Some(names), Some(parts)) = (names, parts) else { return malformed("pattern", "x or (x1 .. xn)", s) };
        Ok(Pattern::Tuple(names.iter().zip(parts).map(|(x, ty)| self.supply.fresh(x, ty.clone())).collect()))
    }

    fn operator(&self, s: &Sexp) -> Read<Op> {
        let function = |name: &Sexp| {
            let found = fun_name(name)?;
            (self.functions)(&found).ok_or(Mistake::Unknown(found, name.span))
        };
        match headed(s) {
            Some(("call", [f])) => Ok(Op::Call(function(f)?)),
            Some(("$pack", [f])) => Ok(Op::Pack(Arc::new(fun_name(f)?))),
            Some(("$unpack", [ty])) => Ok(Op::Unpack(read_type(ty)?)),
            Some(("$jacobian_at", [f])) => Ok(Op::JacobianAt(function(f)?)),
            Some(("D", [f])) => match self.operator(f)? {
                Op::Prim(p) => Ok(Op::JacobianOf(p)),
                Op::Call(f) => Ok(Op::JacobianOfFun(f)),
                _ => malformed("operator", OPERATOR, s),
            },
            Some(_) => malformed("operator", OPERATOR, s),
            None => match symbol(s).filter(|name| is_taken(name)) {
                Some(name) => word(name).ok_or(Mistake::Malformed("operator", OPERATOR, s.span)),
                None => Ok(Op::Call(function(s)?)),
            },
        }
    }
}

/// Returns the operator of a word or of a primitive's name.
fn word(name: &str) -> Option<Op> {
    let pair = |indices: &str| {
        let (i, n) = indices.split_once('$')?;
        Some((i.parse().ok()?, n.parse().ok()?)).filter(|(i, n)| (1..=*n).contains(i))
    };
    match name {
        "tuple" => Some(Op::Tuple),
        "assert" => Some(Op::Assert),
        _ => match (name.strip_prefix("get$"), name.strip_prefix("lmGet$")) {
            (Some(indices), _) => pair(indices).map(|(i, n)| Op::Get(i, n)),
            (_, Some(indices)) => pair(indices).map(|(i, n)| Op::LmGet(i, n)),
            _ => Prim::named(name).map(Op::Prim),
        },
    }
}

/// Returns the number of arguments that an operator takes from an environment: its values, or the components of its
/// one value.
fn arity(op: &Op, source: &[Type]) -> usize {
    match source {
        [Type::Tuple(parts)] if op.result(source).is_none() => parts.len(),
        [_] => 1,
        many if op.result(many).is_none() => 1,
        many => many.len(),
    }
}

fn target(c: &Term, source: &[Type], s: &Sexp) -> Read<Vec<Type>> {
    typing::target(c, source).map_err(|error| Mistake::IllTyped(error, s.span))
}

fn malformed<T>(what: &'static str, grammar: &'static str, s: &Sexp) -> Read<T> {
    Err(Mistake::Malformed(what, grammar, s.span))
}

fn symbol(s: &Sexp) -> Option<&str> {
    if let Shape::Symbol(name) = &s.shape { Some(name) } else { None }
}

fn list(s: &Sexp) -> Option<&[Sexp]> {
    if let Shape::List(items) = &s.shape { Some(items) } else { None }
}

/// Returns the first word of a list, and the rest.
fn headed(s: &Sexp) -> Option<(&str, &[Sexp])> {
    let (first, rest) = list(s)?.split_first()?;
    Some((symbol(first)?, rest))
}

/// Returns x and T of `(x : T)`; `None` for other forms.
fn declaration(s: &Sexp) -> Read<Option<(&str, Type)>> {
    match list(s) {
        Some([x, colon, ty]) if symbol(colon) == Some(":") => Ok(symbol(x).zip(Some(read_type(ty)?))),
        _ => Ok(None),
    }
}

fn parameter(s: &Sexp) -> Read<(&str, Type)> {
    declaration(s)?.ok_or(Mistake::Malformed("parameter", "(x : T)", s.span))
}

fn number(s: &Sexp) -> Read<usize> {
    let wrong = Mistake::Malformed("number", "a number of a value", s.span);
    if let Shape::Integer(i) = s.shape { usize::try_from(i).map_err(|_| wrong) } else { Err(wrong) }
}

fn constant(s: &Sexp) -> Read<Constant> {
    match &s.shape {
        Shape::Float(x) => Ok(Constant::Float(*x)),
        Shape::Integer(i) => Ok(Constant::Integer(*i)),
        Shape::String(text) => Ok(Constant::String(text.clone())),
        Shape::Symbol(name) => match &**name {
            "true" => Ok(Constant::Bool(true)),
            "false" => Ok(Constant::Bool(false)),
            "inf" => Ok(Constant::Float(f64::INFINITY)),
            "-inf" => Ok(Constant::Float(f64::NEG_INFINITY)),
            "nan" => Ok(Constant::Float(f64::NAN)),
            _ => malformed("constant", "a number, a text, true or false", s),
        },
        Shape::List(_) | Shape::Bracket(_) | Shape::Bad => malformed("constant", "a number, a text, true or false", s),
    }
}

fn read_type(s: &Sexp) -> Read<Type> {
    let wrong = || Mistake::Malformed("type", TYPE, s.span);
    if let Some(name) = symbol(s) {
        let scalars = [Type::Float, Type::Integer, Type::Bool, Type::String];
        return scalars.into_iter().find(|ty| ty.to_string() == name).ok_or_else(wrong);
    }
    match headed(s).ok_or_else(wrong)? {
        ("Tuple", parts) => Ok(Type::tuple(parts.iter().map(read_type).collect::<Read<Vec<_>>>()?)),
        ("Vec", [element]) => Ok(Type::vec(read_type(element)?)),
        ("Tensor", [rank, element]) => Ok(Type::Tensor(number(rank)?, Arc::new(read_type(element)?))),
        ("Lam", [from, to]) => Ok(Type::lam(read_type(from)?, read_type(to)?)),
        ("LM", [from, to]) => Ok(Type::lm(read_type(from)?, read_type(to)?)),
        ("Record", [of]) => Ok(Type::Record(Arc::new(fun_name(of)?))),
        _ => Err(wrong()),
    }
}

fn fun_name(s: &Sexp) -> Read<FunName> {
    let wrong = Mistake::Malformed("function name", NAME, s.span);
    let (first, second) = match &s.shape {
        Shape::Symbol(name) => return Ok(FunName::base(name)),
        Shape::Bracket(items) => match items.as_slice() {
            [first, second] => (symbol(first).ok_or(wrong.clone())?, second),
            _ => return Err(wrong),
        },
        Shape::Float(_) | Shape::Integer(_) | Shape::String(_) | Shape::List(_) | Shape::Bad => return Err(wrong),
    };
    match first.parse() {
        Ok(derivative) if read_type(second).is_err() => Ok(fun_name(second)?.derived(derivative)),
        _ => Ok(FunName { overload: Some(read_type(second)?), ..FunName::base(first) }),
    }
}
