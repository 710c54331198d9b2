//! Turns a plan into sinks: the bindings of a block go where `lm::destination` says.

use super::body::Body;
use super::into::Lowered;
use super::sink::{Planned, Sink};
use super::value::Val;
use crate::error::Error;
use lm::destination::{Destination, Step, plan};
use lm::term::Expr;
use lm::types::Type;

impl Body<'_> {
    /// A block, into a target; `outer` holds what was added before.
    pub(super) fn lower_block_into(&mut self, block: &Expr, target: &Sink, outer: Option<&Planned>) -> Lowered {
        let (bindings, result) = block.as_block();
        let plan = plan(block, &target.destination(), self.unread);
        let planned = Planned { plan: &plan, outer };
        for b in bindings {
            let destination = plan.of(&b.pattern);
            let value = match destination.is_own() {
                true => self.lower_value(&b.rhs)?,
                false => {
                    let given = given(&destination, b.rhs.ty());
                    self.planned_into(&b.rhs, &destination, &given, target, &planned)?
                }
            };
            self.bind_pattern(&b.pattern, value);
        }
        self.lower_into(result, target, Some(&planned))
    }

    /// Evaluates into a destination, once for each case that a condition distinguishes. In every case
    /// a value of type `given` comes back.
    fn planned_into(
        &mut self,
        e: &Expr,
        destination: &Destination,
        given: &Type,
        root: &Sink,
        planned: &Planned,
    ) -> Lowered {
        match first_choice(destination) {
            None => {
                let target = self.resolve(destination, root, &mut vec![])?;
                let value = self.lower_into(e, &target, Some(planned))?;
                self.filled(value, destination, given)
            }
            Some(condition) => {
                let decide = |taken| decided(destination, &condition, taken);
                let condition = self.lower_value(&condition)?.leaf();
                self.choose_value(
                    condition,
                    |body| body.planned_into(e, &decide(true), given, root, planned),
                    |body| body.planned_into(e, &decide(false), given, root, planned),
                )
            }
        }
    }

    /// Completes a value: replaces the parts that this destination does not read.
    fn filled(&mut self, value: Val, destination: &Destination, given: &Type) -> Lowered {
        match (destination, given) {
            (Destination::Nowhere, given) => self.dummy(given),
            (Destination::Parts(parts), Type::Tuple(types)) => {
                let parts = value.parts().iter().zip(parts).zip(types.iter());
                let parts = parts.map(|((value, part), given)| self.filled(value.clone(), part, given));
                Ok(Val::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
            _ => Ok(value),
        }
    }

    /// The target; `known` holds the places found so far: one path is one place.
    fn resolve(
        &mut self,
        destination: &Destination,
        root: &Sink,
        known: &mut Vec<(Vec<Step>, Sink)>,
    ) -> Result<Sink, Error> {
        Ok(match destination {
            Destination::Own => Sink::Own,
            Destination::Nowhere => Sink::Nowhere,
            Destination::Choice(..) => panic!("the choices are made"),
            Destination::Parts(parts) => {
                Sink::Parts(parts.iter().map(|part| self.resolve(part, root, known)).collect::<Result<_, _>>()?)
            }
            Destination::Add(path) => {
                if let Some((_, place)) = known.iter().find(|(other, _)| other == path) {
                    return Ok(place.clone());
                }
                let mut at = root.clone();
                for step in path {
                    at = match (step, at) {
                        (Step::Component(i), at) => at.component(*i),
                        (Step::Element(i), Sink::Add(sum)) => {
                            let index = self.lower_value(i)?.numbers();
                            Sink::Add(self.element_at(&sum, &index))
                        }
                        (Step::Element(_), _) => panic!("an element of what is not added to"),
                    };
                }
                known.push((path.clone(), at.clone()));
                at
            }
        })
    }
}

/// Returns the type of what comes back of a value of type `ty`: unit for what is added.
fn given(destination: &Destination, ty: &Type) -> Type {
    match destination {
        Destination::Own => ty.clone(),
        Destination::Nowhere | Destination::Add(_) => Type::unit(),
        Destination::Parts(parts) => {
            let types = ty.as_tuple().expect("parts are those of a tuple");
            Type::tuple(parts.iter().zip(types).map(|(part, ty)| given(part, ty)))
        }
        Destination::Choice(_, yes, no) if **yes == Destination::Nowhere => given(no, ty),
        Destination::Choice(_, yes, _) => given(yes, ty),
    }
}

/// Returns a condition on which the destination depends.
fn first_choice(destination: &Destination) -> Option<Expr> {
    match destination {
        Destination::Own | Destination::Nowhere | Destination::Add(_) => None,
        Destination::Choice(c, ..) => Some(c.clone()),
        Destination::Parts(parts) => parts.iter().find_map(first_choice),
    }
}

/// Returns the destination where the condition is known.
fn decided(destination: &Destination, condition: &Expr, holds: bool) -> Destination {
    match destination {
        Destination::Own | Destination::Nowhere | Destination::Add(_) => destination.clone(),
        Destination::Parts(parts) => {
            Destination::Parts(parts.iter().map(|part| decided(part, condition, holds)).collect())
        }
        Destination::Choice(c, yes, no) if c == condition => decided(if holds { yes } else { no }, condition, holds),
        Destination::Choice(c, yes, no) => {
            let [yes, no] = [yes, no].map(|part| Box::new(decided(part, condition, holds)));
            Destination::Choice(c.clone(), yes, no)
        }
    }
}
