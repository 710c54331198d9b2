//! Tells the sizes of tensors as polynomials in the sizes of a function's parameters.

use super::polynomial::Polynomial;
use lm::notation::infix::{self, Format};
use lm::notation::names::Names;
use lm::prim::Prim;
use lm::sizes::{Relation, Signature};
use lm::term::{Binding, Constant, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of the variables of a definition.
#[derive(Clone, Default)]
pub(super) struct Sizes {
    /// Of a tensor its size along each axis, of an index or a size its numbers.
    known: FxHashMap<u32, Vec<Polynomial>>,
    /// The parameters, whose sizes have names.
    named: FxHashSet<u32>,
    /// The tuples that variables are bound to, and the tensors of tensors that they are bound to when these are built.
    terms: FxHashMap<u32, Expr>,
}

impl Sizes {
    /// Returns what the types of parameters say: the first of equal sizes stands for the others.
    pub(super) fn of(signature: Option<&Signature>, params: &[Var]) -> Sizes {
        let mut sizes = Sizes { named: params.iter().map(Var::id).collect(), ..Sizes::default() };
        let args: Vec<Expr> = params.iter().map(Expr::var).collect();
        for relation in signature.iter().flat_map(|s| s.relations()) {
            let (Relation::Equal(place, size), Some(signature)) = (relation, signature) else { continue };
            if let ([], Some((d, _))) = (place.path.as_slice(), place.dimension) {
                let mut axes = sizes.axes(&args[place.param]);
                axes[d] = sizes.numbers(&signature.size_term(size, &args))[0].clone();
                sizes.known.insert(params[place.param].id(), axes);
            }
        }
        sizes
    }

    /// Learns what a binding says.
    pub(super) fn learn(&mut self, b: &Binding) {
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

    /// Learns that a variable has the value of a term.
    pub(super) fn learn_of(&mut self, x: &Var, e: &Expr) {
        match x.ty() {
            Type::Tensor(_, element) => {
                self.known.insert(x.id(), self.axes(e));
                if !element.has_fixed_shape() {
                    self.terms.insert(x.id(), e.clone());
                }
            }
            ty if ty.rank_of_index().is_some() => drop(self.known.insert(x.id(), self.numbers(e))),
            Type::Tuple(_) => drop(self.terms.insert(x.id(), e.clone())),
            _ => {}
        }
    }

    /// Returns the number of times that a loop over a size runs.
    pub(super) fn steps(&self, n: &Expr) -> Polynomial {
        product(&self.numbers(n))
    }

    /// Returns the number of elements of a tensor.
    pub(super) fn elements(&self, v: &Expr) -> Polynomial {
        product(&self.axes(v))
    }

    /// Returns the number of Floats in a value.
    pub(super) fn floats(&self, e: &Expr) -> Polynomial {
        match e.ty() {
            Type::Float => Polynomial::number(1),
            Type::Tuple(parts) => {
                let part = |k| self.floats(&Expr::get(k, e.clone()));
                (1..=parts.len()).fold(Polynomial::default(), |sum, k| sum.plus(&part(k)))
            }
            Type::Tensor(rank, _) => {
                let element = Expr::prim(Prim::Index, [Expr::dummy(Type::index(*rank)), e.clone()]);
                self.elements(e).times(&self.floats(&element))
            }
            _ => Polynomial::default(),
        }
    }

    /// Returns what is known in a block.
    fn inside(&self, bindings: &[Binding]) -> Sizes {
        let mut inner = self.clone();
        bindings.iter().for_each(|b| inner.learn(b));
        inner
    }

    /// Returns the numbers in an index or a size.
    fn numbers(&self, e: &Expr) -> Vec<Polynomial> {
        let rank = e.ty().rank_of_index().unwrap_or(1);
        match e.kind() {
            Kind::Const(Constant::Integer(n)) => vec![Polynomial::number(*n)],
            Kind::Var(x) if self.known.contains_key(&x.id()) => self.known[&x.id()].clone(),
            Kind::App(Op::Tuple, parts) => parts.iter().flat_map(|part| self.numbers(part)).collect(),
            Kind::App(Op::Get(i, _), args) if args[0].ty().rank_of_index().is_some() => {
                vec![self.numbers(&args[0])[i - 1].clone()]
            }
            Kind::App(Op::Prim(Prim::Size | Prim::CommonSize), args) => self.axes(&args[0]),
            Kind::Let(bindings, body) => self.inside(bindings).numbers(body),
            Kind::App(Op::Prim(Prim::AsSize), args) => self.numbers(&args[0]),
            Kind::App(Op::Prim(p @ (Prim::Add | Prim::Mul)), args) => {
                let [a, b] = [&args[0], &args[1]].map(|e| self.numbers(e)[0].clone());
                vec![if *p == Prim::Add { a.plus(&b) } else { a.times(&b) }]
            }
            Kind::App(Op::Prim(Prim::Sub), args) => {
                let [a, b] = [&args[0], &args[1]].map(|e| self.numbers(e)[0].clone());
                vec![a.plus(&b.times(&Polynomial::number(-1)))]
            }
            Kind::App(Op::Get(i, _), args) => match self.component(*i, &args[0]) {
                Some(part) => self.numbers(&part),
                None => self.called(&|text| text.into(), e, rank),
            },
            _ => self.called(&|text| text.into(), e, rank),
        }
    }

    /// Returns a component of a tuple, where the tuple is known.
    fn component(&self, i: usize, tuple: &Expr) -> Option<Expr> {
        let tuple = tuple.as_var().and_then(|x| self.terms.get(&x.id()))?;
        Some(Expr::get(i, tuple.clone()))
    }

    /// Returns the element of a tensor of tensors, where the tensor is known.
    fn element(&self, v: &Expr) -> Option<Expr> {
        match v.kind() {
            Kind::Var(x) => self.element(self.terms.get(&x.id())?),
            Kind::App(Op::Prim(Prim::Build), args) => match args[1].kind() {
                Kind::Lam(_, body) => Some(body.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the size of a tensor along each axis.
    fn axes(&self, v: &Expr) -> Vec<Polynomial> {
        let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
        match v.kind() {
            Kind::Var(x) if self.known.contains_key(&x.id()) => self.known[&x.id()].clone(),
            Kind::App(Op::Prim(Prim::Build), args) => self.numbers(&args[0]),
            Kind::App(
                Op::Prim(Prim::DeltaAt | Prim::Add | Prim::Sub | Prim::Neg | Prim::Into | Prim::ZeroOf),
                args,
            ) if args[0].ty() == v.ty() => self.axes(&args[0]),
            Kind::Let(bindings, body) => self.inside(bindings).axes(body),
            Kind::App(Op::Prim(Prim::Mul), args) => self.axes(&args[1]),
            Kind::App(Op::Prim(Prim::VecInit), args) => vec![Polynomial::number(args.len() as i64)],
            Kind::App(Op::Prim(Prim::Scanl), args) => vec![self.elements(&args[2]).plus(&Polynomial::number(1))],
            Kind::App(Op::If, args) => {
                let [yes, no] = [&args[1], &args[2]].map(|branch| self.axes(branch));
                yes.into_iter().zip(no).map(|(yes, no)| yes.or(&no)).collect()
            }
            Kind::App(Op::Get(i, _), args) => match (args[0].args_of_prim(Prim::Unzip), self.component(*i, &args[0])) {
                (Some(of), _) => self.axes(&of[0]),
                (_, Some(part)) => self.axes(&part),
                _ => self.called(&size_of, v, *rank),
            },
            Kind::App(Op::Prim(Prim::Index), args) if self.element(&args[1]).is_some() => {
                self.axes(&self.element(&args[1]).expect("the guard found it"))
            }
            _ => self.called(&size_of, v, *rank),
        }
    }

    /// Returns sizes by their names, if they are those of parameters: with the names of the source, without indices.
    fn called(&self, name: &dyn Fn(&str) -> String, e: &Expr, rank: usize) -> Vec<Polynomial> {
        match (self.text(e), rank) {
            (None, rank) => vec![Polynomial::unknown(); rank],
            (Some(text), 1) => vec![Polynomial::size(name(&text))],
            (Some(text), rank) => (1..=rank).map(|k| Polynomial::size(format!("{}.{k}", name(&text)))).collect(),
        }
    }

    /// Returns a short text of what depends on parameters only.
    fn text(&self, e: &Expr) -> Option<String> {
        match e.kind() {
            Kind::Var(x) => self.named.contains(&x.id()).then(|| x.name().to_string()),
            Kind::App(Op::Prim(Prim::Index), args) => Some(format!("{}[_]", self.text(&args[1])?)),
            Kind::App(Op::Get(i, _), args) => Some(format!("{}.{i}", self.text(&args[0])?)),
            Kind::App(Op::Prim(p), args) => {
                let args: Vec<String> = args.iter().map(|a| self.text(a)).collect::<Option<_>>()?;
                Some(format!("{}({})", p.name(), args.join(", ")))
            }
            Kind::Const(_) => Some(infix::term(e, &Names::of_term(e), Format::Plain, usize::MAX)),
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
        }
    }
}

fn size_of(name: &str) -> String {
    format!("size({name})")
}

fn product(axes: &[Polynomial]) -> Polynomial {
    axes.iter().fold(Polynomial::number(1), |product, n| product.times(n))
}
