//! Evaluates the reverse derivative of UNF as far as it goes: a sweep forward over the steps, then one backward.
//!
//! ```text
//! forward   a list of atoms: var_i and proj cost nothing, an operator binds its value
//! backward  a cotangent for each value, zero but for the last one's, dr
//!           y = op(x..)      z: the cotangent of y      x.. += (∂op(x..))^T ⊙ z
//!           y = (x1, ..)     x1 += z.1, ..              y = get_i(x)      x.i += z
//!           var_i            nothing: the value has one cotangent, under all its positions
//! ```
//!
//! A cotangent that is zero is known to be, so that `+=` on it is no addition, and a step whose value has none is skipped.
//! The cotangents of a tuple's components are kept apart until somebody asks for the tuple. What a step needs of the
//! values of others is there: nothing is computed twice. Calls, conditionals and loops keep [records](Piece).
//!
//! Source: *Denotationally correct ..*, Figs. 8 and 10, and sec. 5.1: Y is used once at each step (Lemma 5.1), so it can
//! be put in its place. As printed, the figures add to cotangents that are zero and multiply by 1, which the bound of
//! Theorem 5.4 does not allow for; and the sums of Fig. 10 over variables take all of those in scope, which makes `dot`
//! quadratic. Here a step has the cotangents of what occurs in it. Takes: UNF. Gives: bindings.

use super::Def;
use super::back::evaluated;
use lm::prim::{JacobianRule, Prim};
use lm::scope::free_variables;
use lm::term::{Binding, Expr, Kind, Op, Path, Pattern, Span, Supply, Var, place};
use rustc_hash::{FxHashMap, FxHashSet};

/// A step that keeps a record: a call, a conditional, or an operator that takes functions.
pub struct Piece {
    /// The bindings of its value, and of what its cotangents need.
    pub values: Vec<Binding>,
    /// Its value, an atom.
    pub value: Expr,
    /// The cotangent of its value, a parameter of the next.
    pub dr: Var,
    /// The cotangents of the variables that it was asked for, as a tuple if there are several.
    pub cotangent: Expr,
}

/// Makes pieces.
pub trait Records {
    /// The reason why a step has none.
    type Error;

    /// Returns the variables that are new.
    fn supply(&mut self) -> &mut Supply;

    /// Returns the value and the cotangents of a step, a function of its free variables with respect to these of them.
    ///
    /// Errors: there is no derivative.
    fn piece(&mut self, rhs: &Expr, params: &[Var], varying: &[Path]) -> Result<Piece, Self::Error>;
}

/// The two sweeps.
pub struct Swept {
    /// The bindings of the forward sweep.
    pub values: Vec<Binding>,
    /// The value of the function, an atom.
    pub value: Expr,
    /// The bindings of the backward sweep.
    pub cotangents: Vec<Binding>,
    /// The cotangents of the parts of the argument that vary, as a tuple if there are several.
    pub cotangent: Expr,
}

/// Returns the two sweeps, with the cotangent `dr` of the result; parts of the argument that vary are given by paths.
///
/// Errors: those of the records.
pub fn swept<R: Records>(def: &Def, varying: &[Path], dr: &Var, records: &mut R) -> Result<Swept, R::Error> {
    let (bindings, result) = evaluated(def, records.supply());
    let begins = |i: usize| varying.iter().any(|path| path[0] == i + 1);
    let varies = |(i, x): &(usize, &Var)| begins(*i) && x.ty().is_differentiable();
    let active = def.params.iter().enumerate().filter(varies).map(|(_, x)| x.id()).collect();
    let cotangents = FxHashMap::default();
    let mut sweep = Sweep { records, active, values: vec![], taken: vec![], cotangents, out: vec![] };
    bindings.into_iter().try_for_each(|b| sweep.forward(b))?;
    sweep.add(&result, Cotangent::Value(Expr::var(dr)));
    while let Some((y, span, taken)) = sweep.taken.pop() {
        sweep.backward(&y, span, taken);
    }
    let parts: Vec<Expr> = varying.iter().map(|path| sweep.at(&def.params[path[0] - 1], &path[1..])).collect();
    let cotangent = if let [one] = &parts[..] { one.clone() } else { Expr::tuple(parts) };
    Ok(Swept { values: sweep.values, value: result, cotangents: sweep.out, cotangent })
}

/// A step, as the backward sweep takes it.
enum Taken {
    /// An operator on atoms.
    Operator(Expr),
    /// One with a record: the variables whose cotangents it gives, the cotangent that it takes, and the former.
    Piece(Vec<Var>, Var, Expr),
}

/// The cotangent of a value, as far as it is known not to be zero.
#[derive(Clone)]
enum Cotangent {
    /// An atom.
    Value(Expr),
    /// Those of the components of a tuple.
    Parts(Vec<Option<Cotangent>>),
}

struct Sweep<'a, R> {
    records: &'a mut R,
    /// The variables that depend on what varies.
    active: FxHashSet<u32>,
    values: Vec<Binding>,
    taken: Vec<(Var, Span, Taken)>,
    /// By variable.
    cotangents: FxHashMap<u32, Cotangent>,
    out: Vec<Binding>,
}

impl<R: Records> Sweep<'_, R> {
    fn forward(&mut self, b: Binding) -> Result<(), R::Error> {
        let Pattern::Var(y) = b.pattern.clone() else { panic!("UNF binds one value at a time") };
        let free = free_variables(&b.rhs);
        let varying: Vec<usize> = (0..free.len()).filter(|i| self.active.contains(&free[*i].id())).collect();
        if varying.is_empty() || !y.ty().is_differentiable() || is_constant(&b.rhs) {
            self.values.push(b);
            return Ok(());
        }
        self.active.insert(y.id());
        let span = b.rhs.span();
        if is_operator(&b.rhs) {
            self.taken.push((y, span, Taken::Operator(b.rhs.clone())));
            self.values.push(b);
            return Ok(());
        }
        let paths: Vec<Path> = varying.iter().map(|i| vec![i + 1]).collect();
        let Piece { values, value, dr, cotangent } = self.records.piece(&b.rhs, &free, &paths)?;
        let varying = varying.into_iter().map(|i| free[i].clone()).collect();
        self.values.extend(values);
        self.values.push(Binding { pattern: b.pattern, rhs: value });
        self.taken.push((y, span, Taken::Piece(varying, dr, cotangent)));
        Ok(())
    }

    fn backward(&mut self, y: &Var, span: Span, taken: Taken) {
        let Some(z) = self.cotangents.remove(&y.id()) else { return };
        let before = self.out.len();
        match taken {
            Taken::Operator(rhs) => self.operator(y, &rhs, z),
            Taken::Piece(varying, dr, cotangent) => {
                let rhs = self.whole(&Expr::var(y), Some(z));
                self.out.push(Binding { pattern: Pattern::Var(dr), rhs });
                self.add_all(&varying.iter().map(Expr::var).collect::<Vec<_>>(), cotangent);
            }
        }
        place(&mut self.out[before..], span);
    }

    fn operator(&mut self, y: &Var, rhs: &Expr, z: Cotangent) {
        let Kind::App(op, args) = rhs.kind() else { panic!("UNF: a step that is no operator: {rhs:?}") };
        match op {
            Op::Tuple => {
                let parts = self.parts(z, args.len());
                args.iter().zip(parts).for_each(|(x, z)| {
                    if let Some(z) = z {
                        self.add(x, z);
                    }
                });
            }
            Op::Get(i, n) => {
                let mut parts: Vec<Option<Cotangent>> = (0..*n).map(|_| None).collect();
                parts[i - 1] = Some(z);
                self.add(&args[0], Cotangent::Parts(parts));
            }
            Op::Assert => self.add(&args[1], z),
            Op::Prim(p) => {
                let z = self.whole(&Expr::var(y), Some(z));
                let map = Expr::app(Op::JacobianOf(*p), args.clone());
                let applied = Expr::prim(Prim::LmApply, [Expr::prim(Prim::LmTranspose, [map]), z]);
                self.add_all(args, applied);
            }
            _ => panic!("UNF: an operator without a rule: {rhs:?}"),
        }
    }

    /// Adds the components of a cotangent to those of atoms; a single one is added whole.
    fn add_all(&mut self, atoms: &[Expr], z: Expr) {
        if let [one] = atoms {
            let z = self.named(one, z);
            return self.add(one, Cotangent::Value(z));
        }
        let names: Vec<Var> = atoms.iter().map(|x| self.fresh(x)).collect();
        self.out.push(Binding { pattern: Pattern::Tuple(names.clone()), rhs: z });
        atoms.iter().zip(&names).for_each(|(x, z)| self.add(x, Cotangent::Value(Expr::var(z))));
    }

    /// Adds to the cotangent of an atom.
    fn add(&mut self, atom: &Expr, z: Cotangent) {
        let Some(x) = atom.as_var().filter(|x| self.active.contains(&x.id())) else { return };
        let so_far = self.cotangents.remove(&x.id());
        let sum = self.sum(atom, so_far, z);
        self.cotangents.insert(x.id(), sum);
    }

    fn sum(&mut self, of: &Expr, a: Option<Cotangent>, b: Cotangent) -> Cotangent {
        match (a, b) {
            (None, b) => b,
            (Some(Cotangent::Value(a)), Cotangent::Value(b)) => {
                let sum = self.named(of, Expr::prim(Prim::Add, [a, b]));
                Cotangent::Value(sum)
            }
            (Some(a), b) => {
                let n = of.ty().as_tuple().expect("components are those of a tuple").len();
                let [a, b] = [a, b].map(|z| self.parts(z, n));
                let part = |(i, pair): (usize, (Option<Cotangent>, Option<Cotangent>))| match pair {
                    (a, None) => a,
                    (a, Some(b)) => Some(self.sum(&Expr::get(i + 1, of.clone()), a, b)),
                };
                Cotangent::Parts(a.into_iter().zip(b).enumerate().map(part).collect())
            }
        }
    }

    fn parts(&mut self, z: Cotangent, n: usize) -> Vec<Option<Cotangent>> {
        match z {
            Cotangent::Parts(parts) => parts,
            Cotangent::Value(z) => (1..=n)
                .map(|i| {
                    let part = Expr::get(i, z.clone());
                    let name = self.records.supply().fresh("d", part.ty().clone());
                    self.out.push(Binding { pattern: Pattern::Var(name.clone()), rhs: part });
                    Some(Cotangent::Value(Expr::var(&name)))
                })
                .collect(),
        }
    }

    /// Returns a cotangent of a value as a term.
    fn whole(&mut self, of: &Expr, z: Option<Cotangent>) -> Expr {
        match z {
            None => Expr::prim(Prim::ZeroOf, [Expr::witness(of)]),
            Some(Cotangent::Value(z)) => z,
            Some(Cotangent::Parts(parts)) => {
                let part = |(i, z): (usize, Option<Cotangent>)| self.whole(&Expr::get(i + 1, of.clone()), z);
                Expr::tuple(parts.into_iter().enumerate().map(part).collect::<Vec<_>>())
            }
        }
    }

    /// Returns the cotangent of a part of a parameter.
    fn at(&mut self, x: &Var, path: &[usize]) -> Expr {
        let (mut of, mut z) = (Expr::var(x), self.cotangents.get(&x.id()).cloned());
        for i in path {
            let n = of.ty().as_tuple().expect("a path leads through tuples").len();
            z = z.and_then(|z| self.parts(z, n).swap_remove(i - 1));
            of = Expr::get(*i, of);
        }
        self.whole(&of, z)
    }

    fn fresh(&mut self, of: &Expr) -> Var {
        let name = of.as_var().map_or("d".into(), |x| format!("d_{}", x.name()));
        self.records.supply().fresh(&name, of.ty().tangent())
    }

    /// Returns a name for a cotangent.
    fn named(&mut self, of: &Expr, z: Expr) -> Expr {
        let x = self.fresh(of);
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: z });
        Expr::var(&x)
    }
}

/// Returns whether the value of a term does not change, whatever its arguments do.
fn is_constant(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(p), _) => matches!(p.jacobian(), JacobianRule::Zero),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether the cotangents of a term are those of an operator, which keeps no record.
fn is_operator(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Tuple | Op::Get(..) | Op::Assert, _) => true,
        Kind::App(Op::Prim(p), _) => matches!(p.jacobian(), JacobianRule::Law(_)),
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => false,
    }
}
