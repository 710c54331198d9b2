//! The schedules: which laws each stage applies, and how. `lmc laws --schedule` prints them.

use lm::law::{self, Law};
use lm::strategy::{LawSet, Strategy};
use std::sync::{Arc, LazyLock};

/// A named strategy.
#[derive(Debug)]
pub struct Schedule {
    /// Its name.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub purpose: &'static str,
    /// The strategy.
    pub strategy: Strategy,
}

#[rustfmt::skip]
const MAPS: &[&str] = &[
    "zero-compose", "compose-zero", "one-compose", "compose-one", "add-zero", "zero-add", "scaleR-scale", "dot-scale",
    "scale-one", "scale-compose", "scale-add", "one-add-one", "one-add-scale", "scale-add-one", "scaleR-compose",
    "scale-scaleR", "scaleR-add", "dot-compose", "dot-scaleR", "hcat-vcat", "vcat-compose", "inject-compose",
    "get-vcat", "vcat-get", "compose-assoc", "add-compose", "add-compose-left", "add-compose-right", "vcat-add",
    "hcat-add", "collect", "index-ones", "index-sum", "vcatv-zero", "addv-zero", "to-zero",
];

/// m ∘ (1 ⊕ n) = m ⊕ (m ∘ n), for maps that are free to copy.
const DISTRIBUTE: &[&str] = &["compose-add-one"];

/// The other way: of what reverse mode returns, each map is used as often as it is written.
#[rustfmt::skip]
const FACTOR_LEFT: &[&str] = &[
    "hcat-vcat-same", "add-same", "add-same-left", "add-same-right", "add-compose-zero", "compose-zero-add",
];

/// Elements of tensors, for Jacobians only: there the tensor need not be made. In what is transposed the elements are
/// those of cotangents, often of a number times a vector. Then that number times one element is the factor of all the
/// rest.
#[rustfmt::skip]
const ELEMENTS: &[&str] = &[
    "index-scale", "index-scale-compose", "index-scaleR", "index-scaleR-compose", "index-add", "index-hcat",
    "index-build", "index-build-compose",
];

/// A law of Jacobians only: in what is transposed, the second map is shared with others more often.
const SCALES: &[&str] = &["scale-scale"];

#[rustfmt::skip]
const TRANSPOSITION: &[&str] = &[
    "transpose-transpose", "transpose-compose", "transpose-vcat", "transpose-hcat", "transpose-add", "transpose-zero",
    "transpose-one", "transpose-scale", "transpose-scaleR", "transpose-dot", "transpose-get", "transpose-if",
];

#[rustfmt::skip]
const APPLICATION: &[&str] = &[
    "apply-compose", "apply-vcat", "apply-hcat", "apply-add", "apply-zero", "apply-one", "apply-scale", "apply-scaleR",
    "apply-dot", "apply-get", "apply-if", "reverse-apply", "apply-index", "apply-at", "apply-sum", "apply-to",
];

/// Indexing and sums as the notes have them, by H.
const FIGURE_2: &[&str] = &["index-hcatv", "sum-hcatv", "get-vcat"];

/// The properties of linear maps; `S(k)` for the two operators that only maps from and to Float have.
#[rustfmt::skip]
const FIGURE_4: &[&str] = &[
    "zero-compose", "compose-zero", "one-compose", "compose-one", "add-zero", "zero-add", "hcat-vcat", "compose-hcat",
    "vcat-compose", "scale-compose", "scale-scale", "scale-add", "scaleR-scale", "dot-scale",
];

#[rustfmt::skip]
const FIGURE_5: &[&str] = &[
    "transpose-compose", "transpose-vcat", "transpose-hcat", "transpose-add", "transpose-zero", "transpose-one",
    "transpose-scale", "transpose-transpose", "transpose-vcatv", "transpose-hcatv", "transpose-lambda",
    "transpose-tlambda", "transpose-get", "transpose-scaleR", "transpose-dot", "transpose-if",
];

#[rustfmt::skip]
const MATRIX: &[&str] = &[
    "scale-zero", "scale-one", "one-rows", "scale-rows", "zero-rows", "zero-columns", "get-columns", "exchange",
    "rows-compose", "compose-columns", "compose-assoc", "vcat-add", "hcat-add", "one-add-one", "one-add-scale",
    "scale-add-one",
];

/// Laws of Figs. 4 and 5 that are not on the way to derivatives: those of the operators on tensors and functions, one
/// that copies, and one for maps that are parameters.
const FIGURES: &[&str] = &[
    "transpose-vcatv",
    "transpose-hcatv",
    "transpose-lambda",
    "transpose-tlambda",
    "compose-hcat",
    "reverse-apply",
    "scale-scale",
];

/// Application as the notes print it: ⊙ and ⊙ᴿ, neither by the other.
#[rustfmt::skip]
const SIDES: &[&str] = &[
    "apply-compose", "apply-vcat", "apply-hcat", "apply-add", "apply-zero", "apply-one", "apply-scale", "apply-lambda",
    "apply-scaleR", "apply-dot", "apply-get", "apply-index", "apply-sum", "apply-to", "apply-transpose",
    "reverse-compose", "reverse-vcat", "reverse-hcat", "reverse-add", "reverse-zero", "reverse-one", "reverse-scale",
    "reverse-tlambda", "reverse-scaleR", "reverse-dot", "reverse-get", "reverse-index", "reverse-sum", "reverse-to",
    "reverse-transpose",
];

#[rustfmt::skip]
const VECTORS: &[&str] = &[
    "vector-add-zero", "vector-zero-add", "vector-scale-zero", "vector-zero-scale", "vector-neg-zero",
    "vector-add-tuple", "vector-add-left", "vector-add-right", "vector-scale-tuple", "vector-scale-minus",
    "vector-scale-one", "get-tuple", "tuple-get",
    "get-zero", "vector-index-zero", "vector-at-zero", "vector-add-at", "vector-index-scale", "vector-index-neg",
    "vector-scale-at", "vector-neg-at", "vector-scale-neg", "sumbuild-zero", "sum-one-hot", "sumbuild-one-hot",
    "fold-float", "fold-integer", "if-same", "if-true", "if-false",
];

/// The laws of arrays, by which loops read what other loops make.
const FUSION: &[&str] = &["index-of-rows", "index-of-deltas", "index-of-build", "size-of-build", "build-of-index"];

/// The laws of arrays of which one element is not zero.
#[rustfmt::skip]
const ZEROS: &[&str] = &[
    "index-of-delta", "sum-of-delta", "dot-of-delta", "dot-with-delta", "sum-of-deltas", "dot-of-floats", "scale-by-one",
    "scale-of-if", "scale-by-if", "neg-of-if", "add-of-ifs", "delta-of-if", "if-known", "if-known-not", "eq-of-tuples",
    "if-of-and",
];

/// The laws of arrays, by which derivatives along each direction lose their inner loops.
const LOOPS: &[&str] = &["sumbuild-of-if", "sum-of-if", "sum-of-zeros", "sumbuild-of-left", "sumbuild-of-right"];

/// The schedules, in the order in which they are used.
pub static SCHEDULES: LazyLock<Vec<Schedule>> = LazyLock::new(|| {
    let jacobians: Vec<&str> = law::all().keys().map(|name| &**name).filter(|n| n.starts_with("jacobian-")).collect();
    // Sums over one element stay loops.
    let numbers: Vec<&str> = VECTORS.iter().copied().filter(|name| !name.ends_with("one-hot")).collect();
    let of = |groups: &[&[&'static str]]| -> Vec<Arc<Law>> {
        groups.iter().copied().flatten().map(|name| law::named(name).clone()).collect()
    };
    let schedule = |name, purpose, groups: &[&[&'static str]]| Schedule {
        name,
        purpose,
        strategy: Strategy::innermost(of(groups)),
    };
    vec![
        schedule(
            "jacobian",
            "a Jacobian in its simplest form",
            &[&jacobians, MAPS, DISTRIBUTE, SCALES, ELEMENTS, VECTORS],
        ),
        schedule("transpose", "transposition, pushed to the leaves", &[TRANSPOSITION, MAPS, DISTRIBUTE, VECTORS]),
        schedule(
            "reverse half",
            "the map of a reverse half in its simplest form",
            &[TRANSPOSITION, MAPS, DISTRIBUTE, SCALES, VECTORS],
        ),
        schedule(
            "apply",
            "application, pushed to the leaves until no map is left",
            &[APPLICATION, TRANSPOSITION, MAPS, DISTRIBUTE, VECTORS],
        ),
        Schedule {
            name: "sides",
            purpose: "one application of a map, from the left (⊙) or from the right (⊙ᴿ)",
            strategy: Strategy::Laws(Arc::new(LawSet::new(of(&[SIDES, &jacobians])))),
        },
        schedule(
            "normal",
            "a linear map in normal form",
            &[&jacobians, TRANSPOSITION, FIGURES, MAPS, DISTRIBUTE, SCALES, ELEMENTS, VECTORS],
        ),
        schedule(
            "returned map",
            "the map that reverse mode returns",
            &[&jacobians, FACTOR_LEFT, TRANSPOSITION, MAPS, SCALES, VECTORS],
        ),
        schedule("figures 2 and 4", "a Jacobian by the laws that the notes print", &[&jacobians, FIGURE_2, FIGURE_4]),
        schedule("figure 5", "transposition by the laws that the notes print", &[FIGURE_2, FIGURE_4, FIGURE_5]),
        schedule("matrix", "a map of tuples as its matrix", &[&jacobians, MATRIX, TRANSPOSITION, FIGURE_4, VECTORS]),
        Schedule {
            name: "directions",
            purpose: "a derivative along each direction, without the zeros of the direction",
            strategy: Strategy::Laws(Arc::new(LawSet::new(of(&[FUSION, ZEROS, LOOPS, VECTORS])))),
        },
        Schedule {
            name: "fusion",
            purpose: "loops that read what other loops make, in one",
            strategy: Strategy::Laws(Arc::new(LawSet::new(of(&[FUSION, &["get-tuple", "tuple-get"]])))),
        },
        Schedule {
            name: "zeros",
            purpose: "a derivative along each direction, with the zeros of the direction in conditionals",
            strategy: Strategy::Laws(Arc::new(LawSet::new(of(&[FUSION, ZEROS, &numbers])))),
        },
        schedule("values", "tangents and cotangents in their simplest form", &[VECTORS]),
    ]
});

/// Returns the strategy of that name. Panics when there is none: schedules are part of the program.
pub fn strategy(name: &str) -> &'static Strategy {
    let found = SCHEDULES.iter().find(|s| s.name == name);
    &found.unwrap_or_else(|| panic!("there is no schedule `{name}`")).strategy
}
