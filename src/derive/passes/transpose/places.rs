//! Transposes loops whose steps reach one element each, the one at their own place: what they send is a tensor of what
//! reaches each element, no sum of tensors.
//!
//! ```text
//! ⊕(build(n, λi. π(i)ᵀ ∘ m))        =  V(build(n, λi. m))                  when n is size(v), for π(i) of v
//! ⊕(build(n, λi. (π(i)ᵀ ∘ m) ⊕ p))  =  V(build(n, λi. m)) ⊕ ⊕(build(n, λi. p))
//! V(build(n, λi. π(i) ∘ m))         =  m                                   when n is size(v)
//! ⊕(build(n, λi. π(k)ᵀ ∘ m))        =  π(k)ᵀ ∘ ⊕(build(n, λi. m))           when v[k] was read, for π(k) of v
//! ```

use super::{Scope, Targets, Transpose, after};
use lm::prim::{Cost, Prim};
use lm::rewriter::OutOfFuel;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Expr, Kind, Op, Var};

/// What the steps of a loop send to one target.
#[derive(Default)]
pub(super) struct Sent {
    /// The tensor whose i-th element is reached.
    tensor: Option<Expr>,
    /// What reaches that element.
    rows: Vec<Expr>,
    /// What reaches others.
    others: Vec<Expr>,
}

impl Transpose<'_, '_> {
    /// Returns what the steps of a loop send to each target, if they reach elements at their own places. Where that
    /// makes several loops of one, what the steps share is cheap.
    pub(super) fn by_places(&mut self, n: &Expr, i: &Var, steps: &Scope, targets: &Targets) -> Option<Vec<Sent>> {
        let sent: Vec<Sent> = targets.0.iter().map(|(target, _)| self.sent(n, i, steps, target.as_ref())).collect();
        let loops: usize =
            sent.iter().map(|sent| usize::from(!sent.rows.is_empty()) + usize::from(!sent.others.is_empty())).sum();
        let is_some = sent.iter().any(|sent| !sent.rows.is_empty());
        let is_cheap = || {
            let terms = sent.iter().flat_map(|sent| sent.rows.iter().chain(&sent.others));
            steps.out.iter().all(|b| is_element(&b.rhs)) && terms.into_iter().all(is_cheap)
        };
        (is_some && (loops == 1 || is_cheap())).then_some(sent)
    }

    fn sent(&self, n: &Expr, i: &Var, steps: &Scope, target: Option<&Var>) -> Sent {
        let terms = match target {
            Some(dx) => steps.reached.get(&dx.id()).map(|(_, sent)| sent.as_slice()).unwrap_or_default(),
            None => &steps.direct,
        };
        let mut sent = Sent::default();
        for term in terms.iter().flat_map(terms_of) {
            match self.at_place(n, i, steps, &term) {
                Some((tensor, row)) => {
                    sent.tensor = Some(tensor);
                    sent.rows.push(row);
                }
                None => sent.others.push(term),
            }
        }
        sent
    }

    /// Returns v and m, for `π(i)ᵀ ∘ m` with π(i) of v, a tensor of size n.
    fn at_place(&self, n: &Expr, i: &Var, steps: &Scope, term: &Expr) -> Option<(Expr, Expr)> {
        let one = || Expr::prim(Prim::LmOne, [self.from.clone()]);
        let (m, c) = match term.args_of_prim(Prim::LmCompose) {
            Some([m, c]) => (m, c.clone()),
            _ => (term, one()),
        };
        let [k, v] = m.args_of_prim(Prim::LmTranspose)?[0].args_of_prim(Prim::LmIndex)? else { return None };
        let is_own = k.as_var() == Some(i) && is_free_of(v, i, steps) && self.has_size(v, n);
        is_own.then(|| (v.clone(), c))
    }

    fn has_size(&self, v: &Expr, n: &Expr) -> bool {
        self.cx.context.facts.are_equal(n, &Expr::prim(Prim::Size, [v.clone()]))
    }

    /// Sends the tensor of what reaches each element to the target, and the sum of what reaches others.
    pub(super) fn send_by_places(
        &mut self,
        [n, i]: [&Expr; 2],
        steps: &Scope,
        sent: Sent,
        (target, to): (Option<Var>, Expr),
        scope: &mut Scope,
    ) -> Result<(), OutOfFuel> {
        let Sent { tensor, rows, others } = sent;
        let index = i.as_var().expect("an index is a variable");
        let is_same = |e: &Expr| is_free_of(e, index, steps);
        let targets = || Targets(vec![(target.clone(), to.clone())]);
        if let Some(tensor) = tensor {
            let element = Expr::prim(Prim::Index, [i.clone(), tensor.clone()]);
            let family = self.family_of([n, i], steps, rows, element)?;
            let [_, f] = family.args_of_prim(Prim::Build).expect("a family") else { panic!("`build` takes two") };
            let Kind::Lam(k, row) = f.kind() else { panic!("a family is over an index") };
            let whole = match self.whole(n, k, row) {
                Some(whole) if self.cx.rewrites.may("build-of-places") => whole,
                _ => Expr::prim(Prim::LmVCatV, [tensor, family]),
            };
            self.distribute(whole, targets(), scope)?;
        }
        if others.is_empty() {
            return Ok(());
        }
        let factored: Option<Vec<(Expr, Expr)>> = others.iter().map(|other| self.factor(other, &is_same)).collect();
        let common = factored.filter(|parts| parts.iter().all(|(m, _)| *m == parts[0].0));
        match common {
            Some(parts) if self.cx.rewrites.may("sum-compose") => {
                let m = parts[0].0.clone();
                let element = self.cx.context.spaces.domain(&m).expect("the shapes of places are known");
                let parts = parts.into_iter().map(|(_, part)| part).collect();
                let family = self.family_of([n, i], steps, parts, element.clone())?;
                let sum = Expr::prim(Prim::LmAddV, [Expr::witness(&element), family]);
                let sum = self.bind_as("R", sum, scope);
                let placed = self.normal(&after(m, sum), scope)?;
                self.distribute(placed, targets(), scope)
            }
            _ => {
                let family = self.family_of([n, i], steps, others, to.clone())?;
                self.distribute(Expr::prim(Prim::LmAddV, [Expr::witness(&to), family]), targets(), scope)
            }
        }
    }

    /// Returns the family of sums of maps of a step. What the steps share is written in each family, with binders of
    /// its own.
    fn family_of(&mut self, [n, i]: [&Expr; 2], steps: &Scope, maps: Vec<Expr>, to: Expr) -> Result<Expr, OutOfFuel> {
        let of = Scope { out: steps.out.clone(), direct: maps, ..Scope::default() };
        let step = self.branch(of, &Targets(vec![(None, to)]))?;
        let index = i.as_var().expect("an index is a variable");
        let family = Expr::prim(Prim::Build, [n.clone(), Expr::lam(index.clone(), step)]);
        Ok(renamed(&family, self.cx.supply))
    }

    /// Returns m, for a step `π(i) ∘ m` with π(i) of a tensor of size n.
    fn whole(&self, n: &Expr, i: &Var, step: &Expr) -> Option<Expr> {
        let (bindings, result) = step.as_block();
        let is_result = |b: &&Binding| b.pattern.vars().first() == result.as_var();
        let element = bindings.iter().find(is_result).map_or(result, |b| &b.rhs);
        let one = || element.args_of_prim(Prim::LmIndex).map(|place| Expr::prim(Prim::LmOne, [place[1].clone()]));
        let (m, whole) = match element.args_of_prim(Prim::LmCompose) {
            Some([m, whole]) => (m, whole.clone()),
            _ => (element, one()?),
        };
        let [k, v] = m.args_of_prim(Prim::LmIndex)? else { return None };
        let is_outside = |e: &Expr| free_variables(e).iter().all(|x| x != i && !binds(bindings, x));
        (k.as_var() == Some(i) && is_outside(v) && is_outside(&whole) && self.has_size(v, n)).then_some(whole)
    }

    /// Returns `π(k)ᵀ` and m, for `π(k)ᵀ ∘ m` where π(k) is the same in each step, and there is a k-th element also where
    /// there is no step.
    fn factor(&self, term: &Expr, is_same: &dyn Fn(&Expr) -> bool) -> Option<(Expr, Expr)> {
        let [m, c] = term.args_of_prim(Prim::LmCompose)? else { return None };
        let [k, v] = m.args_of_prim(Prim::LmTranspose)?[0].args_of_prim(Prim::LmIndex)? else { return None };
        let has_element = self.cx.context.facts.is_below(k, &Expr::prim(Prim::Size, [v.clone()]));
        (has_element && is_same(m) && self.cx.context.spaces.domain(m).is_some()).then(|| (m.clone(), c.clone()))
    }
}

/// Returns the terms of a sum.
fn terms_of(m: &Expr) -> Vec<Expr> {
    match m.args_of_prim(Prim::LmAdd) {
        Some(parts) => parts.iter().flat_map(terms_of).collect(),
        None => vec![m.clone()],
    }
}

/// Returns whether a term is the same in each step of a loop.
fn is_free_of(e: &Expr, i: &Var, steps: &Scope) -> bool {
    free_variables(e).iter().all(|x| x != i && !binds(&steps.out, x))
}

fn binds(bindings: &[Binding], x: &Var) -> bool {
    bindings.iter().any(|b| b.pattern.vars().contains(x))
}

/// Returns whether the operations in a map may be done twice: a few on numbers, no loop and no function of the C library.
fn is_cheap(m: &Expr) -> bool {
    let is_number = |e: &Expr| e.ty().mentions_lm() || !e.ty().mentions_array();
    match m.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::App(Op::Dummy | Op::LmGet(..), _) => true,
        Kind::App(Op::Prim(Prim::Index | Prim::Size | Prim::LmIndex), args) => args.iter().all(is_cheap),
        Kind::App(Op::Prim(Prim::LmScaleR | Prim::LmDot | Prim::LmScale), args) => args.iter().all(is_cheap),
        Kind::App(Op::Prim(p), args) => p.cost() == Cost::Cheap && args.iter().all(|a| is_number(a) && is_cheap(a)),
        Kind::App(op, args) => matches!(op, Op::Tuple | Op::Get(..)) && args.iter().all(is_cheap),
        Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether a term is an element of what has a name, or of a map with one.
fn is_element(e: &Expr) -> bool {
    match e.kind() {
        Kind::Var(_) => true,
        _ => match (e.args_of_prim(Prim::Index), e.args_of_prim(Prim::LmCompose)) {
            (Some([i, v]), _) => [i, v].iter().all(|part| part.is_atom() || part.is_short_tuple()),
            (_, Some([m, n])) => m.args_of_prim(Prim::LmIndex).is_some() && n.as_var().is_some(),
            _ => false,
        },
    }
}
