//! Checks the types of CL, `Γ ⊢ c : S => T`.
//!
//! ```text
//! I : S => S      K(k) : () => R      P[i1..im/n] : (s1, .., sn) => (s_i1, .., s_im)
//! F(f) : S => T   where f : S -> T
//! c1 ; c2 : S => T   where c1 : S => R, c2 : R => T
//! (c1, .., cn) : S => (T1, .., Tn)   where ci : S => Ti
//! IF(c1, c2, c3) : S => T   where c1 : S => Bool, c2 : S => T, c3 : S => T
//! L(x, cr, cb) : S => T   where cr : S => R, cb : (S ▷ R) => T
//! B[p](.., i, ce, .., cv, ..) : S => T   where ce : (S ▷ A) => B, cv : S => V, p : (.., (Lam A B), .., V, ..) -> T
//! ```
//!
//! S is a list of types, since `▷` adds one to it, and `P` counts them. A list of one is that type; a list of
//! any other length is the tuple type, wherever a value is asked for. So an environment of one pair is not taken
//! for an environment of two values, though their types are the same.
//!
//! Source: working notes, Fig. 11; B for every primitive, of which build is one.

use super::print::summary;
use super::{Argument, Def, Term};
use lm::term::{Op, Pattern, Var};
use lm::types::Type;
use std::borrow::Cow;

/// A term that has no type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the CL term {term} is ill-typed: {reason}")]
pub struct IllTyped {
    /// The term, shortened.
    pub term: String,
    /// The reason why it has no type.
    pub reason: String,
}

impl Def {
    /// Checks that the body has the type of the function.
    ///
    /// Errors: the smallest term that has none.
    pub fn check(&self) -> Result<(), IllTyped> {
        let source: Vec<Type> = self.params.iter().map(|x| x.ty().clone()).collect();
        let found = value(target(&self.body, &source)?);
        let fits = source == self.fun.params && found == self.fun.result;
        fits.then_some(()).ok_or_else(|| {
            refused(&self.body, format!("it gives {found}, where {} gives {}", self.fun.name, self.fun.result))
        })
    }

    /// Returns the definition, which a pass has made. An ill-typed one is a bug of the pass: it panics.
    pub(super) fn checked(self, pass: &str) -> Def {
        self.check().unwrap_or_else(|error| panic!("after {pass} of {}: {error}", self.fun.name));
        self
    }
}

fn refused(c: &Term, reason: String) -> IllTyped {
    IllTyped { term: summary(c), reason }
}

/// Returns the list's type as one value.
pub(super) fn value(types: Vec<Type>) -> Type {
    match <[Type; 1]>::try_from(types) {
        Ok([one]) => one,
        Err(many) => Type::tuple(many),
    }
}

/// T, where `c : S => T`, as the list of the values that c gives.
pub fn target(c: &Term, source: &[Type]) -> Result<Vec<Type>, IllTyped> {
    // Chains of lets and compositions are long, so they are not walked by recursion.
    let (mut c, mut source) = (c, Cow::Borrowed(source));
    loop {
        match c {
            Term::Let(pattern, rhs, body) => {
                let bound = value(target(rhs, &source)?);
                bind(c, pattern, &bound)?;
                source.to_mut().extend(pattern.vars().iter().map(|x| x.ty().clone()));
                c = body;
            }
            Term::Compose(first, after) => {
                source = Cow::Owned(target(first, &source)?);
                c = after;
            }
            Term::Identity => return Ok(source.into_owned()),
            Term::Pruning { chosen, of } => return pruned(c, chosen, *of, &source),
            Term::Tuple(parts) => return parts.iter().map(|part| Ok(value(target(part, &source)?))).collect(),
            _ => return one_value(c, &source).map(|ty| vec![ty]),
        }
    }
}

fn bind(c: &Term, pattern: &Pattern, bound: &Type) -> Result<(), IllTyped> {
    let wanted = match pattern {
        Pattern::Var(x) => x.ty().clone(),
        Pattern::Tuple(xs) => Type::tuple(xs.iter().map(|x| x.ty().clone())),
    };
    let reason = || format!("it binds {bound} where {wanted} is to be bound");
    (wanted == *bound).then_some(()).ok_or_else(|| refused(c, reason()))
}

fn pruned(c: &Term, chosen: &[usize], of: usize, source: &[Type]) -> Result<Vec<Type>, IllTyped> {
    if of != source.len() {
        return Err(refused(c, format!("its environment has {} values, not {of}", source.len())));
    }
    let mut sorted = chosen.to_vec();
    sorted.sort_unstable();
    let are_new = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    match are_new && sorted.iter().all(|i| (1..=of).contains(i)) {
        true => Ok(chosen.iter().map(|i| source[i - 1].clone()).collect()),
        false => Err(refused(c, "it takes a value twice, or one that is not there".into())),
    }
}

fn one_value(c: &Term, source: &[Type]) -> Result<Type, IllTyped> {
    match c {
        Term::Constant(_) | Term::Dummy(_) if !source.is_empty() => {
            Err(refused(c, format!("its environment has {} values, not 0", source.len())))
        }
        Term::Constant(k) => Ok(k.ty()),
        Term::Dummy(ty) => Ok(ty.clone()),
        Term::Function { op, arity, .. } => {
            let args = arguments(*arity, source);
            let args = args.ok_or_else(|| refused(c, format!("it takes {arity} values, not {}", list(source))))?;
            applied(c, op, &args)
        }
        Term::If(condition, yes, no) => conditional(c, [condition, yes, no], source),
        Term::Binder { op, args, .. } => {
            let args = args.iter().map(|arg| argument(arg, source)).collect::<Result<Vec<Type>, _>>()?;
            applied(c, op, &args)
        }
        Term::Identity | Term::Pruning { .. } | Term::Compose(..) | Term::Tuple(_) | Term::Let(..) => {
            target(c, source).map(value)
        }
    }
}

/// Returns the types of so many arguments, given as a list or as a tuple.
fn arguments(arity: usize, source: &[Type]) -> Option<Cow<'_, [Type]>> {
    match source {
        _ if source.len() == arity => Some(Cow::Borrowed(source)),
        _ if arity == 1 => Some(Cow::Owned(vec![value(source.to_vec())])),
        [Type::Tuple(parts)] if parts.len() == arity => Some(Cow::Borrowed(parts)),
        _ => None,
    }
}

fn applied(c: &Term, op: &Op, args: &[Type]) -> Result<Type, IllTyped> {
    let result = if matches!(op, Op::If) { None } else { op.result(args) };
    result.ok_or_else(|| refused(c, format!("it does not take {}", list(args))))
}

fn conditional(c: &Term, [condition, yes, no]: [&Term; 3], source: &[Type]) -> Result<Type, IllTyped> {
    let of = |c| target(c, source).map(value);
    let (condition, yes, no) = (of(condition)?, of(yes)?, of(no)?);
    match condition == Type::Bool && yes == no {
        true => Ok(yes),
        false => Err(refused(c, format!("its parts give {condition}, {yes} and {no}"))),
    }
}

fn argument(arg: &Argument, source: &[Type]) -> Result<Type, IllTyped> {
    match arg {
        Argument::Value(c) => target(c, source).map(value),
        Argument::Function(x, body) => {
            let inner: Vec<Type> = source.iter().chain([x.ty()]).cloned().collect();
            Ok(Type::lam(Var::ty(x).clone(), value(target(body, &inner)?)))
        }
    }
}

fn list(types: &[Type]) -> String {
    format!("({})", types.iter().map(Type::to_string).collect::<Vec<_>>().join(", "))
}
