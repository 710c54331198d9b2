//! Range analysis: derives what sizes, loops, conditionals and checks say about Integers, as inequalities of linear
//! forms.
//!
//! ```text
//! i in 0..n            0 <= i, i + 1 <= n               in the loop
//! i in 0..z            z = x, where z is x or 0         in the loop
//! if lt i j            i + 1 <= j, or j <= i            in the branches
//! check below i n      0 <= i, i + 1 <= n               after it
//! z = add.i x y        z = x + y
//! ```
//!
//! The forms are over mathematical Integers, operations on 64 bits wrap. So a sum, difference or multiple counts as a
//! form only if it is known to fit into 64 bits. That follows from the ranges of its locals (a size is at most 2^40),
//! or from facts: i + k fits if i <= n - m and k < m. Otherwise it is a local of its own, equal to the form if the
//! locals at fault are within 2^40. That is an assumption, which loops with two versions check (`loop_versioning`).

mod compute;
mod conditions;
mod facts;
mod linear;

pub use facts::{ASSUMED, Assumed};
pub use linear::Linear;
use linear::difference;

use crate::ir::{Block, For, Function, Local, LocalInfo, MOST_ELEMENTS, Op, Operand, Scalar, Stmt};
use facts::{ALL, Facts, Range};
use rustc_hash::FxHashMap;

/// Holds what is known of Integers at one place of a function.
#[derive(Default)]
pub struct Ranges {
    /// For each local, whether it is an Integer, and whether it is a size.
    locals: Vec<[bool; 2]>,
    facts: Facts,
    /// Integers that are linear forms of others.
    forms: FxHashMap<Local, Linear>,
    /// The operations that give Bools.
    conditions: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// Integers that a conditional gives.
    choices: FxHashMap<Local, [Operand; 3]>,
    /// What each of them is in the two cases, where locals that are in scope after the conditional say so.
    cases: FxHashMap<Local, [Option<Linear>; 2]>,
}

/// A place to go back to.
pub struct Mark((usize, usize));

/// How many conditionals are looked into at once.
const CASES: usize = 2;

impl Ranges {
    /// At the start of a function.
    pub fn new(function: &Function) -> Ranges {
        let mut ranges = Ranges::default();
        ranges.know(&function.locals);
        function.params.iter().for_each(|x| ranges.meet(*x, ALL));
        ranges
    }

    /// The locals of the function, where there are more of them by now.
    pub fn know(&mut self, locals: &[LocalInfo]) {
        let new = locals.iter().skip(self.locals.len());
        self.locals.extend(new.map(|info| [info.ty == Scalar::Integer.ty(), info.is_size]));
    }

    /// To be given to [`Ranges::back_to`] at the end of a block.
    pub fn mark(&self) -> Mark {
        Mark(self.facts.now())
    }

    /// Forgets what holds only in the block that ends.
    pub fn back_to(&mut self, Mark(then): Mark) {
        self.facts.forget_since(then);
    }

    /// Learns what holds after a statement, its blocks aside.
    pub fn learn_from(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(x, op, args) => self.define(*x, *op, args),
            Stmt::If(xs, condition, then, other) => {
                for (x, (a, b)) in xs.iter().zip(then.results.iter().zip(&other.results)) {
                    if self.is_integer(*x) {
                        self.learn_choice(*x, condition, a, b);
                        self.cases.insert(*x, [self.form_outside(a, then), self.form_outside(b, other)]);
                    }
                }
            }
            Stmt::Check { condition, .. } => self.learn(condition, true),
            Stmt::Call(..)
            | Stmt::For(_)
            | Stmt::Bench { .. }
            | Stmt::External { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => stmt.targets().into_iter().for_each(|x| self.meet(x, ALL)),
        }
    }

    /// Learns what holds at the start of a statement's i-th block.
    pub fn enter(&mut self, stmt: &Stmt, i: usize) {
        stmt.bound().into_iter().for_each(|x| self.meet(x, ALL));
        match stmt {
            Stmt::If(_, condition, _, _) => self.learn(condition, i == 0),
            Stmt::For(looped) => self.enter_loop(looped),
            _ => {}
        }
    }

    fn enter_loop(&mut self, looped: &For) {
        let [from, to] = [&looped.from, &looped.to].map(|a| self.form(a));
        let range = (self.facts.range_of(&from).0, self.facts.range_of(&to).1.saturating_sub(1));
        self.meet(looped.index, (range.0.max(ALL.0), range.1.min(ALL.1)));
        let index = Linear::local(looped.index);
        self.at_most(&from, &index);
        index.shifted(1).iter().for_each(|next| self.at_most(next, &to));
        self.learn_limit(looped);
        for (i, (x, init)) in looped.carried.iter().enumerate() {
            if let Some(step) = step(*x, &looped.body.results[i], looped)
                && let Some(form) = self.run(&from, &index, init, step)
                && self.fits(&form)
            {
                self.forms.insert(*x, form);
            }
        }
    }

    /// Where the limit of a loop is one of two, and one of them leaves no iteration, it is the other one.
    fn learn_limit(&mut self, looped: &For) {
        let Some(to) = looped.to.local() else { return };
        let (Some(choice), Some(cases)) = (self.choices.get(&to).cloned(), self.cases.get(&to).cloned()) else {
            return;
        };
        let ([condition, then, other], [first, second]) = (choice, cases);
        let next = Linear::local(looped.index).shifted(1).expect("it is small");
        for (none, limit, holds) in [(&then, second, false), (&other, first, true)] {
            if self.ordered(none, &looped.from, 0, CASES) {
                self.learn(&condition, holds);
                limit.iter().for_each(|limit| self.at_most(&next, limit));
            }
        }
    }

    /// Returns a result of a block as a form of locals that are in scope after it, where it is one.
    fn form_outside(&self, result: &Operand, block: &Block) -> Option<Linear> {
        let form = self.form(result);
        let is_inside = |x: Local| block.stmts.iter().any(|stmt| stmt.targets().contains(&x));
        (!form.terms().iter().any(|(x, _)| is_inside(*x))).then_some(form)
    }

    /// Returns whether one Integer is known to be no more than another.
    pub fn is_at_most(&mut self, a: &Operand, b: &Operand) -> bool {
        self.ordered(a, b, 0, CASES)
    }

    /// Returns whether an Integer is known to be an index of so many elements.
    pub fn is_index(&mut self, x: &Operand, size: &Operand) -> bool {
        self.ordered(&Operand::Integer(0), x, 0, CASES) && self.ordered(x, size, 1, CASES)
    }

    /// Returns an Integer as a form.
    pub fn form(&self, a: &Operand) -> Linear {
        match a {
            Operand::Integer(i) => Linear::constant(i128::from(*i)),
            Operand::Local(x) => self.forms.get(x).cloned().unwrap_or_else(|| Linear::local(*x)),
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => panic!("no Integer: {a:?}"),
        }
    }

    fn is_integer(&self, x: Local) -> bool {
        self.locals[x.0 as usize][0]
    }

    fn meet(&mut self, x: Local, range: Range) {
        if self.is_integer(x) {
            let is_size = self.locals[x.0 as usize][1];
            let range = if is_size { (range.0.max(0), range.1.min(i128::from(MOST_ELEMENTS))) } else { range };
            self.facts.meet(x, range);
        }
    }

    fn define(&mut self, x: Local, op: Op, args: &[Operand]) {
        if op.result() == Scalar::Bool {
            self.conditions.insert(x, (op, args.to_vec()));
            return;
        }
        self.meet(x, ALL);
        match (op, args) {
            (Op::AddI, [a, b]) => self.learn_exact(x, self.form(a).plus(&self.form(b))),
            (Op::SubI, [a, b]) => self.learn_exact(x, self.form(a).minus(&self.form(b))),
            (Op::NegI, [a]) => self.learn_exact(x, self.form(a).times(-1)),
            (Op::MulI, [a, b]) => self.learn_product(x, a, b),
            (Op::DivI, [a, Operand::Integer(k)]) if *k > 0 => self.learn_quotient(x, a, i128::from(*k)),
            (Op::Count, _) => self.meet(x, (0, ALL.1)),
            _ => {}
        }
    }

    /// x is the form, where that fits.
    fn learn_exact(&mut self, x: Local, form: Option<Linear>) {
        let Some(form) = form else { return };
        if self.fits(&form) {
            self.forms.insert(x, form);
            return;
        }
        // It fits if what is unknown of its locals is assumed.
        let wide: Assumed = form.terms().iter().map(|(y, _)| *y).filter(|y| !self.is_within(*y)).collect();
        let most = form.terms().iter().map(|(_, k)| k.abs().saturating_mul(ASSUMED));
        let most = most.fold(form.at_zero().abs(), i128::saturating_add);
        if most <= ALL.1
            && let Some(difference) = form.minus(&Linear::local(x))
        {
            self.facts.add(&difference, wide.clone());
            difference.times(-1).iter().for_each(|difference| self.facts.add(difference, wide.clone()));
        }
    }

    /// Returns whether a local is known to be within what can be assumed, if not those that it was computed from.
    pub fn has_value_within(&self, x: Local) -> bool {
        let form = self.form(&Operand::Local(x));
        [1, -1].into_iter().all(|k| {
            let beyond = form.times(k).and_then(|form| form.shifted(-ASSUMED));
            beyond.is_some_and(|beyond| self.facts.proven(&beyond, false).is_some())
        })
    }

    /// Returns whether a local is known to be within what can be assumed.
    pub fn is_within(&self, x: Local) -> bool {
        let (least, most) = self.facts.range(x);
        let at_most = |k: i128| {
            let form = Linear::local(x).times(k).and_then(|form| form.shifted(-ASSUMED));
            form.is_some_and(|form| self.facts.proven(&form, false).is_some())
        };
        (-ASSUMED <= least || at_most(-1)) && (most <= ASSUMED || at_most(1))
    }

    fn learn_product(&mut self, x: Local, a: &Operand, b: &Operand) {
        let (a, b) = (self.form(a), self.form(b));
        match (a.as_constant(), b.as_constant()) {
            (Some(k), _) => self.learn_exact(x, b.times(k)),
            (None, Some(k)) => self.learn_exact(x, a.times(k)),
            (None, None) => {
                let ((a, b), (c, d)) = (self.facts.range_of(&a), self.facts.range_of(&b));
                let products = [(a, c), (a, d), (b, c), (b, d)].map(|(a, b)| a.saturating_mul(b));
                let (least, most) = (products.into_iter().min(), products.into_iter().max());
                let range = (least.expect("there are four"), most.expect("there are four"));
                if ALL.0 <= range.0 && range.1 <= ALL.1 {
                    self.meet(x, range);
                }
            }
        }
    }

    /// x = a / k, truncated: for a that is not negative, k x <= a < k x + k.
    fn learn_quotient(&mut self, x: Local, a: &Operand, k: i128) {
        let form = self.form(a);
        let (least, most) = self.facts.range_of(&form);
        self.meet(x, (least.max(ALL.0) / k, most.min(ALL.1) / k));
        if self.ordered(&Operand::Integer(0), a, 0, CASES)
            && let Some(multiple) = Linear::local(x).times(k)
        {
            self.facts.add(&Linear::local(x).times(-1).expect("it is small"), vec![]);
            self.at_most(&multiple, &form);
            multiple.shifted(k - 1).iter().for_each(|most| self.at_most(&form, most));
        }
    }

    fn learn_choice(&mut self, x: Local, condition: &Operand, then: &Operand, other: &Operand) {
        let [(a, b), (c, d)] = [then, other].map(|arm| self.facts.range_of(&self.form(arm)));
        self.meet(x, (a.min(c).max(ALL.0), b.max(d).min(ALL.1)));
        self.choices.insert(x, [condition.clone(), then.clone(), other.clone()]);
    }

    /// Returns what is carried from `init` on, a step further each time: init + step (i - from).
    fn run(&self, from: &Linear, index: &Linear, init: &Operand, step: i128) -> Option<Linear> {
        self.form(init).plus(&index.minus(from)?.times(step)?)
    }

    fn fits(&mut self, form: &Linear) -> bool {
        let (least, most) = self.facts.range_of(form);
        let below = ALL.0 <= least || self.is_not_positive(form.times(-1).and_then(|e| e.shifted(ALL.0)));
        below && (most <= ALL.1 || self.is_not_positive(form.shifted(-ALL.1)))
    }

    /// Returns whether there is a form, and it cannot be positive.
    pub fn is_not_positive(&mut self, form: Option<Linear>) -> bool {
        form.is_some_and(|form| self.not_positive(&form, CASES))
    }

    fn at_most(&mut self, a: &Linear, b: &Linear) {
        a.minus(b).iter().for_each(|difference| self.facts.add(difference, vec![]));
    }

    /// a + gap <= b, from here on.
    fn order(&mut self, a: &Operand, b: &Operand, gap: i128) {
        difference(self.form(a), self.form(b), gap).iter().for_each(|form| self.facts.add(form, vec![]));
    }

    /// Returns whether a + gap <= b.
    fn ordered(&mut self, a: &Operand, b: &Operand, gap: i128, cases: usize) -> bool {
        difference(self.form(a), self.form(b), gap).is_some_and(|form| self.not_positive(&form, cases))
    }

    /// Returns whether the form cannot be positive; where it has a choice, whether so in both cases.
    fn not_positive(&mut self, form: &Linear, cases: usize) -> bool {
        if self.facts.proven(form, false).is_some() {
            return true;
        }
        let choice = form.terms().iter().map(|(x, _)| *x).rfind(|x| self.choices.contains_key(x));
        let Some(x) = choice.filter(|_| cases > 0) else { return false };
        let [condition, then, other] = self.choices[&x].clone();
        [(then, true), (other, false)].iter().all(|(arm, holds)| {
            let mark = self.mark();
            self.learn(&condition, *holds);
            let form = form.with(x, &self.form(arm));
            let proven = form.is_some_and(|form| self.not_positive(&form, cases - 1));
            self.back_to(mark);
            proven
        })
    }
}

/// Returns the number that is added to what is carried, in each iteration.
fn step(carried: Local, next: &Operand, looped: &For) -> Option<i128> {
    let next = next.local()?;
    looped.body.stmts.iter().find_map(|stmt| match stmt {
        Stmt::Let(x, Op::AddI, args) if *x == next => match &args[..] {
            [Operand::Local(y), Operand::Integer(k)] | [Operand::Integer(k), Operand::Local(y)] if *y == carried => {
                Some(i128::from(*k))
            }
            _ => None,
        },
        _ => None,
    })
}
