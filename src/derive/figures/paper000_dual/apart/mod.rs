//! Takes dual numbers apart: each loop over pairs becomes a loop for values and one for tangents.
//!
//! ```text
//! jvp$f(s, ds) = (value(y), tangent(y)), where y = dual$f(zip(s, ds))
//!
//! build(n, λi. (a, b))              = (build(n, λi. a), build(n, λi. b))
//! sumbuild((v, w), n, λi. (a, b))   = (sumbuild(v, n, λi. a), sumbuild(w, n, λi. b))
//! if c then (a, b) else (a', b')    = (if c then a else a', if c then b else b')
//! fold(λ((s, d), x). (f(s, x), g(s, d, x)), (a, b), v)
//!     = let s = scanl(f, a, v) in (s[n], $loop(n, λ(i, d). g(s[i], d, v[i]), b))          n = size(v)
//! dual$g(x̄)                         = zip(g(x), fwd$g(x, dx)), where x̄ = zip(x, dx)
//! ```
//!
//! A part is late if it depends on ds. The laws fire where some parts are late and others are not: then what does not
//! depend on the direction is computed once for all directions. The values of dual numbers never read their tangents,
//! so the law of folds applies to each fold that D makes. A tensor of tuples is a tuple of tensors everywhere.
//!
//! Source: Fig. 8 e and g of *Efficient differentiable programming in a functional array-processing language* (ICFP
//! 2019). The printed law of folds asks that tangents do not read values, and so misses products and maxima. Takes:
//! `[dual f]` in normal form. Gives: any term without duals.

mod loops;
mod trees;

use super::types;
use crate::derive::forms::smallest;
use crate::derive::partial_eval::depends_on;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Def, Derivative, Expr, Fun, Kind, Op, Path, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use trees::{Tree, leaf_types, of_leaves, part_types};

/// Returns `[jvp f]` from `[dual f]`.
pub fn apart(dual: &Def, f: &Fun, effects: &Effects, supply: &mut Supply) -> Def {
    let params: Vec<Var> =
        dual.params.iter().zip(&f.params).map(|(p, ty)| supply.fresh(p.name(), ty.clone())).collect();
    let one = if let [x] = params.as_slice() { Some(x.clone()) } else { None };
    let s = one.clone().unwrap_or_else(|| supply.fresh("s", f.argument()));
    let name = one.as_ref().map_or("ds".into(), |x| format!("d{}", x.name()));
    let ds = supply.fresh(&name, f.varying().tangent());
    let mut cx =
        Apart { supply, effects, env: FxHashMap::default(), late: FxHashSet::from_iter([ds.id()]), out: Vec::new() };
    if one.is_none() {
        cx.out.push(Binding { pattern: Pattern::Tuple(params.clone()), rhs: Expr::var(&s) });
    }
    let varying = types::varying(f);
    for (i, (p, x)) in dual.params.iter().zip(&params).enumerate() {
        let tree = cx.parameter(&Tree::Whole(Expr::var(x)), x.ty(), &[i + 1], &varying, &ds);
        cx.env.insert(p.id(), tree);
    }
    let y = cx.block(&dual.body);
    let (value, tangent) = (cx.value(&y, &f.result), cx.tangent(&y, &f.result));
    let parts = [cx.whole(&value, &f.result), cx.whole(&tangent, &f.result.tangent())];
    let body = renamed(&Expr::block(cx.out, Expr::tuple(parts)), cx.supply);
    Def::new(f.name.derived(Derivative::Jvp), vec![s, ds], body)
}

struct Apart<'a> {
    supply: &'a mut Supply,
    effects: &'a Effects,
    /// The values of the variables of `[dual f]`.
    env: FxHashMap<u32, Tree>,
    /// The variables that depend on the direction.
    late: FxHashSet<u32>,
    out: Vec<Binding>,
}

/// Bindings and scopes.
impl Apart<'_> {
    fn is_late(&self, e: &Expr) -> bool {
        depends_on(e, &self.late)
    }

    fn bound(&mut self, name: &str, rhs: Expr) -> Expr {
        // The laws of zeros see no names.
        let is_zero = rhs.args_of_prim(Prim::ZeroOf).is_some_and(|w| matches!(w[0].kind(), Kind::App(Op::Dummy, _)));
        if rhs.is_atom() || is_zero {
            return rhs;
        }
        let x = self.supply.fresh(name, rhs.ty().clone());
        if self.is_late(&rhs) {
            self.late.insert(x.id());
        }
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }

    /// Returns what `f` gives, and the bindings that it makes.
    fn scope<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (Vec<Binding>, T) {
        let outer = std::mem::take(&mut self.out);
        let result = f(self);
        (std::mem::replace(&mut self.out, outer), result)
    }

    /// Returns a block that gives a value as a whole.
    fn inner(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = self.scope(|cx| {
            let tree = cx.block(e);
            cx.whole(&tree, e.ty())
        });
        Expr::block(bindings, result)
    }

    /// Binds the leaves of a value in two groups, early and late ones. `make` gives the leaves of a group: one, or a
    /// tuple of several.
    fn in_groups(
        &mut self,
        ty: &Type,
        is_late: &[bool],
        name: &str,
        mut make: impl FnMut(&mut Self, &[usize]) -> Expr,
    ) -> Tree {
        let mut leaves = vec![None; is_late.len()];
        for late in [false, true] {
            let group: Vec<usize> = (0..is_late.len()).filter(|k| is_late[*k] == late).collect();
            if group.is_empty() {
                continue;
            }
            let made = make(self, &group);
            let both = self.bound(name, made);
            for (position, k) in group.iter().enumerate() {
                let leaf = if group.len() == 1 { both.clone() } else { Expr::get(position + 1, both.clone()) };
                leaves[*k] = Some(self.bound(name, leaf));
            }
        }
        of_leaves(ty, &mut leaves.into_iter().map(|leaf| leaf.expect("each leaf is in a group")))
    }

    /// Returns a parameter of `[dual f]`, in which the parts that vary are duals.
    fn parameter(&mut self, x: &Tree, ty: &Type, path: &[usize], varying: &[Path], ds: &Var) -> Tree {
        if let Some(k) = varying.iter().position(|v| v == path) {
            let ds = Expr::var(ds);
            let dx = if varying.len() == 1 { ds } else { self.bound("d", Expr::get(k + 1, ds)) };
            return self.doubled(x, &Tree::Whole(dx), ty);
        }
        if !varying.iter().any(|v| v.starts_with(path)) {
            return x.clone();
        }
        let types = ty.as_tuple().expect("a path leads through tuples").to_vec();
        let parts = self.parts(x).into_iter().zip(&types).enumerate();
        let part =
            |(k, (x, ty)): (usize, (Tree, &Type))| self.parameter(&x, ty, &[path, &[k + 1]].concat(), varying, ds);
        Tree::Parts(parts.map(part).collect())
    }
}

/// Returns the bindings that terms need, in order.
fn needed(bindings: &[Binding], results: &[Expr]) -> Vec<Binding> {
    let mut used: FxHashSet<Var> = results.iter().flat_map(free_variables).collect();
    let mut kept: Vec<Binding> = Vec::new();
    for b in bindings.iter().rev() {
        if b.pattern.vars().iter().any(|x| used.contains(x)) {
            used.extend(free_variables(&b.rhs));
            kept.push(b.clone());
        }
    }
    kept.reverse();
    kept
}

/// Returns one term, or the tuple of several.
fn together(parts: &[Expr]) -> Expr {
    if let [one] = parts { one.clone() } else { Expr::tuple(parts.to_vec()) }
}

/// Terms.
impl Apart<'_> {
    fn block(&mut self, e: &Expr) -> Tree {
        let (bindings, result) = e.as_block();
        for b in bindings {
            let before = self.out.len();
            match &b.pattern {
                Pattern::Var(x) => {
                    let tree = self.term(&b.rhs, x.name());
                    self.env.insert(x.id(), tree);
                }
                Pattern::Tuple(xs) => {
                    let tree = self.term(&b.rhs, "t");
                    let parts = if xs.is_empty() { Vec::new() } else { self.parts(&tree) };
                    self.env.extend(xs.iter().map(Var::id).zip(parts));
                }
            }
            lm::term::place(&mut self.out[before..], b.rhs.span());
        }
        self.term(result, "y")
    }

    fn term(&mut self, e: &Expr, name: &str) -> Tree {
        match e.kind() {
            Kind::Const(_) | Kind::Lam(..) => Tree::Whole(e.clone()),
            Kind::Var(x) => self.env.get(&x.id()).cloned().unwrap_or_else(|| Tree::Whole(e.clone())),
            Kind::Let(..) => self.block(e),
            Kind::App(op, args) => self.application(e, op, args, name),
        }
    }

    fn application(&mut self, e: &Expr, op: &Op, args: &[Expr], name: &str) -> Tree {
        match op {
            Op::Dummy => return Tree::Whole(e.clone()),
            Op::Tuple if !args.is_empty() => {
                return Tree::Parts(args.iter().map(|a| self.term(a, name)).collect());
            }
            Op::Get(i, _) => {
                let tuple = self.term(&args[0], name);
                return self.parts(&tuple)[i - 1].clone();
            }
            _ if self.effects.in_term(e) => {}
            Op::If if part_types(e.ty()).is_some() => return self.conditional(e, args, name),
            Op::Assert => return self.asserted(e, args, name),
            Op::Call(f) => {
                if let Some(of) = types::primal_function(f) {
                    return self.call(&of, args, name);
                }
            }
            Op::Prim(p) => {
                if let Some(tree) = self.primitive(e, *p, args, name) {
                    return tree;
                }
            }
            _ => {}
        }
        Tree::Whole(self.as_it_is(e, op, args, name))
    }

    /// Binds an operator on whole values.
    fn as_it_is(&mut self, e: &Expr, op: &Op, args: &[Expr], name: &str) -> Expr {
        let is_branch = |k: usize| *op == Op::If && k > 0;
        let argument = |(k, a): (usize, &Expr)| match a.kind() {
            _ if is_branch(k) => self.inner(a),
            Kind::Lam(x, body) => {
                let y = self.supply.fresh(x.name(), x.ty().clone());
                self.env.insert(x.id(), Tree::Whole(Expr::var(&y)));
                Expr::lam(y, self.inner(body)).at(a.span())
            }
            _ => {
                let tree = self.term(a, name);
                self.whole(&tree, a.ty())
            }
        };
        let args = args.iter().enumerate().map(argument).collect();
        self.bound(name, Expr::app(op.clone(), args).at(e.span()))
    }

    /// Returns a value with an assertion. It is one about the parts that do not depend on the direction: as all
    /// derivatives, a tangent may have a value where that of the function fails. So the laws see the tangent.
    fn asserted(&mut self, e: &Expr, args: &[Expr], name: &str) -> Tree {
        let condition = self.whole_term(&args[0], name);
        let tree = self.term(&args[1], name);
        let leaves = self.leaves(&tree, e.ty());
        let is_early: Vec<bool> = leaves.iter().map(|leaf| !self.is_late(leaf)).collect();
        let is_about = |k: usize| is_early[k] || !is_early.contains(&true);
        let checked = leaves.into_iter().enumerate().map(|(k, leaf)| match is_about(k) {
            true => self.bound(name, Expr::app(Op::Assert, vec![condition.clone(), leaf]).at(e.span())),
            false => leaf,
        });
        let checked: Vec<Expr> = checked.collect();
        of_leaves(e.ty(), &mut checked.into_iter())
    }

    fn conditional(&mut self, e: &Expr, args: &[Expr], name: &str) -> Tree {
        let ty = e.ty();
        let c = self.term(&args[0], name);
        let c = self.whole(&c, &Type::Bool);
        let [yes, no] = [&args[1], &args[2]].map(|branch| {
            self.scope(|cx| {
                let tree = cx.block(branch);
                cx.leaves(&tree, branch.ty())
            })
        });
        let late = |cx: &Self, k: usize| cx.is_late(&c) || cx.is_late(&yes.1[k]) || cx.is_late(&no.1[k]);
        let is_late: Vec<bool> = (0..yes.1.len()).map(|k| late(self, k)).collect();
        self.in_groups(ty, &is_late, name, |cx, group| {
            let [yes, no] = [&yes, &no].map(|(bindings, leaves)| cx.chosen(bindings, leaves, group));
            Expr::conditional(c.clone(), yes, no).at(e.span())
        })
    }

    /// Returns a block that gives some of its leaves.
    fn chosen(&mut self, bindings: &[Binding], leaves: &[Expr], group: &[usize]) -> Expr {
        let leaves: Vec<Expr> = group.iter().map(|k| leaves[*k].clone()).collect();
        renamed(&Expr::block(needed(bindings, &leaves), together(&leaves)), self.supply)
    }

    /// The value and the tangent of a call, each by a function of its own. The value may be that of a function on dual
    /// numbers again, which the program calls.
    fn call(&mut self, of: &Fun, args: &[Expr], name: &str) -> Tree {
        let trees: Vec<Tree> = args.iter().map(|a| self.term(a, name)).collect();
        let varying = types::varying(of);
        let (mut values, mut tangents) = (Vec::new(), Vec::new());
        for (i, (tree, ty)) in trees.iter().zip(&of.params).enumerate() {
            let value = self.argument(tree, ty, &[i + 1], &varying, &mut tangents);
            values.push(self.whole(&value, ty));
        }
        let all = Fun { name: of.name.unrestricted(), ..of.clone() };
        let value = self.term(&Expr::app(Op::Call(Arc::new(all)), values.clone()), name);
        if !of.result.is_differentiable() {
            return value;
        }
        let (point, tangent) = (together(&values), together(&tangents));
        let params = vec![point.ty().clone(), tangent.ty().clone()];
        let forward = Fun { name: of.name.derived(Derivative::Fwd), params, result: of.result.tangent() };
        let [point, tangent] = [point, tangent].map(|e| self.bound("s", e));
        let dy = self.bound(&format!("d{name}"), Expr::app(Op::Call(Arc::new(forward)), vec![point, tangent]));
        self.doubled(&value, &Tree::Whole(dy), &of.result)
    }

    /// Returns the value of an argument, in which the parts that vary are duals; adds their tangents, by their order in
    /// `varying`.
    fn argument(&mut self, tree: &Tree, ty: &Type, path: &[usize], varying: &[Path], out: &mut Vec<Expr>) -> Tree {
        if varying.iter().any(|v| v == path) {
            let tangent = self.tangent(tree, ty);
            out.push(self.whole(&tangent, &ty.tangent()));
            return self.value(tree, ty);
        }
        if !varying.iter().any(|v| v.starts_with(path)) {
            return tree.clone();
        }
        let types = ty.as_tuple().expect("a path leads through tuples").to_vec();
        let parts = self.parts(tree).into_iter().zip(&types).enumerate();
        let part = |(k, (tree, ty)): (usize, (Tree, &Type))| {
            self.argument(&tree, ty, &[path, &[k + 1]].concat(), varying, out)
        };
        Tree::Parts(parts.map(part).collect())
    }
}

/// Returns what breaks the postcondition: a call of a function on dual numbers that could be taken apart.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    smallest(&def.body, |e| match e.kind() {
        Kind::App(Op::Call(f), _) => types::primal_function(f).is_some() && !facts.effects.in_term(e),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    })
}
