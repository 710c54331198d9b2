//! Finds what one element of the next state is, as a term in that element of the state.
//!
//! ```text
//! build(n, λi. e{s[i], i})  at k  =  e{t, k}        where t is s[k]
//! v + w, f * v, if c then v else w, s[k], g(s)      likewise, of their parts
//! ```
//!
//! A term that depends on the state is a tensor of the state's size, of which the element at k is known, or a tuple of
//! such. There is no such element where the step reads another one, adds up elements, or makes a tensor of another size.

use lm::facts::Facts;
use lm::prim::Prim;
use lm::scope::{free_variables, renamed, substitute};
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// Returns the definition of a function that may take the place of its calls.
pub type Callee<'a> = dyn Fn(&FunName) -> Option<Def> + 'a;

/// The most calls that a step is looked through.
const MOST_CALLS: usize = 40;

/// What a term of a step is.
#[derive(Clone)]
pub(super) enum Value {
    /// A term that does not depend on the state.
    Same(Expr),
    /// A tensor of the state's size, by its element at k.
    At(Expr),
    Tuple(Vec<Value>),
}

impl Value {
    /// Returns the value of a state, where its tensors have these elements.
    pub(super) fn of_tensors(ty: &Type, elements: &mut impl Iterator<Item = Expr>) -> Value {
        match ty {
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(|part| Value::of_tensors(part, elements)).collect()),
            _ => Value::At(elements.next().expect("there is one for each tensor")),
        }
    }

    /// Returns the elements at k of all tensors in it.
    pub(super) fn elements(self, cx: &mut Element) -> Option<Vec<Expr>> {
        match self {
            Value::At(e) => Some(vec![e]),
            Value::Same(e) => cx.at_k(&e).map(|e| vec![e]),
            Value::Tuple(parts) => {
                let parts: Vec<Vec<Expr>> = parts.into_iter().map(|part| part.elements(cx)).collect::<Option<_>>()?;
                Some(parts.concat())
            }
        }
    }

    fn part(self, i: usize) -> Option<Value> {
        match self {
            Value::Tuple(mut parts) => Some(parts.swap_remove(i - 1)),
            Value::Same(e) => Some(Value::Same(Expr::get(i, e))),
            Value::At(_) => None,
        }
    }
}

/// Goes through a step.
pub(super) struct Element<'a> {
    pub(super) callee: &'a Callee<'a>,
    pub(super) facts: &'a mut Facts,
    pub(super) supply: &'a mut Supply,
    pub(super) n: &'a Expr,
    pub(super) k: &'a Var,
    /// The names that depend on the state.
    pub(super) known: FxHashMap<u32, Value>,
    pub(super) calls: usize,
    /// Whether one element is enough of tensors that do not depend on the state, too.
    pub(super) looks_into: bool,
}

impl Element<'_> {
    pub(super) fn know(&mut self, x: &Var, value: Value) {
        self.known.insert(x.id(), value);
    }

    fn depends(&self, e: &Expr) -> bool {
        free_variables(e).iter().any(|x| self.known.contains_key(&x.id()))
    }

    /// Returns the element at k of a tensor that does not depend on the state.
    fn at_k(&self, v: &Expr) -> Option<Expr> {
        let is_tensor = matches!(v.ty(), Type::Tensor(rank, _) if Type::index(*rank) == *self.k.ty());
        let size = || Expr::prim(Prim::Size, [v.clone()]);
        (is_tensor && self.facts.are_equal(&size(), self.n))
            .then(|| Expr::prim(Prim::Index, [Expr::var(self.k), v.clone()]))
    }

    fn element(&self, value: Value) -> Option<Expr> {
        match value {
            Value::At(e) => Some(e),
            Value::Same(v) => self.at_k(&v),
            Value::Tuple(_) => None,
        }
    }

    /// Returns the value of a term of a step. What it names is bound by `out`.
    pub(super) fn value(&mut self, e: &Expr, out: &mut Vec<Binding>) -> Option<Value> {
        if !self.depends(e) && !self.is_looked_into(e) {
            return Some(Value::Same(e.clone()));
        }
        match e.kind() {
            Kind::Var(x) => self.known.get(&x.id()).cloned(),
            Kind::Let(bindings, body) => {
                bindings.iter().try_for_each(|b| self.bind(b, out))?;
                self.value(body, out)
            }
            Kind::App(Op::Tuple, parts) => {
                Some(Value::Tuple(parts.iter().map(|part| self.value(part, out)).collect::<Option<_>>()?))
            }
            Kind::App(Op::Get(i, _), args) => self.value(&args[0], out)?.part(*i),
            Kind::App(Op::If, args) => self.choice(args, out),
            Kind::App(Op::Call(_), _) => {
                let body = self.body(e)?;
                self.value(&body, out)
            }
            Kind::App(Op::Prim(Prim::Build), args) => {
                let [n, f] = &args[..] else { return None };
                let Kind::Lam(i, body) = f.kind() else { return None };
                let n = self.term(n)?;
                if !self.facts.are_equal(&n, self.n) {
                    return None;
                }
                let body = substitute(body, &FxHashMap::from_iter([(i.id(), Expr::var(self.k))]));
                let (bindings, result) = body.as_block();
                self.bind_terms(bindings, out)?;
                Some(Value::At(self.term(result)?))
            }
            Kind::App(Op::Prim(p @ (Prim::Add | Prim::Sub | Prim::Neg)), args) => {
                let parts = args.iter().map(|v| self.value(v, out).and_then(|v| self.element(v)));
                let parts: Vec<Expr> = parts.collect::<Option<_>>()?;
                Some(Value::At(Expr::prim(*p, parts)))
            }
            Kind::App(Op::Prim(Prim::Mul), args) if matches!(args[1].ty(), Type::Tensor(..)) => {
                let Value::Same(f) = self.value(&args[0], out)? else { return None };
                let v = self.value(&args[1], out)?;
                Some(Value::At(Expr::prim(Prim::Mul, [f, self.element(v)?])))
            }
            Kind::App(Op::Prim(Prim::Unzip), args) => {
                let v = self.value(&args[0], out)?;
                let pair = self.element(v)?;
                let parts = pair.ty().as_tuple()?.len();
                Some(Value::Tuple((1..=parts).map(|i| Value::At(Expr::get(i, pair.clone()))).collect()))
            }
            _ => None,
        }
    }

    /// Returns whether a term that does not depend on the state is looked into all the same: a tensor of the state's
    /// size, of which one element is enough.
    fn is_looked_into(&self, e: &Expr) -> bool {
        let is_tensor = matches!(e.ty(), Type::Tensor(rank, _) if Type::index(*rank) == *self.k.ty());
        let is_of_size = match e.kind() {
            Kind::App(Op::Prim(Prim::Build), args) => self.facts.are_equal(&args[0], self.n),
            Kind::App(Op::Prim(Prim::Add | Prim::Sub | Prim::Neg | Prim::Mul), _) | Kind::Let(..) => true,
            _ => false,
        };
        self.looks_into && is_tensor && is_of_size
    }

    fn bind(&mut self, b: &Binding, out: &mut Vec<Binding>) -> Option<()> {
        let value = self.value(&b.rhs, out)?;
        match (&b.pattern, value) {
            (pattern, Value::Same(rhs)) => self.keep(pattern, rhs, out),
            (Pattern::Var(x), value) => {
                let value = self.named(x, value, out);
                self.know(x, value);
            }
            (Pattern::Tuple(xs), value) => {
                for (i, x) in xs.iter().enumerate() {
                    match value.clone().part(i + 1)? {
                        Value::Same(rhs) => self.keep(&Pattern::Var(x.clone()), rhs, out),
                        part => {
                            let part = self.named(x, part, out);
                            self.know(x, part);
                        }
                    }
                }
            }
        }
        Some(())
    }

    fn keep(&mut self, pattern: &Pattern, rhs: Expr, out: &mut Vec<Binding>) {
        let b = Binding { pattern: pattern.clone(), rhs };
        self.facts.sizes(&b);
        out.push(b);
    }

    /// Names the elements of a value, each of which may be used more than once.
    fn named(&mut self, x: &Var, value: Value, out: &mut Vec<Binding>) -> Value {
        match value {
            Value::At(e) if !e.is_atom() => {
                let y = self.supply.fresh(x.name(), e.ty().clone());
                out.push(Binding { pattern: Pattern::Var(y.clone()), rhs: e });
                Value::At(Expr::var(&y))
            }
            Value::Tuple(parts) => Value::Tuple(parts.into_iter().map(|part| self.named(x, part, out)).collect()),
            other => other,
        }
    }

    /// Returns a conditional that gives tensors of the state's size.
    fn choice(&mut self, args: &[Expr], out: &mut Vec<Binding>) -> Option<Value> {
        let Value::Same(condition) = self.value(&args[0], out)? else { return None };
        let mut arms = Vec::new();
        let mut count = 0;
        for arm in &args[1..] {
            let (mark, mut own) = (self.facts.mark(), Vec::new());
            let elements = self.value(arm, &mut own).and_then(|value| value.elements(self));
            // What one arm finds equal is not so in the other.
            self.facts.forget_since(mark);
            let elements = elements?;
            count = elements.len();
            let whole = if let [one] = &elements[..] { one.clone() } else { Expr::tuple(elements) };
            arms.push(Expr::block(own, whole));
        }
        let whole = Expr::conditional(condition, arms.remove(0), arms.remove(0));
        let parts = if count == 1 {
            vec![whole]
        } else {
            let x = self.supply.fresh("t", whole.ty().clone());
            out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: whole });
            (1..=count).map(|i| Expr::get(i, Expr::var(&x))).collect()
        };
        Some(Value::of_tensors(args[1].ty(), &mut parts.into_iter()))
    }

    /// Returns a call as the body of the function, if it may be looked into.
    fn body(&mut self, e: &Expr) -> Option<Expr> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        self.calls += 1;
        let def = (self.callee)(&f.name).filter(|_| self.calls <= MOST_CALLS)?;
        let params = def.params.iter().zip(args);
        let bindings = params.map(|(x, a)| Binding { pattern: Pattern::Var(x.clone()), rhs: a.clone() }).collect();
        Some(self.own(&Expr::block(bindings, def.body.clone())))
    }

    /// Returns a copy of a term, whose indices are known to be such.
    pub(super) fn own(&mut self, e: &Expr) -> Expr {
        let own = renamed(e, self.supply);
        own.visit(|e| learn_index(e, self.facts));
        own
    }

    /// Returns a term for one element, which reads tensors that depend on the state at k only.
    fn term(&mut self, e: &Expr) -> Option<Expr> {
        if !self.depends(e) {
            return Some(e.clone());
        }
        match e.kind() {
            Kind::App(Op::Prim(Prim::Index), args) if self.is_path(&args[1]) => {
                let value = self.value(&args[1], &mut vec![])?;
                let is_here = self.is_k(&args[0]);
                self.element(value).filter(|_| is_here)
            }
            Kind::App(Op::Prim(Prim::Size), args) if self.is_path(&args[0]) => {
                let value = self.value(&args[0], &mut vec![])?;
                matches!(value, Value::At(_)).then(|| self.n.clone())
            }
            Kind::App(Op::Prim(Prim::CommonSize), args) => {
                for v in args {
                    let n = self.term(&Expr::prim(Prim::Size, [v.clone()]))?;
                    if !self.facts.are_equal(&n, self.n) {
                        return None;
                    }
                }
                Some(self.n.clone())
            }
            Kind::App(Op::Call(_), args) if args.iter().any(|a| self.is_path(a) && self.depends(a)) => {
                let body = self.body(e)?;
                self.term(&body)
            }
            Kind::Let(bindings, body) => {
                let mut own = Vec::new();
                self.bind_terms(bindings, &mut own)?;
                let body = self.term(body)?;
                Some(Expr::block(own, body))
            }
            _ if self.is_path(e) => match self.value(e, &mut vec![])? {
                Value::Same(e) => Some(e),
                Value::At(_) | Value::Tuple(_) => None,
            },
            Kind::Const(_) | Kind::Var(_) => Some(e.clone()),
            Kind::App(..) | Kind::Lam(..) => {
                let mut all = true;
                let new = e.map_children(|child| {
                    let new = if all { self.term(child) } else { None };
                    all &= new.is_some();
                    new.unwrap_or_else(|| child.clone())
                });
                all.then_some(new)
            }
        }
    }

    /// Binds what a term for one element names.
    fn bind_terms(&mut self, bindings: &[Binding], out: &mut Vec<Binding>) -> Option<()> {
        for b in bindings {
            if self.is_path(&b.rhs) && self.depends(&b.rhs) {
                self.bind(b, out)?;
            } else {
                let rhs = self.term(&b.rhs)?;
                self.keep(&b.pattern, rhs, out);
            }
        }
        Some(())
    }

    /// Returns whether a term is a name or a component of one.
    fn is_path(&self, e: &Expr) -> bool {
        match e.kind() {
            Kind::Var(_) => true,
            Kind::App(Op::Get(..), args) => self.is_path(&args[0]),
            _ => false,
        }
    }

    /// Returns whether an index is k, or all of its components.
    fn is_k(&self, e: &Expr) -> bool {
        e.as_var() == Some(self.k) || self.facts.are_equal(e, &Expr::var(self.k))
    }
}

/// Learns the range of the index of a loop.
pub(super) fn learn_index(e: &Expr, facts: &mut Facts) {
    if let Kind::App(Op::Prim(Prim::Build | Prim::SumBuild), args) = e.kind()
        && let [.., n, f] = &args[..]
        && let Kind::Lam(k, _) = f.kind()
    {
        facts.index(k, n);
    }
}
