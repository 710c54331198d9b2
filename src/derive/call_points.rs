//! Finds where a function and its derivatives are called at one point: for one value of the argument.

use lm::term::{Atom, Derivative, Expr, Fun, FunName, Kind, Op, Pattern};
use rustc_hash::FxHashMap;

/// A function, with respect to any parameters, and the atoms of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallPoint(FunName, Vec<Atom>);

/// The components of variables that are bound to tuples. The argument of a derivative is the tuple of its function's
/// arguments.
#[derive(Default)]
pub struct Tuples(FxHashMap<u32, Vec<Expr>>);

impl Tuples {
    /// Collects the tuples that a term binds, at any depth.
    pub fn bound_in(e: &Expr) -> Tuples {
        let mut tuples = FxHashMap::default();
        e.visit_bindings(|b| {
            if let (Pattern::Var(x), Some(parts)) = (&b.pattern, b.rhs.args_of(&Op::Tuple)) {
                tuples.insert(x.id(), parts.to_vec());
            }
        });
        Tuples(tuples)
    }

    /// Returns the components of a variable that is bound to a tuple, and any other term itself.
    pub fn components<'a>(&'a self, whole: &'a Expr) -> &'a [Expr] {
        let parts = whole.as_var().and_then(|x| self.0.get(&x.id()));
        parts.map_or(std::slice::from_ref(whole), Vec::as_slice)
    }

    /// Returns the point of a call of g.
    pub fn point_of_value(&self, e: &Expr) -> Option<CallPoint> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        self.at(&f.name, args)
    }

    /// Returns the point of a call of `[d g]`: the call of g at the same argument.
    pub fn point_of_derivative(&self, e: &Expr) -> Option<CallPoint> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        match derivation(f)? {
            Derivative::Fwd | Derivative::Rev | Derivative::Jvp | Derivative::Vjp => self.at(&base(f), &args[..1]),
            Derivative::SufFwdPass => self.at(&base(f), args),
            Derivative::D
            | Derivative::Dt
            | Derivative::Tupled
            | Derivative::Polymorphic
            | Derivative::PolymorphicR
            | Derivative::Dual
            | Derivative::Shape => None,
            Derivative::SufRevPass | Derivative::SufRev | Derivative::Cl | Derivative::Wrt(_) => None,
            Derivative::Grad | Derivative::Hvp | Derivative::Hess => None,
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => None,
        }
    }

    fn at(&self, name: &FunName, args: &[Expr]) -> Option<CallPoint> {
        let parts = match args {
            [one] => self.components(one),
            many => many,
        };
        Some(CallPoint(name.unrestricted(), parts.iter().map(Atom::of).collect::<Option<_>>()?))
    }
}

/// Returns the outermost derivation of a derivative.
pub fn derivation(f: &Fun) -> Option<&Derivative> {
    f.name.derivative()
}

/// Returns the g of `[d g]`, with the parts of it that vary.
pub fn base(f: &Fun) -> FunName {
    f.name.without_derivatives(1)
}
