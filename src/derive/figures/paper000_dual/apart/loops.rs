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
            (Prim::CommonSize, [_, _]) => {
                let tensors = [0, 1].map(|k| {
                    let tree = self.term(&args[k], name);
                    self.of_the_size(&tree, args[k].ty())
                });
                Tree::Whole(self.bound(name, Expr::prim(p, tensors).at(e.span())))
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

    pub(super) fn whole_term(&mut self, e: &Expr, name: &str) -> Expr {
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
            // Laws of sums give the zero of a witness. Early sums are those of the program.
            if args.is_empty()
                && is_late[group[0]]
                && of_numbers.has_fixed_shape()
                && of_numbers.tangent() == of_numbers
            {
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
    /// The leaves of the element that the step reads.
    elements: Vec<Var>,
    /// The vectors that these are read from; none for the number of the step itself.
    vectors: Option<Vec<Expr>>,
    /// The leaves of the state before the step.
    state: Vec<Var>,
    bindings: Vec<Binding>,
    /// The leaves of the state after the step, then those of the output.
    leaves: Vec<Expr>,
    is_late: Vec<bool>,
}

/// The function of a recurrence, before it is taken apart.
struct Recurrence<'a> {
    f: &'a Expr,
    n: &'a Expr,
    /// The leaves of the first state.
    start: &'a [Expr],
    state: &'a Type,
    element: &'a Type,
    vectors: Option<Vec<Expr>>,
    /// Whether the argument is (i, state), and not (state, element).
    is_loop: bool,
}

/// Folds and loops.
impl Apart<'_> {
    fn recurrence(&mut self, p: Prim, f: &Expr, a: &Expr, v: &Expr, name: &str) -> Option<Tree> {
        let (start, elements) = (self.term(a, name), self.term(v, name));
        let start = self.leaves(&start, a.ty());
        let size = self.size(&elements, v.ty());
        let n = self.bound("n", size);
        let Type::Tensor(_, element) = v.ty() else { panic!("{v:?} is no tensor") };
        let vectors = Some(self.leaves(&elements, v.ty()));
        let of = Recurrence { f, n: &n, start: &start, state: a.ty(), element, vectors, is_loop: false };
        let step = self.step(of)?;
        let states = self.states(&step, &n, &start);
        let (early, late) = groups(&step.is_late);
        let late_start = chosen_of(&start, &late);
        let (early_part, late_part) = if p == Prim::Scanl {
            let f =
                self.function_on_state(&step, &late, Some((&early, &states)), false, |leaves| chosen_of(leaves, &late));
            let steps = self.steps(&n);
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
        let of = Recurrence {
            f,
            n: &n,
            start: &start,
            state: a.ty(),
            element: &Type::Integer,
            vectors: None,
            is_loop: true,
        };
        let step = self.step(of)?;
        let states = self.states(&step, &n, &start);
        let (early, late) = groups(&step.is_late[..start.len()]);
        let result = function(f).1.ty().clone();
        Some(self.in_groups(&result, &step.is_late, name, |cx, group| {
            let is_late = group.iter().any(|k| step.is_late[*k]);
            let (carried, given) = if is_late { (&late, Some((&early[..], &states))) } else { (&early, None) };
            cx.part_of_loop(&step, &n, (&start, &witness), group, carried, given)
        }))
    }

    /// Returns the leaves of a group of `$loop`: states, then outputs.
    fn part_of_loop(
        &mut self,
        step: &Step,
        n: &Expr,
        (start, witness): (&[Expr], &[Expr]),
        group: &[usize],
        carried: &[usize],
        given: Option<(&[usize], &Expr)>,
    ) -> Expr {
        let (states, outputs): (Vec<usize>, Vec<usize>) = group.iter().partition(|k| **k < start.len());
        let f = self.loop_of(step, carried, &outputs, given);
        let w = together(&outputs.iter().map(|k| witness[k - start.len()].clone()).collect::<Vec<_>>());
        let looped = Expr::prim(Prim::Loop, [n.clone(), f, chosen_of(start, carried), w]);
        let looped = self.bound("t", looped);
        let part = |of: usize, many: usize, k: usize| {
            let whole = Expr::get(of, looped.clone());
            if many == 1 { whole } else { Expr::get(k + 1, whole) }
        };
        let of_states = (0..states.len()).map(|k| part(1, states.len(), k));
        together(&of_states.chain((0..outputs.len()).map(|k| part(2, outputs.len(), k))).collect::<Vec<_>>())
    }

    /// Returns a step in parts; `None` where all parts of the state are late, or none is.
    fn step(&mut self, of: Recurrence) -> Option<Step> {
        let mut is_late: Vec<bool> = of.start.iter().map(|a| self.is_late(a) || self.is_late(of.n)).collect();
        loop {
            let step = self.step_from(&of, &is_late);
            let after = &step.is_late[..of.start.len()];
            if after == is_late {
                let is_mixed = is_late.contains(&true) && is_late.contains(&false);
                return is_mixed.then_some(step);
            }
            is_late = after.to_vec();
        }
    }

    /// Returns a step in parts, from a state of which these leaves are late.
    fn step_from(&mut self, of: &Recurrence, is_late: &[bool]) -> Step {
        let i = self.supply.fresh("i", Type::Integer);
        let state: Vec<Var> = of.start.iter().map(|a| self.supply.fresh("s", a.ty().clone())).collect();
        let elements: Vec<Var> = leaf_types(of.element).into_iter().map(|ty| self.supply.fresh("x", ty)).collect();
        self.late.extend(state.iter().zip(is_late).filter(|(_, late)| **late).map(|(s, _)| s.id()));
        let late_vectors = of.vectors.iter().flat_map(|vectors| elements.iter().zip(vectors));
        let late: Vec<u32> = late_vectors.filter(|(_, v)| self.is_late(v)).map(|(x, _)| x.id()).collect();
        self.late.extend(late);
        let (x, body) = function(of.f);
        let [state_tree, element_tree] = [(of.state, &state), (of.element, &elements)]
            .map(|(ty, leaves)| of_leaves(ty, &mut leaves.iter().map(Expr::var)));
        let argument = if of.is_loop { vec![element_tree, state_tree] } else { vec![state_tree, element_tree] };
        self.env.insert(x.id(), Tree::Parts(argument));
        let (bindings, leaves) = self.scope(|cx| {
            let tree = cx.block(body);
            cx.leaves(&tree, body.ty())
        });
        let was_late = |k: usize| is_late.get(k).copied().unwrap_or_default();
        let is_late = leaves.iter().enumerate().map(|(k, leaf)| self.is_late(leaf) || was_late(k)).collect();
        Step { i, elements, vectors: of.vectors.clone(), state, bindings, leaves, is_late }
    }

    fn steps(&mut self, n: &Expr) -> Expr {
        let k = self.supply.fresh("k", Type::Integer);
        self.bound("t", Expr::prim(Prim::Build, [n.clone(), Expr::lam(k.clone(), Expr::var(&k))]))
    }

    /// Returns the early states before each step, and after the last one. An early vector of elements is read as it is.
    fn states(&mut self, step: &Step, n: &Expr, start: &[Expr]) -> Expr {
        let (early, _) = groups(&step.is_late[..start.len()]);
        let vectors = step.vectors.iter().flat_map(|vectors| step.elements.iter().zip(vectors));
        let read: Vec<(&Var, &Expr)> = vectors.filter(|(x, _)| !self.is_late(&Expr::var(x))).collect();
        let (vector, read) = match read.as_slice() {
            [(x, vector)] => ((*vector).clone(), Some(*x)),
            _ => (self.steps(n), None),
        };
        let state = chosen_of(&step.state.iter().map(Expr::var).collect::<Vec<_>>(), &early);
        let Type::Tensor(_, element) = vector.ty() else { panic!("{vector:?} is no tensor") };
        let p = self.supply.fresh("p", Type::tuple([state.ty().clone(), (**element).clone()]));
        let second = Pattern::Var(read.unwrap_or(&step.i).clone());
        let mut bindings = vec![unpacked(step, &early, Expr::get(1, Expr::var(&p)))];
        bindings.push(Binding { pattern: second, rhs: Expr::get(2, Expr::var(&p)) });
        if read.is_none() {
            bindings.extend(elements(step));
        }
        let f = self.closed(p, bindings, step, chosen_of(&step.leaves, &early));
        self.bound("s", Expr::prim(Prim::Scanl, [f, chosen_of(start, &early), vector]))
    }

    /// Returns λ(i, state). the state after step i, with outputs.
    fn loop_of(&mut self, step: &Step, carried: &[usize], outputs: &[usize], given: Option<(&[usize], &Expr)>) -> Expr {
        self.function_on_state(step, carried, given, true, |leaves| {
            Expr::tuple([chosen_of(leaves, carried), chosen_of(leaves, outputs)])
        })
    }

    /// Returns a function of (i, state), or of (state, i), which reads the other states from a tensor.
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
        bindings.push(unpacked(step, carried, component(at_state)));
        if let Some((early, states)) = given {
            bindings.push(unpacked(step, early, Expr::prim(Prim::Index, [Expr::var(&step.i), states.clone()])));
        }
        bindings.extend(elements(step));
        self.closed(p, bindings, step, result(&step.leaves))
    }

    /// Returns λp. a step, after what binds its variables.
    fn closed(&mut self, p: Var, mut bindings: Vec<Binding>, step: &Step, result: Expr) -> Expr {
        bindings.extend(step.bindings.iter().cloned());
        let body = Expr::block(super::needed(&bindings, std::slice::from_ref(&result)), result);
        lm::scope::renamed(&Expr::lam(p, body), self.supply)
    }
}

/// Returns bindings of the elements that a step reads.
fn elements(step: &Step) -> Vec<Binding> {
    let i = Expr::var(&step.i);
    let of = |(k, x): (usize, &Var)| {
        let rhs = match &step.vectors {
            Some(vectors) => Expr::prim(Prim::Index, [i.clone(), vectors[k].clone()]),
            None => i.clone(),
        };
        Binding { pattern: Pattern::Var(x.clone()), rhs }
    };
    step.elements.iter().enumerate().map(of).collect()
}

fn unpacked(step: &Step, group: &[usize], rhs: Expr) -> Binding {
    let vars: Vec<Var> = group.iter().map(|k| step.state[*k].clone()).collect();
    let pattern = if let [one] = vars.as_slice() { Pattern::Var(one.clone()) } else { Pattern::Tuple(vars) };
    Binding { pattern, rhs }
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
