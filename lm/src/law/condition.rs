//! Reads and decides the conditions of laws.
//!
//! ```text
//! k in n      0 <= k < n               n is m      the sizes n and m are equal
//!                                      cheap(e)    to compute e again costs no more than to read it
//! total(e)    e has a value            true(c)     c holds
//! natural(n)  0 <= n                   false(c)    c does not hold
//! early(e)    e depends on no          late(e)     e depends on a direction
//!             direction                apart(e, x) e is early and x is late: names that both use are computed for both
//! ```
//!
//! What is not known does not hold. Whether a term is early or late is no matter of what a law means, but of what it
//! saves.

use super::parse;
use super::pattern::Pat;
use crate::facts::Facts;
use crate::term::Expr;

/// A condition.
#[derive(Debug)]
pub enum Condition {
    /// An index is in range.
    In(Pat, Pat),
    /// Two sizes are equal.
    Equal(Pat, Pat),
    /// A property of a term.
    Is(Property, Pat),
    /// The first term depends on no direction, and the second one on one.
    Apart(Pat, Pat),
}

/// A property of a term.
#[derive(Clone, Copy, Debug)]
pub enum Property {
    /// It is cheap to compute again.
    Cheap,
    /// It has a value, and prints nothing.
    Total,
    /// It is a number that is not negative.
    Natural,
    /// It depends on no direction.
    Early,
    /// It depends on a direction.
    Late,
    /// It is of a vector space: a Float, or tuples and tensors of Floats. `2.0 * k` of an Integer is k, so x + x is no
    /// multiple of x in the types of programs.
    Vector,
    /// Its type alone tells its shape, as that of numbers.
    Fixed,
    /// It is a condition that holds.
    True,
    /// It is a condition that does not hold.
    False,
}

const PROPERTIES: &[(&str, Property)] = &[
    ("cheap", Property::Cheap),
    ("total", Property::Total),
    ("natural", Property::Natural),
    ("early", Property::Early),
    ("late", Property::Late),
    ("vector", Property::Vector),
    ("fixed", Property::Fixed),
    ("true", Property::True),
    ("false", Property::False),
];

/// Reads conditions, with `and` between them. Panics when they are malformed.
pub fn read(text: &str) -> Vec<Condition> {
    text.split(" and ").map(one).collect()
}

fn one(text: &str) -> Condition {
    if let Some((k, n)) = text.split_once(" in ") {
        return Condition::In(parse::side(k), parse::side(n));
    }
    if let Some((n, m)) = text.split_once(" is ") {
        return Condition::Equal(parse::side(n), parse::side(m));
    }
    if let Some((e, x)) = text.trim().strip_prefix("apart(").and_then(|rest| rest.strip_suffix(')')?.split_once(", ")) {
        return Condition::Apart(parse::side(e), parse::side(x));
    }
    let word = text.trim().trim_end_matches(')').split_once('(');
    let found = word.and_then(|(word, of)| {
        let property = PROPERTIES.iter().find(|(name, _)| *name == word)?.1;
        Some(Condition::Is(property, parse::side(of)))
    });
    found.unwrap_or_else(|| panic!("`{text}` is no condition of a law"))
}

impl Condition {
    /// Returns whether the law is for terms that depend on a direction. Such a law may compute the names of a step twice,
    /// since it saves a loop for each direction.
    pub(super) fn is_about_directions(&self) -> bool {
        matches!(self, Condition::Is(Property::Late, _) | Condition::Apart(..))
    }

    /// Returns whether it asks what the law saves, not what it means.
    pub fn is_of_cost(&self) -> bool {
        matches!(self, Condition::Is(Property::Early | Property::Late, _) | Condition::Apart(..))
    }

    /// Returns whether it holds; `term` gives the instance of a pattern.
    pub fn holds(&self, facts: &Facts, term: &mut dyn FnMut(&Pat) -> Option<Expr>) -> bool {
        match self {
            Condition::In(k, n) => match (term(k), term(n)) {
                (Some(k), Some(n)) => facts.is_below(&k, &n),
                _ => false,
            },
            Condition::Equal(n, m) => match (term(n), term(m)) {
                (Some(n), Some(m)) => facts.are_equal(&n, &m),
                _ => false,
            },
            Condition::Apart(e, x) => match (term(e), term(x)) {
                (Some(e), Some(x)) => !facts.is_late(&e) && facts.is_late(&x),
                _ => false,
            },
            Condition::Is(property, e) => term(e).is_some_and(|e| match property {
                Property::Cheap => facts.is_cheap(&e),
                Property::Total => facts.is_total(&e),
                Property::Natural => facts.is_natural(&e),
                Property::Early => !facts.is_late(&e),
                Property::Late => facts.is_late(&e),
                Property::Vector => e.ty().is_differentiable() && e.ty().tangent() == *e.ty(),
                Property::Fixed => e.ty().has_fixed_shape(),
                Property::True => facts.value(&e) == Some(true),
                Property::False => facts.value(&e) == Some(false),
            }),
        }
    }
}
