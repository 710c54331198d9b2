//! Derives the shape of a function's result, without its values.
//!
//! ```text
//! Σ[x] = σx, or shape(x) for a parameter      Σ[(e1, .., en)] = (Σ[e1], .., Σ[en])
//! Σ[let x = e1 in e2] = let x = e1 in let σx = Σ[e1] in Σ[e2]
//! Σ[if c then a else b] = if c then Σ[a] else Σ[b], or Σ[a] where both are the same
//! Σ[build n (λi. e)] = n, or build n (λi. Σ[e]) where the elements are of no fixed shape
//! Σ[e + e'] = Σ[e]      Σ[k * e] = Σ[e]      Σ[f(e)] = shape$f(e)      ...
//! Σ[e] = shape(e)       where no better rule is known
//! ```
//!
//! Bindings that only values need are dead afterwards. `uniform` is the shape that all elements of a
//! tensor have, as far as it is known without an element: that of e in `build n (λi. e)`, where i does
//! not occur in it. Takes: normal form. Gives: any term.

use crate::derive::passes::{anf, dce, inline_single_uses};
use lm::destination::beside_a_value;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, renamed, substitute};
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Program, Supply, Var};
use lm::types::Type;
use lm::{alpha, shape};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Calls within calls that are looked into for the shape of elements.
const MOST_NESTED: usize = 32;

/// Returns `[shape f]`, with values that nothing needs left out.
pub fn shape(def: &Def, program: &Program, effects: &Effects, supply: &mut Supply) -> Def {
    let mut cx = Shapes::new(program, effects, supply);
    let copy = renamed(&def.body, cx.supply);
    let body = cx.shape_of_block(&copy);
    let fun = shape_function(&def.fun);
    dce::dce(&Def { fun: Arc::new(fun), params: def.params.clone(), body }, effects, &mut Rewrites::all())
}

/// Returns `[shape f] : S -> shape of T`, with the parameters of f.
fn shape_function(f: &Fun) -> Fun {
    Fun { name: f.name.derived(Derivative::Shape), params: f.params.clone(), result: f.result.shape() }
}

/// The shapes that are known inside a definition.
pub struct Shapes<'a> {
    program: &'a Program,
    effects: &'a Effects,
    pub(crate) supply: &'a mut Supply,
    /// σx for each x of no fixed shape that is bound in a let.
    shapes: FxHashMap<u32, Expr>,
    /// The term that each variable is bound to.
    definitions: FxHashMap<u32, Expr>,
    /// The functions being looked into, where the shape of elements is sought.
    inside: Option<Vec<FunName>>,
}

impl<'a> Shapes<'a> {
    /// Nothing is known yet.
    pub fn new(program: &'a Program, effects: &'a Effects, supply: &'a mut Supply) -> Shapes<'a> {
        Shapes {
            program,
            effects,
            supply,
            shapes: FxHashMap::default(),
            definitions: FxHashMap::default(),
            inside: None,
        }
    }

    /// Notes what a variable is bound to.
    pub fn define(&mut self, b: &Binding) {
        if let Pattern::Var(x) = &b.pattern {
            self.definitions.insert(x.id(), b.rhs.clone());
        }
    }

    fn shape_of_block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let mut out = Vec::new();
        for b in bindings {
            self.define(b);
            out.push(Binding { pattern: b.pattern.clone(), rhs: self.value(&b.rhs) });
            out.extend(self.shape_binding(b));
        }
        let shape = self.shape_of(result);
        Expr::block(out, shape)
    }

    /// Returns a value that is bound; the size of a tensor comes from its shape.
    fn value(&self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::App(Op::Prim(Prim::Size | Prim::CommonSize), args) => {
                let known = args.iter().find_map(|v| Some((v, self.shapes.get(&v.as_var()?.id())?)));
                known.map_or_else(|| e.clone(), |(v, shape)| shape::size_of_shape(v.ty(), shape))
            }
            _ => e.clone(),
        }
    }

    /// `σx = Σ[e]` for `x = e`.
    fn shape_binding(&mut self, b: &Binding) -> Option<Binding> {
        if b.rhs.ty().has_fixed_shape() {
            return None;
        }
        let rhs = renamed(&b.rhs, self.supply);
        let rhs = self.shape_of(&rhs);
        let mut name = |x: &Var| {
            let sigma = self.supply.fresh(&format!("s{}", x.name()), x.ty().shape());
            self.shapes.insert(x.id(), Expr::var(&sigma));
            sigma
        };
        let pattern = match &b.pattern {
            Pattern::Var(x) => Pattern::Var(name(x)),
            Pattern::Tuple(xs) => Pattern::Tuple(xs.iter().map(name).collect()),
        };
        Some(Binding { pattern, rhs })
    }

    /// Σ of an operator on atoms.
    fn shape_of(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            _ if e.ty().has_fixed_shape() => shape::unit(e.ty()),
            Kind::Var(x) => self.shapes.get(&x.id()).cloned().unwrap_or_else(|| shape::of(e, self.supply)),
            Kind::Let(..) => self.shape_of_block(e),
            Kind::App(op, args) => self.application(e, op, args).unwrap_or_else(|| self.computed(e)),
            Kind::Const(_) | Kind::Lam(..) => shape::unit(e.ty()),
        }
    }

    /// Returns the shape of a value that is computed for it.
    fn computed(&mut self, e: &Expr) -> Expr {
        shape::of_term(e.clone(), self.supply)
    }

    fn application(&mut self, e: &Expr, op: &Op, args: &[Expr]) -> Option<Expr> {
        Some(match op {
            Op::Tuple => Expr::tuple(args.iter().map(|arg| self.shape_of(arg)).collect::<Vec<_>>()),
            Op::Get(i, _) => Expr::get(*i, self.shape_of(&args[0])),
            Op::If => {
                let (yes, no) = (self.pruned(&args[1]), self.pruned(&args[2]));
                if alpha::exprs(&yes, &no) { yes } else { Expr::conditional(args[0].clone(), yes, no) }
            }
            Op::Assert => Expr::app(Op::Assert, vec![args[0].clone(), self.shape_of(&args[1])]),
            Op::Dummy => Expr::dummy(e.ty().shape()),
            Op::Call(f) => self.call(f, args),
            Op::Prim(p) => return self.primitive(e, *p, args),
            Op::JacobianOf(_)
            | Op::JacobianOfFun(_)
            | Op::JacobianAt(_)
            | Op::LmGet(..)
            | Op::Pack(_)
            | Op::Unpack(_) => return None,
        })
    }

    fn primitive(&mut self, e: &Expr, p: Prim, args: &[Expr]) -> Option<Expr> {
        let like = |w: &Expr| w.ty() == e.ty();
        Some(match (p, args) {
            (Prim::Build, [n, _]) if has_fixed_elements(e.ty()) => n.clone(),
            (Prim::Build, [n, f]) => {
                let Kind::Lam(i, body) = f.kind() else { return None };
                let element = self.pruned(body);
                Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), element)])
            }
            (Prim::SumBuild, [_, f]) => self.uniform_of(f)?,
            (Prim::SumBuild, [w, _, _]) | (Prim::Into, [w, _]) if like(w) => self.shape_of(w),
            (Prim::Into, [w, x]) if beside_a_value(w, x) => {
                let (w, value) = (Expr::get(2, w.clone()), &e.ty().as_tuple()?[0]);
                let is_known = value.has_fixed_shape() && w.ty() == &e.ty().as_tuple()?[1];
                is_known.then(|| Expr::tuple([Expr::dummy(value.shape()), self.shape_of(&w)]))?
            }
            (Prim::Sum, [v]) => self.uniform(v)?,
            (Prim::Index, [i, v]) => match self.uniform(v) {
                Some(shape) => shape,
                None => Expr::prim(Prim::Index, [i.clone(), self.shapes.get(&v.as_var()?.id())?.clone()]),
            },
            (Prim::VecInit, _) if has_fixed_elements(e.ty()) => Expr::integer(args.len() as i64),
            (Prim::VecInit, _) => {
                Expr::prim(Prim::VecInit, args.iter().map(|arg| self.shape_of(arg)).collect::<Vec<_>>())
            }
            (Prim::Map2, [_, v, _]) if has_fixed_elements(e.ty()) => shape::size_of_shape(v.ty(), &self.shape_of(v)),
            (Prim::Scanl | Prim::Scanr, [_, _, v]) if has_fixed_elements(e.ty()) => {
                let size = shape::size_of_shape(v.ty(), &self.shape_of(v));
                Expr::prim(Prim::Add, [size, Expr::integer(1)])
            }
            (Prim::Add | Prim::Sub | Prim::Neg | Prim::StopGradient | Prim::AddAt | Prim::DeltaAt, [x, ..])
            | (Prim::Mul, [_, x])
            | (Prim::ZeroOf, [x])
                if like(x) =>
            {
                self.shape_of(x)
            }
            _ => return None,
        })
    }

    /// Returns `shape$f(e)`; where the shape of elements is sought, what f's body gives.
    fn call(&mut self, f: &Arc<Fun>, args: &[Expr]) -> Expr {
        let stack = self.inside.as_ref();
        let is_looked_into = stack.is_some_and(|stack| stack.len() < MOST_NESTED && !stack.contains(&f.name));
        match self.program.defs.get(&f.name).filter(|_| is_looked_into) {
            None => Expr::app(Op::Call(Arc::new(shape_function(f))), args.to_vec()),
            Some(def) => {
                let by = def.params.iter().map(Var::id).zip(args.iter().cloned()).collect();
                let body = anf::normalise_block(&substitute(&renamed(&def.body, self.supply), &by), self.supply);
                self.inside.get_or_insert_default().push(f.name.clone());
                let shape = self.shape_of_block(&body);
                self.inside.get_or_insert_default().pop();
                shape
            }
        }
    }

    /// Σ of a block, without bindings that are dead in it or used once: equal shapes look equal.
    fn pruned(&mut self, e: &Expr) -> Expr {
        let shape = self.shape_of_block(e);
        let def = Def::new(FunName::base("shape"), Vec::new(), shape);
        let all = &mut Rewrites::all();
        inline_single_uses::inline_single_uses(&dce::dce(&def, self.effects, all), self.effects, all).body
    }

    /// Returns the shape of every element of a tensor, as far as it is known without one.
    pub fn uniform(&mut self, v: &Expr) -> Option<Expr> {
        match v.kind() {
            Kind::Var(x) => {
                let definition = self.definitions.get(&x.id())?.clone();
                self.uniform(&definition)
            }
            Kind::App(Op::Prim(Prim::Build), args) => self.uniform_of(&args[1]),
            Kind::App(Op::Prim(Prim::Map2), args) => {
                let step = self.step_of_map2(args)?;
                self.uniform_of(&step)
            }
            Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
        }
    }

    /// Returns `λk. let p = (v[k], w[k]) in e` for `map2 (λp. e) v w`.
    fn step_of_map2(&mut self, args: &[Expr]) -> Option<Expr> {
        let [f, v, w] = args else { return None };
        let (Kind::Lam(p, body), Type::Tensor(rank, _)) = (f.kind(), v.ty()) else { return None };
        let k = self.supply.fresh("k", Type::index(*rank));
        let element = |v: &Expr| Expr::prim(Prim::Index, [Expr::var(&k), v.clone()]);
        let pair = Binding { pattern: Pattern::Var(p.clone()), rhs: Expr::tuple([element(v), element(w)]) };
        let step = Expr::block(vec![pair], body.clone());
        Some(Expr::lam(k, step))
    }

    /// Returns the shape of every value of a function, as far as it is known without an argument.
    pub fn uniform_of(&mut self, f: &Expr) -> Option<Expr> {
        let copy = renamed(f, self.supply);
        let Kind::Lam(i, body) = copy.kind() else { return None };
        let body = anf::normalise_block(body, self.supply);
        let outer = self.inside.take();
        self.inside = Some(outer.clone().unwrap_or_default());
        let shape = self.pruned(&body);
        self.inside = outer;
        let is_known = !free_variables(&shape).contains(i) && !self.effects.in_term(&shape);
        is_known.then_some(shape)
    }
}

fn has_fixed_elements(ty: &Type) -> bool {
    matches!(ty, Type::Tensor(_, element) if element.has_fixed_shape())
}
