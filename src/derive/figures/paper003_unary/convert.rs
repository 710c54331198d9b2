//! Converts terms to UNF.
//!
//! ```text
//! U[x]Γ = var_i    where x is the i-th of Γ        U[op(e1, .., en)]Γ = U[e1]; ..; U[en]; op; proj_{|Γ|;n;1}
//! U[let x = e1 in e2]Γ = U[e1]Γ; U[e2](Γ, x); proj_{|Γ|;1;1}
//! ```
//!
//! Source: *Denotationally correct ..*, Fig. 9. There e2 is weakened by the values that are under way, since T is written
//! at each step. Positions count from the start of the list, so nothing has to be weakened here. A binding of several
//! names is one of their tuple, and `get` for each of them. Takes: any definition. Gives: UNF, in proportion to it.

use super::{Argument, Def, Named, Step};
use lm::term::{self, Expr, Kind, Op, Pattern, Var};
use rustc_hash::FxHashMap;

/// Returns the definition in UNF; its type is checked.
///
/// Panics if it is ill-typed, which no definition is.
pub fn convert(def: &term::Def) -> Def {
    let mut scope = Scope::default();
    def.params.iter().for_each(|x| scope.bind(x));
    scope.block(&def.body);
    Def { fun: def.fun.clone(), params: def.params.clone(), steps: scope.steps }.checked("conversion to UNF")
}

/// The list, and the steps that made it.
#[derive(Default)]
struct Scope {
    /// The position of each variable. Every binder is a different variable, so variables out of scope may stay.
    positions: FxHashMap<u32, usize>,
    /// The length of the list.
    length: usize,
    steps: Vec<Step>,
}

impl Scope {
    /// The next value of the list is that of a variable.
    fn bind(&mut self, x: &Var) {
        self.length += 1;
        self.positions.insert(x.id(), self.length);
    }

    /// A step that adds a value.
    fn push(&mut self, step: Step) {
        self.steps.push(step);
        self.length += 1;
    }

    fn drop(&mut self, under_the_last: usize) {
        if under_the_last > 0 {
            self.steps.push(Step::Proj(under_the_last));
            self.length -= under_the_last;
        }
    }

    /// Adds the value of a block, and nothing else.
    fn block(&mut self, e: &Expr) {
        let (bindings, result) = e.as_block();
        let mut bound = 0;
        for b in bindings {
            let name = if let Pattern::Var(x) = &b.pattern { Some(x) } else { None };
            self.term(&b.rhs, name);
            let at = self.length;
            bound += 1;
            match &b.pattern {
                Pattern::Var(x) => {
                    self.positions.insert(x.id(), at);
                }
                Pattern::Tuple(xs) => {
                    for (i, x) in xs.iter().enumerate() {
                        self.push(Step::Var(at));
                        let result = Named { name: Some(x.clone()), span: b.rhs.span() };
                        self.push(Step::Op { op: Op::Get(i + 1, xs.len()), arity: 1, result });
                        self.drop(1);
                        self.positions.insert(x.id(), self.length);
                        bound += 1;
                    }
                }
            }
        }
        self.term(result, None);
        (0..bound).for_each(|_| self.drop(1));
    }

    /// Adds the value of a term.
    fn term(&mut self, e: &Expr, name: Option<&Var>) {
        let result = Named { name: name.cloned(), span: e.span() };
        match e.kind() {
            Kind::Const(k) => self.push(Step::Constant(k.clone())),
            Kind::Var(x) => self.push(Step::Var(self.positions[&x.id()])),
            Kind::Let(..) => self.block(e),
            Kind::Lam(..) => panic!("conversion to UNF: a function that is no argument: {e:?}"),
            Kind::App(Op::Dummy, _) => self.push(Step::Dummy(e.ty().clone())),
            Kind::App(Op::If, args) => {
                self.term(&args[0], None);
                let [yes, no] = [&args[1], &args[2]].map(|branch| self.apart(|scope| scope.block(branch)));
                self.push(Step::If { yes, no, result });
                self.drop(1);
            }
            Kind::App(op, args) => self.application(op, args, result),
        }
    }

    fn application(&mut self, op: &Op, args: &[Expr], result: Named) {
        let is_function = |arg: &&Expr| matches!(arg.kind(), Kind::Lam(..));
        let arity = args.iter().filter(|arg| !is_function(arg)).count();
        args.iter().filter(|arg| !is_function(arg)).for_each(|arg| self.term(arg, None));
        if arity == args.len() {
            self.push(Step::Op { op: op.clone(), arity, result });
        } else {
            let args = args.iter().map(|arg| self.argument(arg)).collect();
            self.push(Step::Binder { op: op.clone(), args, result });
        }
        self.drop(arity);
    }

    fn argument(&mut self, e: &Expr) -> Argument {
        let Kind::Lam(x, body) = e.kind() else { return Argument::Value };
        let steps = self.apart(|scope| {
            scope.bind(x);
            scope.block(body);
        });
        Argument::Function(x.clone(), steps)
    }

    /// Returns the steps that are added. The list is as it was.
    fn apart(&mut self, add: impl FnOnce(&mut Scope)) -> Vec<Step> {
        let (length, outer) = (self.length, std::mem::take(&mut self.steps));
        add(self);
        self.length = length;
        std::mem::replace(&mut self.steps, outer)
    }
}
