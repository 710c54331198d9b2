//! What a definition says of the sizes of its arguments and of its result.
//!
//! ```text
//! (def f (Vec (add n 1) Float) ((n : Integer) (v : Vec n Float) (w : Vec n Float)) ..)
//! n is the parameter;  size(v) = n, size(w) = n, 0 <= n;  the result has size n + 1
//! ```
//!
//! A size variable is a parameter of its name, or else the first size that it can be told from. All other sizes are
//! relations.

use super::polynomial::{Atom, Polynomial};
use super::relation::{Place, Relation, each_size};
use super::sized_type::SizedType;
use crate::types::Type;
use indexmap::IndexMap;
use std::sync::Arc;

/// The sizes of a function: its parameters, with their names, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// The parameters.
    pub params: Vec<(Arc<str>, SizedType)>,
    /// The result.
    pub result: SizedType,
    numbers: IndexMap<Arc<str>, (Place, Polynomial)>,
    relations: Vec<Relation>,
}

/// A size variable that no argument tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undetermined {
    /// The variable.
    pub variable: Arc<str>,
    /// Whether it occurs in the parameters.
    pub is_in_parameters: bool,
}

impl Signature {
    /// Returns the signature of a definition as it is written: Integers with the name of a size are that size.
    ///
    /// Errors: no argument tells a size variable.
    pub fn written(params: Vec<(Arc<str>, SizedType)>, result: SizedType) -> Result<Signature, Undetermined> {
        let is_size = |name: &str| params.iter().map(|(_, ty)| ty).chain([&result]).any(|ty| mentions(ty, name));
        let number = |(name, ty): &(Arc<str>, SizedType)| match ty {
            SizedType::Plain(Type::Integer) if is_size(name) => {
                (name.clone(), SizedType::Number(Polynomial::variable(name)))
            }
            _ => (name.clone(), ty.clone()),
        };
        Signature::new(params.iter().map(number).collect(), result.clone())
    }

    /// Returns the signature.
    ///
    /// Errors: no argument tells a size variable.
    pub fn new(params: Vec<(Arc<str>, SizedType)>, result: SizedType) -> Result<Signature, Undetermined> {
        let mut signature = Signature { params, result, numbers: IndexMap::new(), relations: Vec::new() };
        let variables = signature.variables();
        signature.number_variables();
        let is_told = |name: &&Arc<str>| signature.numbers.contains_key(*name);
        if let Some(variable) = variables.iter().find(|name| !is_told(name)) {
            let is_in_parameters = signature.params.iter().any(|(_, ty)| mentions(ty, variable));
            return Err(Undetermined { variable: variable.clone(), is_in_parameters });
        }
        Ok(signature)
    }

    /// Returns the size variables, in order.
    pub fn variables(&self) -> Vec<Arc<str>> {
        let types = self.params.iter().map(|(_, ty)| ty).chain([&self.result]);
        let atoms = types.flat_map(SizedType::sizes).flat_map(Polynomial::atoms);
        let names = atoms.filter_map(|atom| match atom {
            Atom::Variable(name) => Some(name.clone()),
            Atom::Number(..) => None,
        });
        names.collect::<indexmap::IndexSet<_>>().into_iter().collect()
    }

    /// Returns the number that a size variable is: the number at a place, put for the place in a polynomial in
    /// [`Signature::here`] and size variables that come before it.
    pub fn number(&self, variable: &str) -> Option<&(Place, Polynomial)> {
        self.numbers.get(variable)
    }

    /// The atom that stands for the number at a place.
    pub fn here() -> Atom {
        Atom::Number(0, "here".into())
    }

    /// Returns the size variables with their numbers, each after those that it needs.
    pub fn numbers(&self) -> impl Iterator<Item = (&Arc<str>, &(Place, Polynomial))> {
        self.numbers.iter()
    }

    /// Returns whether a size variable is a parameter.
    pub fn is_parameter(&self, variable: &str) -> bool {
        let number = SizedType::Number(Polynomial::variable(variable));
        self.params.iter().any(|(_, ty)| *ty == number)
    }

    /// Returns what holds of arguments, besides what tells the variables.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Returns the sizes of the result that are one number each, with their places in it.
    pub fn sizes_of_result(&self) -> Vec<(Place, Polynomial)> {
        let (mut sizes, whole) = (Vec::new(), Place { param: 0, path: Vec::new(), dimension: None });
        each_size(&self.result, &whole, &mut |place, size, _| sizes.push((place, size.clone())));
        sizes.into_iter().filter(|(place, _)| place.is_size()).collect()
    }

    /// Finds the number of each variable; what is left are relations.
    fn number_variables(&mut self) {
        let mut sizes: Vec<(Place, Polynomial, bool)> = Vec::new();
        for (param, (_, ty)) in self.params.iter().enumerate() {
            let place = Place { param, path: Vec::new(), dimension: None };
            each_size(ty, &place, &mut |place, size, is_limit| sizes.push((place, size.clone(), is_limit)));
        }
        // Integers that are sizes come first. Sizes of elements come last: there may be no element.
        let is_number = |place: &Place, is_limit: bool| place.dimension.is_none() && !is_limit;
        sizes.sort_by_key(|(place, _, is_limit)| (!place.is_one(), !is_number(place, *is_limit)));
        while let Some(i) = sizes.iter().position(|(place, size, is_limit)| !is_limit && self.tells(place, size)) {
            let (place, size, _) = sizes.remove(i);
            // The first element tells it; the others have the same.
            if !place.is_one() {
                self.relations.push(Relation::Equal(place, size));
            }
        }
        self.relations.extend(sizes.into_iter().map(|(place, size, is_limit)| match is_limit {
            true => Relation::Below(place, size),
            false => Relation::Equal(place, size),
        }));
        let is_size = |atom: &Atom| {
            let size = Polynomial::atom(atom.clone());
            self.relations.iter().any(|r| matches!(r, Relation::Equal(place, n) if place.is_size() && *n == size))
        };
        let is_needed = |r: &Relation| !matches!(r, Relation::Natural(atom) if is_size(atom));
        self.relations = self.relations.iter().filter(|r| is_needed(r)).cloned().collect();
    }

    /// Learns a variable from the size at a place, if it is the only unknown there.
    fn tells(&mut self, place: &Place, size: &Polynomial) -> bool {
        let unknown = |atom: &&Atom| matches!(atom, Atom::Variable(name) if !self.numbers.contains_key(name));
        let Some(atom) = size.atoms().find(unknown).cloned() else { return false };
        if size.atoms().filter(unknown).any(|other| *other != atom) {
            return false;
        }
        let (Some((k, rest)), Atom::Variable(name)) = (size.solved_for(&atom), &atom) else { return false };
        let here = Polynomial::atom(Signature::here());
        let number = if k == 1 { here.minus(&rest) } else { rest.minus(&here) };
        // A size of a tensor is not negative; what is told from a sum may be.
        if number != here || place.dimension.is_none() {
            self.relations.push(Relation::Natural(atom.clone()));
        }
        self.numbers.insert(name.clone(), (place.clone(), number));
        true
    }
}

fn mentions(ty: &SizedType, variable: &str) -> bool {
    let is_it = |atom: &Atom| matches!(atom, Atom::Variable(name) if **name == *variable);
    ty.sizes().any(|size| size.atoms().any(is_it))
}
