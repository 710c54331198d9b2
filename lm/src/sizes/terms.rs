//! Sizes as terms: the number at a place of the arguments, and the condition that the relations hold.

use super::polynomial::{Atom, Polynomial};
use super::relation::{Place, Relation, Step};
use super::signature::Signature;
use super::sized_type::SizedType;
use crate::prim::Prim;
use crate::term::{Expr, Supply, Var};
use crate::types::Type;

impl Signature {
    /// Returns what a size variable is, as a term on the arguments, which are atoms.
    pub fn number_of(&self, variable: &str, args: &[Expr]) -> Option<Expr> {
        let (place, number) = self.number(variable)?;
        let here = number_at(place, args);
        Some(self.term(number, &here, args))
    }

    /// Returns a polynomial of size variables as a term on the arguments, which are atoms.
    pub fn size_term(&self, size: &Polynomial, args: &[Expr]) -> Expr {
        self.term(size, &Expr::integer(0), args)
    }

    /// Returns the sizes in the arguments that others are equal to, each with that term: for numbers that every call
    /// has.
    pub fn equal_sizes(&self, args: &[Expr]) -> Vec<(Expr, Expr)> {
        let one = |relation: &Relation| match relation {
            Relation::Equal(place, size) if place.is_one() => {
                Some((number_at(place, args), self.size_term(size, args)))
            }
            Relation::Equal(..) | Relation::Below(..) | Relation::Natural(_) => None,
        };
        self.relations().iter().filter_map(one).collect()
    }

    /// Returns the parameters that are indices, by number, with the sizes that they are below.
    pub fn limits(&self, args: &[Expr]) -> Vec<(usize, Expr)> {
        let limit = |(i, (_, ty)): (usize, &(_, SizedType))| {
            let SizedType::Index(sizes) = ty else { return None };
            let mut sizes: Vec<Expr> = sizes.iter().map(|n| self.size_term(n, args)).collect();
            Some((i, if sizes.len() == 1 { sizes.remove(0) } else { Expr::tuple(sizes) }))
        };
        self.params.iter().enumerate().filter_map(limit).collect()
    }

    /// Returns the condition that some of the relations hold of the arguments, which are atoms; `None` where those are
    /// none. Sizes that differ, or are negative, and indices out of range are errors of their own, which tell them.
    pub fn condition<'a>(
        &'a self,
        relations: impl IntoIterator<Item = &'a Relation>,
        args: &[Expr],
        supply: &mut Supply,
    ) -> Option<Expr> {
        let conditions = relations.into_iter().map(|r| self.holds(r, args, supply));
        conditions.reduce(|a, b| Expr::prim(Prim::And, [a, b]))
    }

    /// Returns the condition that a value, an atom, has the sizes of the result.
    pub fn condition_of_result(&self, result: &Expr, args: &[Expr], supply: &mut Supply) -> Option<Expr> {
        let mut conditions = Vec::new();
        let place = Place { param: 0, path: Vec::new(), dimension: None };
        super::relation::each_size(&self.result, &place, &mut |place, size, is_limit| {
            let size = self.size_term(size, args);
            conditions.push(at_each(&place.path, result, supply, &mut |e| {
                let number = number_of(e, place.dimension);
                if is_limit {
                    is_below(number, size.clone())
                } else {
                    Expr::prim(Prim::SameSize, [number, size.clone()])
                }
            }));
        });
        conditions.into_iter().reduce(|a, b| Expr::prim(Prim::And, [a, b]))
    }

    fn holds(&self, relation: &Relation, args: &[Expr], supply: &mut Supply) -> Expr {
        match relation {
            Relation::Natural(Atom::Variable(name)) => {
                let number = self.number_of(name, args).expect("a relation is about variables that arguments tell");
                Expr::prim(Prim::Lte, [Expr::integer(0), Expr::prim(Prim::AsSize, [number])])
            }
            Relation::Natural(Atom::Number(..)) => panic!("a relation is about size variables"),
            Relation::Equal(place, size) => {
                let size = self.size_term(size, args);
                at_each(&place.path, &args[place.param], supply, &mut |e| {
                    Expr::prim(Prim::SameSize, [number_of(e, place.dimension), size.clone()])
                })
            }
            Relation::Below(place, size) => {
                let size = self.size_term(size, args);
                at_each(&place.path, &args[place.param], supply, &mut |e| is_below(e.clone(), size.clone()))
            }
        }
    }

    fn term(&self, size: &Polynomial, here: &Expr, args: &[Expr]) -> Expr {
        let atom = |atom: &Atom| match atom {
            Atom::Variable(name) => self.number_of(name, args).expect("a size variable that arguments tell"),
            Atom::Number(..) => here.clone(),
        };
        let product = |(m, k): (&Vec<Atom>, i64)| {
            let factors = m.iter().map(atom).reduce(|a, b| Expr::prim(Prim::Mul, [a, b]));
            match (factors, k) {
                (None, k) => Expr::integer(k),
                (Some(e), 1) => e,
                (Some(e), k) => Expr::prim(Prim::Mul, [Expr::integer(k), e]),
            }
        };
        // The number comes last, as programs have it.
        let (numbers, others): (Vec<_>, Vec<_>) = size.terms().partition(|(m, _)| m.is_empty());
        let sum = |sum: Option<Expr>, (m, k): (&Vec<Atom>, i64)| {
            Some(match sum {
                None => product((m, k)),
                Some(sum) if k < 0 => Expr::prim(Prim::Sub, [sum, product((m, k.wrapping_neg()))]),
                Some(sum) => Expr::prim(Prim::Add, [sum, product((m, k))]),
            })
        };
        others.into_iter().chain(numbers).fold(None, sum).unwrap_or_else(|| Expr::integer(0))
    }
}

/// Returns the condition that a number is an index below a size; where it is not, that is an error, which tells both.
fn is_below(k: Expr, n: Expr) -> Expr {
    Expr::prim(Prim::InRange, [k, n])
}

/// What holds of arguments, as terms on them.
#[derive(Clone, Debug)]
pub enum Check {
    /// A size is equal to another number.
    Equal(Expr, Expr),
    /// A size is not negative.
    Natural(Expr),
    /// A number is an index below a size.
    Below(Expr, Expr),
    /// A condition on all elements holds.
    Holds(Expr),
}

impl Signature {
    /// Returns what holds of the arguments, which are atoms.
    pub fn checks(&self, args: &[Expr], supply: &mut Supply) -> Vec<Check> {
        let mut one = |relation: &Relation| match relation {
            Relation::Equal(place, size) if place.is_one() => {
                Check::Equal(number_at(place, args), self.size_term(size, args))
            }
            Relation::Below(place, size) if place.is_one() => {
                Check::Below(number_at(place, args), self.size_term(size, args))
            }
            Relation::Natural(Atom::Variable(name)) => {
                Check::Natural(self.number_of(name, args).expect("arguments tell the variables of relations"))
            }
            other => Check::Holds(self.holds(other, args, supply)),
        };
        self.relations().iter().map(&mut one).collect()
    }
}

/// Returns the number at a place; of elements that of the first one, or 0 where there is none.
fn number_at(place: &Place, args: &[Expr]) -> Expr {
    first(&place.path, &args[place.param], &|e| number_of(e, place.dimension))
}

fn first(path: &[Step], e: &Expr, number: &dyn Fn(&Expr) -> Expr) -> Expr {
    match path {
        [] => number(e),
        [Step::Part(i, _), rest @ ..] => first(rest, &Expr::get(*i, e.clone()), number),
        [Step::Each, rest @ ..] => {
            let (size, rank) = (Expr::prim(Prim::Size, [e.clone()]), rank(e));
            let sizes: Vec<Expr> = (0..rank).map(|d| number_of(e, Some((d, rank)))).collect();
            let has_one = |n: &Expr| Expr::prim(Prim::Lt, [Expr::integer(0), n.clone()]);
            let is_there = sizes.iter().map(has_one).reduce(|a, b| Expr::prim(Prim::And, [a, b]));
            let start = match size.ty() {
                Type::Integer => Expr::integer(0),
                _ => Expr::tuple((0..rank).map(|_| Expr::integer(0))),
            };
            let of_first = first(rest, &Expr::prim(Prim::Index, [start, e.clone()]), number);
            Expr::conditional(is_there.expect("a tensor has a dimension"), of_first, Expr::integer(0))
        }
    }
}

fn number_of(e: &Expr, dimension: Option<(usize, usize)>) -> Expr {
    match dimension {
        None => e.clone(),
        Some((_, 1)) => Expr::prim(Prim::Size, [e.clone()]),
        Some((d, _)) => Expr::get(d + 1, Expr::prim(Prim::Size, [e.clone()])),
    }
}

/// Returns the condition that something holds of a part, or of that part of each element.
fn at_each(path: &[Step], e: &Expr, supply: &mut Supply, holds: &mut dyn FnMut(&Expr) -> Expr) -> Expr {
    match path {
        [] => holds(e),
        [Step::Part(i, _), rest @ ..] => at_each(rest, &Expr::get(*i, e.clone()), supply, holds),
        [Step::Each, rest @ ..] => {
            let i: Var = supply.fresh("i", Type::index(rank(e)));
            let element = Expr::prim(Prim::Index, [Expr::var(&i), e.clone()]);
            let condition = at_each(rest, &element, supply, holds);
            let wrong = Expr::conditional(condition, Expr::integer(0), Expr::integer(1));
            let size = Expr::prim(Prim::Size, [e.clone()]);
            let count = Expr::prim(Prim::SumBuild, [size, Expr::lam(i, wrong)]);
            Expr::prim(Prim::Eq, [count, Expr::integer(0)])
        }
    }
}

fn rank(e: &Expr) -> usize {
    match e.ty() {
        Type::Tensor(rank, _) => *rank,
        other => panic!("{other} has no elements"),
    }
}
