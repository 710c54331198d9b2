//! Terms: the one language of programs, linear maps and everything between.
//!
//! ```text
//! e ::= constant | x | op(e1, ..., en) | let { p1 = e1; ...; pn = en } e | λx. e
//! ```
//!
//! Every node carries its type, so ill-typed terms cannot be built. Every binder of a definition is
//! a different variable (see [`Supply`]), so substitution never captures. A let is a flat block of
//! bindings, each in scope of the later ones: a program of ten thousand lets is one node.
//!
//! Source: working notes, Fig. 1, with linear maps as terms (Fig. 3).

mod derivative;
mod expr;
mod function;
mod op;
mod program;
mod walk;

pub use derivative::{Derivative, Mode, UnknownDerivative};
pub use expr::{Binding, Expr, Kind, Pattern, place};
pub use function::{Fun, FunName, Path, Version};
pub use op::Op;
pub use program::{Def, Program, Rule};
pub use walk::Atom;

use crate::types::Type;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A literal.
#[derive(Clone, Debug)]
pub enum Constant {
    /// Equal when the bits are, so that `0.0` and `-0.0` stay distinct.
    Float(f64),
    /// 64-bit signed.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
    /// Text.
    String(Arc<str>),
}

impl Constant {
    /// Returns the literal's type.
    pub fn ty(&self) -> Type {
        match self {
            Constant::Float(_) => Type::Float,
            Constant::Integer(_) => Type::Integer,
            Constant::Bool(_) => Type::Bool,
            Constant::String(_) => Type::String,
        }
    }
}

impl PartialEq for Constant {
    fn eq(&self, other: &Constant) -> bool {
        match (self, other) {
            (Constant::Float(a), Constant::Float(b)) => a.to_bits() == b.to_bits(),
            (Constant::Integer(a), Constant::Integer(b)) => a == b,
            (Constant::Bool(a), Constant::Bool(b)) => a == b,
            (Constant::String(a), Constant::String(b)) => a == b,
            (Constant::Float(_) | Constant::Integer(_) | Constant::Bool(_) | Constant::String(_), _) => false,
        }
    }
}

impl Eq for Constant {}

impl Hash for Constant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Constant::Float(x) => x.to_bits().hash(state),
            Constant::Integer(i) => i.hash(state),
            Constant::Bool(b) => b.hash(state),
            Constant::String(s) => s.hash(state),
        }
    }
}

/// A local variable. Two variables are the same when their numbers are.
#[derive(Clone, Debug)]
pub struct Var {
    name: Arc<str>,
    id: u32,
    ty: Type,
}

impl Var {
    /// Returns the name shown to people; not unique.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the number, unique in a definition.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns the variable's type.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

impl PartialEq for Var {
    fn eq(&self, other: &Var) -> bool {
        self.id == other.id
    }
}

impl Eq for Var {}

impl Hash for Var {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// The source of fresh variables. One supply serves a whole program.
#[derive(Clone, Debug, Default)]
pub struct Supply(u32);

impl Supply {
    /// Returns a supply of variables that a term does not have.
    pub fn after(e: &Expr) -> Supply {
        let mut most = 0;
        e.visit(|e| match e.kind() {
            Kind::Var(x) | Kind::Lam(x, _) => most = most.max(x.id()),
            Kind::Let(bindings, _) => {
                most = bindings.iter().flat_map(|b| b.pattern.vars()).map(Var::id).fold(most, u32::max)
            }
            Kind::Const(_) | Kind::App(..) => {}
        });
        Supply(most)
    }

    /// Returns a variable that no other has the number of.
    pub fn fresh(&mut self, name: &str, ty: Type) -> Var {
        self.0 += 1;
        Var { name: name.into(), id: self.0, ty }
    }
}

/// A place in the source text: byte offsets into one file. `Span::default()` is no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}
