//! Lists the recipes whose steps `lmc demo` prints, for each derivation.
//!
//! Source: working notes, sec. 9, for the order of the derivation by Jacobians.

use super::calculus::{
    MAP_FREE, MATRICES, MATRICES_OF_JACOBIANS, NORMAL_JACOBIANS, NORMAL_MAPS, NOTES_FORWARD, NOTES_JACOBIAN,
    NOTES_REVERSE, NOTES_TRANSPOSED,
};
use super::dual::{DUAL, DUAL_COLUMNS, DUAL_GRADIENT};
use super::pass::Pass;
use super::recipe::{Recipe, Step};
use super::rows::{
    BY_MAP, CATEGORY, DUAL_ARRAYS, FORWARD, FORWARD_OF_STATES, IN_ARRAYS, JACOBIAN, NORMAL, POLYMORPHIC, POLYMORPHIC_R,
    REVERSE, SPLIT, TANGENT, TRANSPOSED, TUPLED, UNARY, UNARY_FORM, VALUE_AND_COTANGENT, VALUE_AND_TANGENT,
};
use crate::derive::Derivation;
use crate::derive::schedule::strategy;
use lm::term::Derivative;
use std::sync::Arc;

/// A part of the output of `lmc demo`.
#[derive(Debug)]
pub enum Shown {
    /// The function as it is written.
    Original(&'static str),
    /// The operations on whole arrays that a function is, and the recipe that starts from them.
    Bulk(&'static str, &'static Recipe),
    /// The steps of a recipe that have a heading, for the function itself.
    Form(&'static Recipe),
    /// The steps of a recipe that have a heading, for a derivative.
    Way(&'static Recipe, Derivative),
    /// The steps of the first recipe whose condition holds, for a derivative.
    FirstOf(&'static [&'static Recipe], Derivative),
    /// The same part, where the function gives a Float (true), or something else (false).
    Result(bool, &'static Shown),
    /// The cost of a derivative, and that of the function.
    Cost(&'static str, Derivative),
    /// The final form of a derivative, by any recipe.
    Whole(&'static str, Derivative),
}

const ORIGINAL: Shown = Shown::Original("Original definition");

/// Returns the parts of the output of `lmc demo` for a derivation, in order.
pub fn shown(derivation: Derivation) -> &'static [Shown] {
    match derivation {
        Derivation::Jacobian => {
            static SHOWN: [Shown; 7] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Way(&JACOBIAN, Derivative::D),
                Shown::FirstOf(&[&FORWARD_OF_STATES, &FORWARD], Derivative::Fwd),
                Shown::Way(&TRANSPOSED, Derivative::Dt),
                Shown::Way(&REVERSE, Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Tupled => {
            static SHOWN: [Shown; 8] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Way(&TUPLED, Derivative::Tupled),
                Shown::Way(&VALUE_AND_TANGENT, Derivative::Jvp),
                Shown::Way(&TANGENT, Derivative::Fwd),
                Shown::Way(&VALUE_AND_COTANGENT, Derivative::Vjp),
                Shown::Whole("Reverse-mode derivative (CSE'd)", Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Polymorphic => {
            static SHOWN: [Shown; 11] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Way(&POLYMORPHIC, Derivative::Polymorphic),
                Shown::Way(&VALUE_AND_TANGENT, Derivative::Jvp),
                Shown::Way(&TANGENT, Derivative::Fwd),
                Shown::Way(&POLYMORPHIC_R, Derivative::PolymorphicR),
                Shown::Way(&BY_MAP, Derivative::Vjp),
                Shown::Way(&JACOBIAN, Derivative::D),
                Shown::Way(&TRANSPOSED, Derivative::Dt),
                Shown::Way(&REVERSE, Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Split => {
            static SHOWN: [Shown; 8] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Form(&CATEGORY),
                Shown::Way(&SPLIT, Derivative::Vjp),
                Shown::Whole("Forward half", Derivative::SufFwdPass),
                Shown::Whole("Reverse half", Derivative::SufRevPass),
                Shown::Whole("Reverse-mode derivative", Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Unary => {
            static SHOWN: [Shown; 7] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Form(&UNARY_FORM),
                Shown::Way(&POLYMORPHIC_R, Derivative::PolymorphicR),
                Shown::Way(&UNARY, Derivative::Vjp),
                Shown::Whole("Reverse-mode derivative (CSE'd)", Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::DualArrays => {
            static SHOWN: [Shown; 8] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Bulk("Bulk operations", &IN_ARRAYS),
                Shown::Form(&IN_ARRAYS),
                Shown::Way(&DUAL_ARRAYS, Derivative::D),
                Shown::FirstOf(&[&FORWARD_OF_STATES, &FORWARD], Derivative::Fwd),
                Shown::Way(&TRANSPOSED, Derivative::Dt),
                Shown::Way(&REVERSE, Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Dual => {
            static SHOWN: [Shown; 8] = [
                ORIGINAL,
                Shown::Form(&MAP_FREE),
                Shown::Form(&NORMAL),
                Shown::Way(&DUAL, Derivative::Dual),
                Shown::Result(true, &Shown::Way(&DUAL_GRADIENT, Derivative::Grad)),
                Shown::Result(true, &Shown::Cost("Cost", Derivative::Grad)),
                Shown::Result(false, &Shown::Way(&DUAL_COLUMNS, Derivative::JacFwd)),
                Shown::Result(false, &Shown::Cost("Cost", Derivative::JacFwd)),
            ];
            &SHOWN
        }
    }
}

/// Returns the parts of the output of `lmc demo --rules notes`, in order.
pub fn by_notes() -> &'static [Shown] {
    static SHOWN: [Shown; 7] = [
        ORIGINAL,
        Shown::Form(&MAP_FREE),
        Shown::Form(&NORMAL),
        Shown::Way(&NOTES_JACOBIAN, Derivative::D),
        Shown::Way(&NOTES_FORWARD, Derivative::Fwd),
        Shown::Way(&NOTES_TRANSPOSED, Derivative::Dt),
        Shown::Way(&NOTES_REVERSE, Derivative::Rev),
    ];
    &SHOWN
}

/// The form in which `lmc simplify` prints linear maps.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormalForm {
    /// Whether Jacobians take the place of their names.
    pub has_jacobians: bool,
    /// Whether maps of tuples are written as matrices.
    pub is_matrix: bool,
}

/// Returns the parts of the output of `lmc simplify`, in order.
pub fn simplified(form: NormalForm) -> [Shown; 2] {
    let recipe = match (form.is_matrix, form.has_jacobians) {
        (false, false) => &NORMAL_MAPS,
        (false, true) => &NORMAL_JACOBIANS,
        (true, false) => &MATRICES,
        (true, true) => &MATRICES_OF_JACOBIANS,
    };
    [ORIGINAL, Shown::Form(recipe)]
}

/// Returns the headings under which `lmc demo` shows the derivation of a function without checkpoints that gives a
/// Float, in order.
pub fn headings(derivation: Derivation) -> impl Iterator<Item = Arc<str>> {
    shown(derivation).iter().flat_map(headings_of)
}

fn headings_of(shown: &Shown) -> Vec<Arc<str>> {
    let of_pass = |pass: &Pass| match pass {
        Pass::Strategy(name) => strategy(name).headings(),
        _ => Vec::new(),
    };
    let of_step = |step: &Step| {
        let inside: Vec<Arc<str>> = step.passes.iter().flat_map(of_pass).collect();
        inside.into_iter().chain(step.heading.map(Arc::from)).collect::<Vec<_>>()
    };
    let of_recipe = |recipe: &Recipe| recipe.steps.iter().flat_map(of_step).collect();
    match shown {
        Shown::Original(heading) | Shown::Bulk(heading, _) | Shown::Whole(heading, _) | Shown::Cost(heading, _) => {
            vec![(*heading).into()]
        }
        Shown::Form(recipe) | Shown::Way(recipe, _) => of_recipe(recipe),
        Shown::FirstOf(recipes, _) => recipes.last().map(|recipe| of_recipe(recipe)).unwrap_or_default(),
        Shown::Result(is_float, shown) => is_float.then(|| headings_of(shown)).unwrap_or_default(),
    }
}
