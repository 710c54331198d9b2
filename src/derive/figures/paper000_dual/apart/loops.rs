//! Takes loops apart: what they compute of the direction, and what not.

use super::{Apart, Tree, leaf_types, of_leaves, part_types, together};
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Pattern, Var};
use lm::types::Type;

impl Apart<'_> {
    /// Returns a primitive on parts; `None` where it takes whole values.
    pub(super) fn primitive(&mut self, e: &Expr, p: Prim, args: &[Expr], name: &str) -> Option<Tree> {
        let has_parts = part_types(e.ty()).is_some();
        Some(match (p, args) {
            (Prim::Size, [v]) => {
                let tree = self.term(v, name);
                let size = self.size(&tree, v.ty());
                Tree::Whole(self.bound(name, size.at(e.span())))
            }
            (Prim::Unzip, [v]) => self.term(v, name),
            _ if !has_parts => return None,
            (Prim::Index, [i, v]) => {
                let (i, v) = (self.whole_term(i, name), self.term(v, name));
                self.each(e.ty(), &[(&v, args[1].ty())], name, |leaves| Expr::prim(p, [i.clone(), leaves[0].clone()]))
            }
            (Prim::Sum | Prim::Neg | Prim::ZeroOf, [v]) if e.ty() != &Type::unit() && same(v.ty(), e.ty(), p) => {
                let tree = self.term(v, name);
                self.each(e.ty(), &[(&tree, v.ty())], name, |leaves| Expr::prim(p, [leaves[0].clone()]))
            }
            (Prim::Add | Prim::Sub, [v, w]) => {
                let (left, right) = (self.term(v, name), self.term(w, name));
                self.each(e.ty(), &[(&left, v.ty()), (&right, w.ty())], name, |leaves| {
                    Expr::prim(p, leaves.iter().cloned())
                })
            }
            (Prim::Mul, [k, v]) => {
                let (k, v) = (self.whole_term(k, name), self.term(v, name));
                self.each(e.ty(), &[(&v, args[1].ty())], name, |leaves| Expr::prim(p, [k.clone(), leaves[0].clone()]))
            }
            (Prim::VecInit, _) if !args.is_empty() => {
                let trees: Vec<Tree> = args.iter().map(|a| self.term(a, name)).collect();
                let of: Vec<(&Tree, &Type)> = trees.iter().zip(args.iter().map(Expr::ty)).collect();
                self.each(e.ty(), &of, name, |leaves| Expr::prim(p, leaves.iter().cloned()))
            }
            (Prim::Build, [n, f]) => self.build(e, n, f, name),
            (Prim::SumBuild, [witness @ .., n, f]) => self.sum_build(e, witness, n, f, name),
            (Prim::Fold | Prim::Scanl, [f, a, v]) => return self.recurrence(p, f, a, v, name),
            (Prim::Loop, [n, f, a, w]) => return self.iteration(n, f, a, w, name),
            _ => return None,
        })
    }

    fn whole_term(&mut self, e: &Expr, name: &str) -> Expr {
        let tree = self.term(e, name);
        self.whole(&tree, e.ty())
    }

    /// Applies an operator to the leaves of values, one after the other.
    fn each(&mut self, ty: &Type, of: &[(&Tree, &Type)], name: &str, make: impl Fn(&[Expr]) -> Expr) -> Tree {
        let leaves: Vec<Vec<Expr>> = of.iter().map(|(tree, ty)| self.leaves(tree, ty)).collect();
        let count = leaves[0].len();
        let made: Vec<Expr> = (0..count)
            .map(|k| {
                let arguments: Vec<Expr> = leaves.iter().map(|leaves| leaves[k].clone()).collect();
                self.bound(name, make(&arguments))
            })
            .collect();
        of_leaves(ty, &mut made.into_iter())
    }

    /// Returns the bindings and the leaves of the body of a function of an index, and the index.
    fn body(&mut self, f: &Expr) -> (Var, Vec<Binding>, Vec<Expr>) {
        let (i, body) = function(f);
        let j = self.supply.fresh(i.name(), i.ty().clone());
        self.env.insert(i.id(), Tree::Whole(Expr::var(&j)));
        let (bindings, leaves) = self.scope(|cx| {
            let tree = cx.block(body);
            cx.leaves(&tree, body.ty())
        });
        (j, bindings, leaves)
    }

    fn build(&mut self, e: &Expr, n: &Expr, f: &Expr, name: &str) -> Tree {
        let n = self.whole_term(n, name);
        let (i, bindings, leaves) = self.body(f);
        let is_late: Vec<bool> = leaves.iter().map(|leaf| self.is_late(&n) || self.is_late(leaf)).collect();
        self.in_groups(e.ty(), &is_late, name, |cx, group| {
            let f = cx.function_of(&i, &bindings, &leaves, group).at(f.span());
            let made = Expr::prim(Prim::Build, [n.clone(), f]).at(e.span());
            if group.len() == 1 { made } else { Expr::prim(Prim::Unzip, [made]) }
        })
    }

    fn sum_build(&mut self, e: &Expr, witness: &[Expr], n: &Expr, f: &Expr, name: &str) -> Tree {
        let n = self.whole_term(n, name);
        let witnesses: Vec<Vec<Expr>> = witness
            .iter()
            .map(|w| {
                let tree = self.term(w, name);
                self.leaves(&tree, w.ty())
            })
            .collect();
        let (i, bindings, leaves) = self.body(f);
        let is_late: Vec<bool> = leaves.iter().map(|leaf| self.is_late(&n) || self.is_late(leaf)).collect();
        self.in_groups(e.ty(), &is_late, name, |cx, group| {
            let f = cx.function_of(&i, &bindings, &leaves, group).at(f.span());
            let mut args: Vec<Expr> = witnesses.iter().map(|w| chosen_of(w, group)).collect();
            let of_numbers = chosen_of(&leaves, group).ty().clone();
            // Laws of sums give the zero of a witness.
            if args.is_empty() && of_numbers.has_fixed_shape() && of_numbers.tangent() == of_numbers {
                args.push(Expr::dummy(of_numbers));
            }
            args.extend([n.clone(), f]);
            Expr::prim(Prim::SumBuild, args).at(e.span())
        })
    }

    fn function_of(&mut self, i: &Var, bindings: &[Binding], leaves: &[Expr], group: &[usize]) -> Expr {
        let body = self.chosen(bindings, leaves, group);
        let j = self.supply.fresh(i.name(), i.ty().clone());
        let by = rustc_hash::FxHashMap::from_iter([(i.id(), Expr::var(&j))]);
        Expr::lam(j, lm::scope::substitute(&body, &by))
    }
}

/// Returns whether the parts of an operator's argument are those of its result.
fn same(argument: &Type, result: &Type, p: Prim) -> bool {
    let argument = match (p, argument) {
        (Prim::Sum, Type::Tensor(_, element)) => element,
        _ => argument,
    };
    leaf_types(argument).len() == leaf_types(result).len()
}

/// A step of a recurrence, in parts.
struct Step {
    i: Var,
    /// The leaves of the state before the step.
    state: Vec<Var>,
    bindings: Vec<Binding>,
    /// The leaves of the state after the step, then those of the output.
    leaves: Vec<Expr>,
    is_late: Vec<bool>,
}

/// Folds and loops.
impl Apart<'_> {
    fn recurrence(&mut self, p: Prim, f: &Expr, a: &Expr, v: &Expr, name: &str) -> Option<Tree> {
        let (start, elements) = (self.term(a, name), self.term(v, name));
        let element = |cx: &mut Self, i: &Expr, state: Tree| {
            let element = cx.element(i, &elements);
            Tree::Parts(vec![state, element])
        };
        let start = self.leaves(&start, a.ty());
        let size = self.size(&elements, v.ty());
        let n = self.bound("n", size);
        let step = self.step(f, a.ty(), &start, &n, &element, a.ty())?;
        let states = self.states(&step, &n, &start);
        let (early, late) = groups(&step.is_late);
        let late_start = chosen_of(&start, &late);
        let steps = self.steps(&n);
        let (early_part, late_part) = if p == Prim::Scanl {
            let f = self.step_of(&step, &late, Some((&early, &states)), false);
            (states, Expr::prim(p, [f, late_start, steps]))
        } else {
            let f = self.loop_of(&step, &late, &[], Some((&early, &states)));
            let looped = Expr::prim(Prim::Loop, [n.clone(), f, late_start, Expr::tuple([])]);
            (Expr::prim(Prim::Index, [n, states]), Expr::get(1, looped))
        };
        let result = if p == Prim::Scanl { Type::Tensor(1, a.ty().clone().into()) } else { a.ty().clone() };
        Some(self.in_groups(&result, &step.is_late, name, |_, group| {
            let part = if group == early { &early_part } else { &late_part };
            let is_unzipped = p == Prim::Scanl && group.len() > 1;
            if is_unzipped { Expr::prim(Prim::Unzip, [part.clone()]) } else { part.clone() }
        }))
    }

    /// Takes `$loop` apart. Its outputs are early only where its states are.
    fn iteration(&mut self, n: &Expr, f: &Expr, a: &Expr, w: &Expr, name: &str) -> Option<Tree> {
        let n = self.whole_term(n, name);
        let (start, witness) = (self.term(a, name), self.term(w, name));
        let (start, witness) = (self.leaves(&start, a.ty()), self.leaves(&witness, w.ty()));
        let element = |_: &mut Self, i: &Expr, state: Tree| Tree::Parts(vec![Tree::Whole(i.clone()), state]);
        let result = function(f).1.ty().clone();
        let step = self.step(f, a.ty(), &start, &n, &element, &result)?;
        let states = self.states(&step, &n, &start);
        let count = start.len();
        let (early, late) = groups(&step.is_late[..count]);
        let is_late = step.is_late.clone();
        Some(self.in_groups(&result, &is_late, name, |cx, group| {
            let (of_state, outputs): (Vec<usize>, Vec<usize>) = group.iter().partition(|k| **k < count);
            let given = (group.iter().any(|k| is_late[*k])).then_some((&early[..], &states));
            let carried = if given.is_some() { &late } else { &early };
            let f = cx.loop_of(&step, carried, &outputs, given);
            let w = together(&outputs.iter().map(|k| witness[k - count].clone()).collect::<Vec<_>>());
            let looped = Expr::prim(Prim::Loop, [n.clone(), f, chosen_of(&start, carried), w]);
            let looped = cx.bound("t", looped);
            let part = |of: usize, many: usize, k: usize| {
                let whole = Expr::get(of, looped.clone());
                if many == 1 { whole } else { Expr::get(k + 1, whole) }
            };
            let states = (0..of_state.len()).map(|k| part(1, of_state.len(), k));
            let all: Vec<Expr> = states.chain((0..outputs.len()).map(|k| part(2, outputs.len(), k))).collect();
            together(&all)
        }))
    }

    /// Returns a step in parts; `None` where all parts of the state are late, or none is.
    fn step(
        &mut self,
        f: &Expr,
        state: &Type,
        start: &[Expr],
        n: &Expr,
        argument: &dyn Fn(&mut Self, &Expr, Tree) -> Tree,
        result: &Type,
    ) -> Option<Step> {
        let (x, body) = function(f);
        let mut is_late: Vec<bool> = start.iter().map(|a| self.is_late(a) || self.is_late(n)).collect();
        loop {
            let i = self.supply.fresh("i", Type::Integer);
            let before: Vec<Var> = start.iter().map(|a| self.supply.fresh("s", a.ty().clone())).collect();
            self.late.extend(before.iter().zip(&is_late).filter(|(_, late)| **late).map(|(s, _)| s.id()));
            let tree = of_leaves(state, &mut before.iter().map(Expr::var));
            let (bindings, leaves) = self.scope(|cx| {
                let argument = argument(cx, &Expr::var(&i), tree);
                cx.env.insert(x.id(), argument);
                let tree = cx.block(body);
                cx.leaves(&tree, result)
            });
            let after: Vec<bool> = leaves
                .iter()
                .enumerate()
                .map(|(k, leaf)| self.is_late(leaf) || is_late.get(k).copied().unwrap_or_default())
                .collect();
            if after[..start.len()] == is_late[..] {
                let is_mixed = is_late.contains(&true) && is_late.contains(&false);
                return is_mixed.then_some(Step { i, state: before, bindings, leaves, is_late: after });
            }
            is_late = after[..start.len()].to_vec();
        }
    }

    fn steps(&mut self, n: &Expr) -> Expr {
        let k = self.supply.fresh("k", Type::Integer);
        self.bound("t", Expr::prim(Prim::Build, [n.clone(), Expr::lam(k.clone(), Expr::var(&k))]))
    }

    /// Returns the early states before each step, and after the last one.
    fn states(&mut self, step: &Step, n: &Expr, start: &[Expr]) -> Expr {
        let (early, _) = groups(&step.is_late[..start.len()]);
        let steps = self.steps(n);
        let f = self.step_of(step, &early, None, false);
        self.bound("s", Expr::prim(Prim::Scanl, [f, chosen_of(start, &early), steps]))
    }

    /// Returns λ(state, i). the state after step i.
    fn step_of(&mut self, step: &Step, carried: &[usize], given: Option<(&[usize], &Expr)>, is_loop: bool) -> Expr {
        self.function_on_state(step, carried, given, is_loop, |leaves| chosen_of(leaves, carried))
    }

    /// Returns λ(i, state). the state after step i, with outputs.
    fn loop_of(&mut self, step: &Step, carried: &[usize], outputs: &[usize], given: Option<(&[usize], &Expr)>) -> Expr {
        self.function_on_state(step, carried, given, true, |leaves| {
            Expr::tuple([chosen_of(leaves, carried), chosen_of(leaves, outputs)])
        })
    }

    fn function_on_state(
        &mut self,
        step: &Step,
        carried: &[usize],
        given: Option<(&[usize], &Expr)>,
        is_loop: bool,
        result: impl FnOnce(&[Expr]) -> Expr,
    ) -> Expr {
        let state = chosen_of(&step.state.iter().map(Expr::var).collect::<Vec<_>>(), carried).ty().clone();
        let parts = if is_loop { [Type::Integer, state] } else { [state, Type::Integer] };
        let p = self.supply.fresh("p", Type::tuple(parts));
        let (at_i, at_state) = if is_loop { (1, 2) } else { (2, 1) };
        let component = |k| Expr::get(k, Expr::var(&p));
        let mut bindings = vec![Binding { pattern: Pattern::Var(step.i.clone()), rhs: component(at_i) }];
        bindings.push(self.unpacked(step, carried, component(at_state)));
        if let Some((early, states)) = given {
            let at_i = Expr::prim(Prim::Index, [Expr::var(&step.i), states.clone()]);
            bindings.push(self.unpacked(step, early, at_i));
        }
        bindings.extend(step.bindings.iter().cloned());
        let result = result(&step.leaves);
        let body = Expr::block(super::needed(&bindings, std::slice::from_ref(&result)), result);
        lm::scope::renamed(&Expr::lam(p, body), self.supply)
    }

    fn unpacked(&mut self, step: &Step, group: &[usize], rhs: Expr) -> Binding {
        let vars: Vec<Var> = group.iter().map(|k| step.state[*k].clone()).collect();
        let pattern = if let [one] = vars.as_slice() { Pattern::Var(one.clone()) } else { Pattern::Tuple(vars) };
        Binding { pattern, rhs }
    }
}

fn groups(is_late: &[bool]) -> (Vec<usize>, Vec<usize>) {
    (0..is_late.len()).partition(|k| !is_late[*k])
}

fn chosen_of(leaves: &[Expr], group: &[usize]) -> Expr {
    together(&group.iter().map(|k| leaves[*k].clone()).collect::<Vec<_>>())
}

fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}
