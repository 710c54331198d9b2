//! Where calls of a function and of its derivatives meet: at one point, the value of the argument.

use lm::term::{Binding, Constant, Derivative, Expr, Fun, FunName, Kind, Op, Pattern};
use std::collections::HashMap;

/// A function, whatever of it varies, and the atoms that it is called with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Meeting(FunName, Vec<Atom>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Atom {
    Var(u32),
    Const(Constant),
}

/// The components of variables that are bound to tuples. The argument of a derivative is the tuple of its function's
/// arguments.
#[derive(Default)]
pub struct Tuples(HashMap<u32, Vec<Expr>>);

impl Tuples {
    /// Those that a term binds, wherever in it.
    pub fn of(e: &Expr) -> Tuples {
        let mut tuples = Tuples::default();
        tuples.see(e);
        tuples
    }

    fn see(&mut self, e: &Expr) {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => {}
            Kind::App(_, args) => args.iter().for_each(|a| self.see(a)),
            Kind::Lam(_, body) => self.see(body),
            Kind::Let(bindings, body) => {
                bindings.iter().for_each(|b| self.see_binding(b));
                self.see(body);
            }
        }
    }

    fn see_binding(&mut self, b: &Binding) {
        if let (Pattern::Var(x), Some(parts)) = (&b.pattern, b.rhs.args_of(&Op::Tuple)) {
            self.0.insert(x.id(), parts.to_vec());
        }
        self.see(&b.rhs);
    }

    /// Where g(s) meets others, for a call of g.
    pub fn of_value(&self, e: &Expr) -> Option<Meeting> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        self.at(&f.name, args)
    }

    /// Where g(s) meets others, for a call of `[d g]` at s.
    pub fn of_derivative(&self, e: &Expr) -> Option<Meeting> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        match derivation(f)? {
            Derivative::Fwd | Derivative::Rev | Derivative::Jvp | Derivative::Vjp => self.at(&base(f), &args[..1]),
            Derivative::SufFwdPass => self.at(&base(f), args),
            _ => None,
        }
    }

    fn at(&self, name: &FunName, args: &[Expr]) -> Option<Meeting> {
        let parts = match args {
            [one] => one.as_var().and_then(|x| self.0.get(&x.id())).map_or(args, Vec::as_slice),
            many => many,
        };
        Some(Meeting(name.unrestricted(), parts.iter().map(atom).collect::<Option<_>>()?))
    }
}

/// The outermost derivation of a derivative.
pub fn derivation(f: &Fun) -> Option<&Derivative> {
    f.name.derivative()
}

/// The g of `[d g]`, with what of it varies.
pub fn base(f: &Fun) -> FunName {
    f.name.without_derivatives(1)
}

fn atom(e: &Expr) -> Option<Atom> {
    match e.kind() {
        Kind::Var(x) => Some(Atom::Var(x.id())),
        Kind::Const(c) => Some(Atom::Const(c.clone())),
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
    }
}
