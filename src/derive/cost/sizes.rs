//! Tells the sizes of tensors as polynomials in the sizes of a function's parameters.

use super::limits::Limits;
use super::names::Named;
use super::polynomial::Polynomial;
use lm::prim::Prim;
use lm::scope::free_variables;
use lm::sizes::{Relation, Step};
use lm::term::{Binding, Constant, Def, Expr, Fun, FunName, Kind, Op, Pattern, Program, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::rc::Rc;

/// What is known of the variables of a definition.
#[derive(Clone)]
pub(super) struct Sizes<'a> {
    program: &'a Program,
    /// Of a tensor its size along each axis, of an index or a size its numbers.
    known: FxHashMap<u32, Vec<Limits>>,
    /// The parameters, whose sizes have names.
    named: Named,
    /// The tuples and the tensors that variables are bound to.
    terms: FxHashMap<u32, Expr>,
    /// The pairs of a step's number and its state, with that number.
    counters: FxHashMap<u32, Limits>,
    /// The functions whose bodies are being looked into.
    inside: Vec<FunName>,
    /// How many more terms are looked at for one size. Tuples under conditionals have many.
    fuel: Rc<Cell<usize>>,
}

/// The most terms that are looked at for one size.
const MOST_TERMS: usize = 500;

/// A question about a term: the numbers in an index, or the axes of a tensor.
type Ask<'a> = fn(&Sizes<'a>, &Expr) -> Vec<Limits>;

impl<'a> Sizes<'a> {
    /// Returns what the types of parameters say: the first of equal sizes stands for the others.
    pub(super) fn of(def: &Def, program: &'a Program) -> Sizes<'a> {
        let mut sizes = Sizes {
            program,
            known: FxHashMap::default(),
            named: Named::of(&def.params),
            terms: FxHashMap::default(),
            counters: FxHashMap::default(),
            inside: vec![def.fun.name.clone()],
            fuel: Rc::new(Cell::new(MOST_TERMS)),
        };
        let signature = program.signature(&def.fun);
        let args: Vec<Expr> = def.params.iter().map(Expr::var).collect();
        for relation in signature.iter().flat_map(|s| s.relations()) {
            let (Relation::Equal(place, size), Some(signature)) = (relation, &signature) else { continue };
            if let ([], Some((d, _))) = (place.path.as_slice(), place.dimension) {
                let mut axes = sizes.axes(&args[place.param]);
                axes[d] = sizes.numbers(&signature.size_term(size, &args))[0].clone();
                sizes.known.insert(def.params[place.param].id(), axes);
            }
        }
        sizes
    }

    /// Learns what a binding says.
    pub(super) fn learn(&mut self, b: &Binding) {
        self.fuel.set(MOST_TERMS);
        self.learn_below(b);
    }

    /// Learns that a parameter has the value of a term.
    pub(super) fn learn_parameter(&mut self, x: &Var, e: &Expr) {
        self.fuel.set(MOST_TERMS);
        self.learn_of(x, e);
    }

    /// Learns what a binding says, while another size is asked for.
    fn learn_below(&mut self, b: &Binding) {
        match (&b.pattern, b.rhs.args_of(&Op::Tuple)) {
            (Pattern::Var(x), _) => self.learn_of(x, &b.rhs),
            (Pattern::Tuple(xs), Some(parts)) => xs.iter().zip(parts).for_each(|(x, part)| self.learn_of(x, part)),
            (Pattern::Tuple(xs), None) if b.rhs.ty().rank_of_index().is_some() => {
                let numbers = self.numbers(&b.rhs);
                self.known.extend(xs.iter().map(Var::id).zip(numbers.into_iter().map(|n| vec![n])));
            }
            (Pattern::Tuple(xs), None) => {
                let parts = xs.iter().enumerate();
                parts.for_each(|(i, x)| self.learn_of(x, &Expr::get(i + 1, b.rhs.clone())));
            }
        }
    }

    fn learn_of(&mut self, x: &Var, e: &Expr) {
        match x.ty() {
            Type::Tensor(_, element) => {
                self.known.insert(x.id(), self.axes(e));
                if **element != Type::Float {
                    self.terms.insert(x.id(), e.clone());
                }
            }
            ty if ty.rank_of_index().is_some() => drop(self.known.insert(x.id(), self.numbers(e))),
            Type::Tuple(_) => drop(self.terms.insert(x.id(), e.clone())),
            _ => {}
        }
    }

    /// Learns that a variable is an index below a size.
    pub(super) fn learn_index(&mut self, x: &Var, n: &Expr) {
        let below = self.answer(Self::numbers, n).iter().map(Limits::index).collect();
        self.known.insert(x.id(), below);
    }

    /// Learns what the steps of a loop with a state are given.
    pub(super) fn learn_state(&mut self, p: Prim, args: &[Expr]) {
        self.fuel.set(MOST_TERMS);
        if let Some(inner) = self.within(p, args) {
            *self = inner;
        } else if let (Prim::Loop, Kind::Lam(x, _)) = (p, args[1].kind()) {
            self.counters.insert(x.id(), self.number(&args[0]).index());
        }
    }

    /// Returns the number of times that a loop over a size runs.
    pub(super) fn steps(&self, n: &Expr) -> Polynomial {
        product(&self.answer(Self::numbers, n))
    }

    /// Returns the number of elements of a tensor.
    pub(super) fn elements(&self, v: &Expr) -> Polynomial {
        product(&self.answer(Self::axes, v))
    }

    /// Returns the number of Floats in a value.
    pub(super) fn floats(&self, e: &Expr) -> Polynomial {
        match e.ty() {
            Type::Float => Polynomial::number(1),
            Type::Tuple(parts) => {
                let part = |k| self.floats(&Expr::get(k, e.clone()));
                (1..=parts.len()).fold(Polynomial::default(), |sum, k| sum.plus(&part(k)))
            }
            Type::Tensor(..) => self.elements(e).times(&self.floats(&element(e))),
            _ => Polynomial::default(),
        }
    }

    /// Returns the number of Floats in the tensors of a value.
    pub(super) fn written(&self, e: &Expr) -> Polynomial {
        match e.ty() {
            Type::Tuple(parts) => {
                let part = |k| self.written(&Expr::get(k, e.clone()));
                (1..=parts.len()).fold(Polynomial::default(), |sum, k| sum.plus(&part(k)))
            }
            Type::Tensor(..) => self.floats(e),
            _ => Polynomial::default(),
        }
    }

    fn answer(&self, ask: Ask<'a>, e: &Expr) -> Vec<Limits> {
        self.fuel.set(MOST_TERMS);
        ask(self, e)
    }

    /// Returns what is known in a block.
    fn inside(&self, bindings: &[Binding]) -> Sizes<'a> {
        let mut inner = self.clone();
        bindings.iter().for_each(|b| inner.learn_below(b));
        inner
    }

    /// Returns the numbers in an index or a size.
    fn numbers(&self, e: &Expr) -> Vec<Limits> {
        match e.kind() {
            Kind::Const(Constant::Integer(n)) => vec![Limits::exactly(Polynomial::number(*n))],
            Kind::Var(x) if self.known.contains_key(&x.id()) => self.known[&x.id()].clone(),
            Kind::App(Op::Tuple, parts) => parts.iter().flat_map(|part| self.numbers(part)).collect(),
            Kind::App(Op::Get(1, _), args) if self.counter(&args[0]).is_some() => {
                self.counter(&args[0]).into_iter().cloned().collect()
            }
            Kind::App(Op::Get(i, _), args) if args[0].ty().rank_of_index().is_some() => {
                vec![self.numbers(&args[0])[i - 1].clone()]
            }
            Kind::App(Op::Prim(Prim::Size | Prim::CommonSize), args) => self.axes(&args[0]),
            Kind::App(Op::Prim(Prim::AsSize), args) => self.numbers(&args[0]),
            Kind::App(Op::Prim(Prim::Add), args) => vec![self.number(&args[0]).plus(&self.number(&args[1]))],
            Kind::App(Op::Prim(Prim::Mul), args) => vec![self.number(&args[0]).times(&self.number(&args[1]))],
            Kind::App(Op::Prim(Prim::Sub), args) => vec![self.number(&args[0]).minus(&self.number(&args[1]))],
            _ => self.part(&[], e, Self::numbers).unwrap_or_else(|| self.called(e)),
        }
    }

    fn number(&self, e: &Expr) -> Limits {
        self.numbers(e).remove(0)
    }

    fn counter(&self, pair: &Expr) -> Option<&Limits> {
        self.counters.get(&pair.as_var()?.id())
    }

    /// Returns the size of a tensor along each axis.
    fn axes(&self, v: &Expr) -> Vec<Limits> {
        assert!(matches!(v.ty(), Type::Tensor(..)), "{v:?} is no tensor");
        match v.kind() {
            Kind::Var(x) if self.known.contains_key(&x.id()) => self.known[&x.id()].clone(),
            Kind::App(Op::Prim(Prim::Build), args) => self.numbers(&args[0]),
            Kind::App(
                Op::Prim(
                    Prim::DeltaAt
                    | Prim::AddAt
                    | Prim::Add
                    | Prim::Sub
                    | Prim::Neg
                    | Prim::Into
                    | Prim::ZeroOf
                    | Prim::StopGradient
                    | Prim::Trace,
                ),
                args,
            ) if args[0].ty() == v.ty() => self.axes(&args[0]),
            Kind::App(Op::Prim(Prim::Mul), args) => self.axes(&args[1]),
            Kind::App(Op::Prim(Prim::VecInit), args) => {
                vec![Limits::exactly(Polynomial::number(args.len() as i64))]
            }
            Kind::App(Op::Prim(Prim::Map2), args) => self.axes(&args[1]),
            Kind::App(Op::Prim(Prim::Shift1L | Prim::Shift1R), args) => {
                let n = self.axes(&args[0]).remove(0);
                vec![n.minus(&Limits::exactly(Polynomial::number(1)))]
            }
            Kind::App(Op::Prim(Prim::Scanl | Prim::Scanr), args) => {
                let n = self.axes(&args[2]).remove(0);
                vec![n.plus(&Limits::exactly(Polynomial::number(1)))]
            }
            Kind::App(Op::Prim(Prim::SumBuild), args) if args.len() == 3 => self.axes(&args[0]),
            Kind::App(Op::Prim(Prim::SumBuild), args) => match args[1].kind() {
                Kind::Lam(_, term) => self.axes(term),
                _ => self.called(v),
            },
            Kind::App(Op::Prim(Prim::Sum), args) => self.axes(&element(&args[0])),
            _ => self.part(&[], v, Self::axes).unwrap_or_else(|| self.called(v)),
        }
    }

    /// Answers a question about a part of a term: the component of a component, where these are known.
    fn part(&self, path: &[usize], e: &Expr, ask: Ask<'a>) -> Option<Vec<Limits>> {
        self.fuel.set(self.fuel.get().checked_sub(1)?);
        match (e.kind(), path) {
            (Kind::Let(bindings, body), _) => self.inside(bindings).of_part(path, body, ask),
            (Kind::Var(x), [_, ..]) => self.of_part(path, self.terms.get(&x.id())?, ask),
            (Kind::App(Op::If, args), _) => {
                let [yes, no] = [&args[1], &args[2]].map(|branch| self.of_part(path, branch, ask));
                Some(yes?.iter().zip(&no?).map(|(yes, no)| yes.or(no)).collect())
            }
            (Kind::App(Op::Tuple, parts), [i, rest @ ..]) => self.of_part(rest, &parts[i - 1], ask),
            (Kind::App(Op::Get(i, _), args), _) => self.of_part(&[&[*i], path].concat(), &args[0], ask),
            (Kind::App(Op::Dummy, _), _) => Some(vec![Limits::unread(); rank(path, e.ty())?]),
            (Kind::App(Op::Prim(Prim::Loop), args), [2, rest @ ..]) => self.of_part(rest, &args[3], ask),
            (Kind::App(Op::Prim(p @ Prim::Loop), args), [1, rest @ ..]) => {
                self.within(*p, args).and_then(|_| self.of_part(rest, &args[2], ask))
            }
            (Kind::App(Op::Prim(p @ (Prim::Fold | Prim::Reduce)), args), _) => {
                self.within(*p, args).and_then(|_| self.of_part(path, &args[1], ask))
            }
            (Kind::App(Op::Prim(Prim::Unzip), args), [_]) if rank(path, e.ty()).is_some() => Some(self.axes(&args[0])),
            (Kind::App(Op::Prim(Prim::Index), args), _) => match self.unzipped(&args[1]) {
                Some((k, v)) => {
                    let element = Expr::get(k, Expr::prim(Prim::Index, [args[0].clone(), v]));
                    self.of_part(&[], &path.iter().fold(element, |e, i| Expr::get(*i, e)), ask)
                }
                None => self.of_part(path, &self.element(&args[1])?, ask),
            },
            (Kind::App(Op::Call(f), args), _) => self.of_call(f, args, path, ask),
            _ => None,
        }
    }

    /// Answers a question about a part of a term; the part itself is asked where the path ends.
    fn of_part(&self, path: &[usize], e: &Expr, ask: Ask<'a>) -> Option<Vec<Limits>> {
        match path {
            [] => {
                self.fuel.set(self.fuel.get().checked_sub(1)?);
                Some(ask(self, e))
            }
            _ => self.part(path, e, ask),
        }
    }

    /// Returns what is known in the steps of a loop with a state, if these keep the sizes of the state.
    fn within(&self, p: Prim, args: &[Expr]) -> Option<Sizes<'a>> {
        let (f, start) = if p == Prim::Loop { (&args[1], &args[2]) } else { (&args[0], &args[1]) };
        let Kind::Lam(x, body) = f.kind() else { return None };
        let mut inner = self.clone();
        let (given, next) = match p {
            Prim::Loop => {
                inner.counters.insert(x.id(), self.number(&args[0]).index());
                ([Expr::dummy(Type::Integer), start.clone()], Expr::get(1, body.clone()))
            }
            _ => ([start.clone(), element(&args[2])], body.clone()),
        };
        inner.terms.insert(x.id(), Expr::tuple(given));
        (inner.all(&next) == self.all(start)).then_some(inner)
    }

    /// Returns all sizes and Integers of a value; of tensors of tensors, those that are at most.
    fn all(&self, e: &Expr) -> Vec<Limits> {
        match e.ty() {
            Type::Tensor(..) => [self.axes(e), self.all(&element(e))].concat(),
            ty if ty.rank_of_index().is_some() => self.numbers(e),
            Type::Tuple(parts) => (1..=parts.len()).flat_map(|k| self.all(&Expr::get(k, e.clone()))).collect(),
            _ => vec![],
        }
    }

    /// Returns the number of a component and the tensor of tuples, if a term is a component of that, unzipped.
    fn unzipped(&self, v: &Expr) -> Option<(usize, Expr)> {
        let of = |e: &Expr| e.args_of_prim(Prim::Unzip).map(|args| args[0].clone());
        match v.kind() {
            Kind::Var(x) => self.unzipped(self.terms.get(&x.id())?),
            Kind::App(Op::Get(k, _), args) => {
                let tuple = args[0].as_var().and_then(|x| self.terms.get(&x.id())).unwrap_or(&args[0]);
                Some((*k, of(tuple)?))
            }
            _ => None,
        }
    }

    /// Returns the element of a tensor, where the tensor is known.
    fn element(&self, v: &Expr) -> Option<Expr> {
        match v.kind() {
            Kind::Var(x) => self.element(self.terms.get(&x.id())?),
            Kind::App(Op::Prim(Prim::Build), args) => match args[1].kind() {
                Kind::Lam(_, body) => Some(body.clone()),
                _ => None,
            },
            Kind::App(Op::Prim(p @ (Prim::Scanl | Prim::Scanr)), args) => {
                self.within(*p, args).map(|_| args[1].clone())
            }
            Kind::App(Op::Prim(Prim::Shift1L | Prim::Shift1R), args) => self.element(&args[0]),
            _ => None,
        }
    }

    /// Answers a question about a part of what a function gives: by its type, or else by its body.
    fn of_call(&self, f: &Fun, args: &[Expr], path: &[usize], ask: Ask<'a>) -> Option<Vec<Limits>> {
        self.declared(f, args, path).or_else(|| {
            let def = self.program.defs.get(&f.name).filter(|_| !self.inside.contains(&f.name))?;
            let mut inner = self.clone();
            inner.inside.push(f.name.clone());
            // In a body that is looked at already, arguments may be of its own parameters: one that stays has its size.
            let others: Vec<_> = def.params.iter().zip(args).filter(|(x, a)| a.as_var() != Some(*x)).collect();
            let is_own = |a: &Expr| free_variables(a).iter().any(|x| def.params.contains(x));
            if others.iter().any(|(_, a)| is_own(a)) {
                return None;
            }
            others.into_iter().for_each(|(x, a)| inner.learn_of(x, a));
            inner.of_part(path, &def.body, ask)
        })
    }

    /// Returns the sizes that the type of a function says of a tensor in its result.
    fn declared(&self, f: &Fun, args: &[Expr], path: &[usize]) -> Option<Vec<Limits>> {
        let signature = self.program.signature(f)?;
        let sizes = signature.sizes_of_result();
        let is_there = |steps: &[Step]| {
            steps.len() == path.len() && steps.iter().zip(path).all(|(s, i)| matches!(s, Step::Part(k, _) if k == i))
        };
        let found: Vec<_> = sizes.iter().filter(|(place, _)| is_there(&place.path)).collect();
        let rank = found.first()?.0.dimension?.1;
        let size = |d| found.iter().find(|(place, _)| place.dimension == Some((d, rank)));
        (0..rank).map(|d| Some(self.numbers(&signature.size_term(&size(d)?.1, args))[0].clone())).collect()
    }

    /// Returns sizes, or Integers, by their names, if they are those of parameters.
    fn called(&self, e: &Expr) -> Vec<Limits> {
        let exact = |index: &Expr| self.numbers(index).iter().map(|n| n.exact().cloned()).collect();
        let unknown = || vec![Limits::unknown(); rank(&[], e.ty()).expect("a tensor, an index or a size")];
        self.named.called(e, &exact).unwrap_or_else(unknown)
    }
}

/// Returns the number of axes of a tensor, or of numbers in an index, at a path of a type.
fn rank(path: &[usize], ty: &Type) -> Option<usize> {
    match (path, ty) {
        ([i, rest @ ..], Type::Tuple(parts)) => rank(rest, &parts[i - 1]),
        ([], Type::Tensor(rank, _)) => Some(*rank),
        ([], ty) => ty.rank_of_index(),
        _ => None,
    }
}

/// Returns an element of a tensor, which one is open.
pub(super) fn element(v: &Expr) -> Expr {
    let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
    Expr::prim(Prim::Index, [Expr::dummy(Type::index(*rank)), v.clone()])
}

fn product(axes: &[Limits]) -> Polynomial {
    axes.iter().fold(Polynomial::number(1), |product, n| product.times(n.most()))
}
