//! Lists, for each derivative, its type and the ways in which it is made: THE table of derivations.
//!
//! ```text
//! rev   (S, dT) -> dS   from [Dt f]   apply_to dr | apply, simplify values, place | share, tidy, rules
//! ```
//!
//! A derivative has one entry, and an entry has recipes: the first one whose condition holds makes the derivative.
//! A recipe starts from the function, or from another derivative of it, and has steps: lists of passes, some under
//! the heading that `lmc demo` prints. The pipeline runs these rows, the checker types by them, `lmc demo` and
//! `lmc explain rev` print them. To add a derivation is to add rows here, and a file in `figures` for a new pass.
//!
//! Source: working notes, sec. 9, for the order and the headings of the derivation by Jacobians.

use super::Derivation;
use super::figures::fig07_08_pairs::Form;
use super::pipeline::pass::Pass;
use super::typing::Typing;
use lm::term::{Derivative, Mode};

/// A derivative: its type, and how it is made.
#[derive(Debug)]
pub struct Entry {
    /// How the type of the derivative follows from that of f.
    pub typing: Typing,
    /// The derivative in a few words.
    pub title: &'static str,
    /// The ways to it, in the order in which they are tried.
    pub recipes: &'static [&'static Recipe],
}

/// A way to a derivative.
#[derive(Debug)]
pub struct Recipe {
    /// The functions for which the way is taken.
    pub when: When,
    /// What the first pass is given.
    pub from: Start,
    /// The passes, in order.
    pub steps: &'static [Step],
    /// Where the way is described.
    pub source: &'static str,
}

/// Passes that follow each other.
#[derive(Debug)]
pub struct Step {
    /// The heading under which `lmc demo` prints the result; none for what it does not print.
    pub heading: Option<&'static str>,
    /// The passes, in order.
    pub passes: &'static [Pass],
}

/// A condition on a function f, and on the derivative of it that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Any function.
    Always,
    /// The derivative was written by hand.
    Written,
    /// f is implemented elsewhere.
    External,
    /// f is another function with respect to parts of its argument, of which the derivative was written by hand.
    PartOfWritten,
    /// The two halves of the reverse derivative were written by hand.
    HalvesWritten,
    /// f is itself a reverse derivative, and symmetry of second derivatives is the way.
    Symmetric,
    /// As `Symmetric`, and the whole point of that reverse derivative varies.
    SymmetricWithValue,
    /// Reverse mode of f keeps records: its derivation is `tupled` or `split`.
    Records,
    /// As `Records`, with the reverse derivative in two halves: its derivation is `split`.
    RecordsInHalves,
    /// Forward mode of f goes by pairs: its derivation is `tupled` or `polymorphic`.
    Pairs,
}

/// What the first pass of a recipe is given.
#[derive(Clone, Debug)]
pub enum Start {
    /// f itself.
    Function,
    /// f in the form in which it is differentiated: with calls where f keeps records.
    Differentiable,
    /// A derivative of f, before sharing.
    Derivative(Derivative),
    /// A derivative of f that a recipe makes, before sharing.
    Recipe(&'static Recipe, Derivative),
    /// f itself; the passes call these derivatives.
    Calls(&'static [Derivative]),
}

const fn step(heading: &'static str, passes: &'static [Pass]) -> Step {
    Step { heading: Some(heading), passes }
}

const fn quiet(passes: &'static [Pass]) -> Step {
    Step { heading: None, passes }
}

/// Work done once, the form that a person would write, and the rules of the program.
const FINISH: &[Pass] = &[Pass::Share, Pass::Tidy, Pass::Rules];
/// As `FINISH`, of what is shared already.
const TIDY: &[Pass] = &[Pass::Refresh, Pass::Tidy, Pass::Rules];
/// No linear map is left, and the values are simple.
const APPLY: &[Pass] = &[Pass::Apply, Pass::Simplify("values"), Pass::Place];

/// The function in normal form.
pub static NORMAL: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[step("Anf-ised original definition", &[Pass::Normal])],
    source: "working notes, sec. 5.1",
};

static OF_EXTERNAL: Recipe = Recipe {
    when: When::External,
    from: Start::Function,
    steps: &[quiet(&[Pass::OfExternal])],
    source: "the user's [fwd f] and [rev f]",
};

static AS_WRITTEN: Recipe = Recipe {
    when: When::Written,
    from: Start::Function,
    steps: &[quiet(&[Pass::AsWritten])],
    source: "the user's definition",
};

static OF_PART: Recipe = Recipe {
    when: When::PartOfWritten,
    from: Start::Function,
    steps: &[quiet(&[Pass::PartOfWritten]), quiet(FINISH)],
    source: "the user's definition",
};

static WRITTEN_JACOBIAN: Recipe = Recipe {
    when: When::Written,
    from: Start::Function,
    steps: &[quiet(&[Pass::WrittenJacobian, Pass::Simplify("jacobian")])],
    source: "the user's definition",
};

/// The full Jacobian.
pub static JACOBIAN: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The full Jacobian (unoptimised)", &[Pass::Normal, Pass::Jacobian]),
        step("The full Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 6",
};

/// The transposed Jacobian.
pub static TRANSPOSED: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::D),
    steps: &[
        step("Transposed Jacobian", &[Pass::TransposeLater]),
        step("Optimised transposed Jacobian", &[Pass::Transpose, Pass::Simplify("transpose")]),
    ],
    source: "working notes, Fig. 5",
};

/// Forward mode by the Jacobian.
pub static FORWARD: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::D),
    steps: &[
        step("Forward derivative (unoptimised)", &[Pass::ApplyTo(Mode::Forward)]),
        step("Forward-mode derivative (optimised)", APPLY),
        step("Forward-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Fig. 6",
};

/// Reverse mode by the Jacobian.
pub static REVERSE: Recipe = Recipe {
    when: When::Always,
    from: Start::Derivative(Derivative::Dt),
    steps: &[
        step("Reverse-mode derivative (unoptimised)", &[Pass::ApplyTo(Mode::Reverse)]),
        step("Reverse-mode derivative (optimised)", APPLY),
        step("Reverse-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Fig. 6",
};

/// Values paired with their maps from the function's argument.
pub static TUPLED: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The tupled Jacobian (unoptimised)", &[Pass::Normal, Pass::Pair(Form::Tupled)]),
        step("The tupled Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 7",
};

/// Values paired with their maps from anywhere.
pub static POLYMORPHIC: Recipe = Recipe {
    when: When::Always,
    from: Start::Differentiable,
    steps: &[
        step("The polymorphic Jacobian (unoptimised)", &[Pass::Normal, Pass::Pair(Form::Polymorphic)]),
        step("The polymorphic Jacobian (optimised)", &[Pass::Simplify("jacobian")]),
    ],
    source: "working notes, Fig. 8",
};

/// Values paired with their tangents.
pub static VALUE_AND_TANGENT: Recipe = Recipe {
    when: When::Pairs,
    from: Start::Differentiable,
    steps: &[
        step("Value and forward derivative (unoptimised)", &[Pass::Normal, Pass::Pair(Form::Applied)]),
        step(
            "Value and forward-mode derivative (optimised)",
            &[Pass::Simplify("jacobian"), Pass::Apply, Pass::Simplify("values"), Pass::Place],
        ),
        step("Value and forward-mode derivative (CSE'd)", FINISH),
    ],
    source: "working notes, Figs. 7 and 8",
};

/// The tangent of a pair.
pub static TANGENT: Recipe = Recipe {
    when: When::Pairs,
    from: Start::Recipe(&VALUE_AND_TANGENT, Derivative::Jvp),
    steps: &[quiet(&[Pass::Tangent]), step("Forward-mode derivative (CSE'd)", FINISH)],
    source: "working notes, Figs. 7 and 8",
};

static VALUE_BESIDE_TANGENT: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Fwd]),
    steps: &[quiet(&[Pass::ValueBeside]), quiet(FINISH)],
    source: "working notes, sec. 5.2",
};

static VALUE_BESIDE_COTANGENT: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::ValueBeside]), quiet(FINISH)],
    source: "working notes, sec. 5.2",
};

/// Value and cotangent, by what the value records.
pub static VALUE_AND_COTANGENT: Recipe = Recipe {
    when: When::Records,
    from: Start::Differentiable,
    steps: &[
        step("The Jacobian with records (unoptimised)", &[Pass::Normal, Pass::Record]),
        step("The map alone (optimised)", &[Pass::MapAlone, Pass::Simplify("jacobian")]),
        step("Transposed map", &[Pass::TransposeMap, Pass::Simplify("transpose")]),
        step("Transposed map, applied", &[Pass::ApplyMap, Pass::Apply, Pass::Simplify("values"), Pass::Place]),
        quiet(&[Pass::WithValues, Pass::ShareValues]),
        step("Value and reverse-mode derivative (CSE'd)", TIDY),
    ],
    source: "working notes, sec. 5.4 and 6.1",
};

/// The cotangent, by what the value records.
pub static COTANGENT: Recipe = Recipe {
    when: When::Records,
    from: Start::Recipe(&VALUE_AND_COTANGENT, Derivative::Vjp),
    steps: &[quiet(&[Pass::Cotangent, Pass::ShareValues]), step("Reverse-mode derivative (CSE'd)", TIDY)],
    source: "working notes, sec. 5.4",
};

static COTANGENT_BY_HALVES: Recipe = Recipe {
    when: When::RecordsInHalves,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves]), step("Reverse-mode derivative", TIDY)],
    source: "working notes, sec. 6.1",
};

static RECORDED_HALVES: Recipe = Recipe {
    when: When::Records,
    from: Start::Recipe(&VALUE_AND_COTANGENT, Derivative::Vjp),
    steps: &[quiet(&[Pass::CutRecorded])],
    source: "working notes, sec. 6.1",
};

static HALVES: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::Rev]),
    steps: &[quiet(&[Pass::ValueBeside, Pass::Cut])],
    source: "working notes, sec. 6.1",
};

static BOTH_HALVES: Recipe = Recipe {
    when: When::Always,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves])],
    source: "working notes, sec. 6.1",
};

static WRITTEN_HALVES: Recipe = Recipe {
    when: When::HalvesWritten,
    from: Start::Calls(&[Derivative::SufFwdPass, Derivative::SufRevPass]),
    steps: &[quiet(&[Pass::CallHalves]), quiet(FINISH)],
    source: "the user's definition",
};

static SYMMETRIC: Recipe = Recipe {
    when: When::Symmetric,
    from: Start::Calls(&[Derivative::Fwd, Derivative::Rev]),
    steps: &[quiet(&[Pass::Symmetry]), quiet(FINISH)],
    source: "symmetry of second derivatives",
};

static SYMMETRIC_WITH_VALUE: Recipe = Recipe {
    when: When::SymmetricWithValue,
    from: Start::Calls(&[Derivative::Fwd, Derivative::Rev]),
    steps: &[quiet(&[Pass::SymmetryWithValue]), quiet(FINISH)],
    source: "symmetry of second derivatives",
};

static SHAPE: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Normal, Pass::Shape]), quiet(FINISH)],
    source: "paper 001, shape analysis",
};

/// The function through the category language, as the derivation `split` takes its normal form.
pub static CATEGORY: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[
        step("The category language", &[Pass::Anf, Pass::Convert]),
        step("The category language, pruned", &[Pass::Prune]),
        step("Back from the category language", &[Pass::Back]),
    ],
    source: "working notes, Figs. 9-11",
};

static THROUGH_CATEGORY: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Convert, Pass::Prune, Pass::Back, Pass::Rename])],
    source: "working notes, Figs. 9-11",
};

static GRADIENT: Recipe = dense(&[Derivative::Rev]);
static HESSIAN_VECTOR: Recipe = dense(&[Derivative::Fwd, Derivative::Grad]);
static HESSIAN: Recipe = dense(&[Derivative::JacFwd, Derivative::Grad]);
static DENSE_JACOBIAN: Recipe = dense(&[Derivative::JacFwd, Derivative::JacRev]);
static COLUMNS: Recipe = dense(&[Derivative::Fwd]);
static ROWS: Recipe = dense(&[Derivative::Rev]);

const DENSE: &[Step] = &[quiet(&[Pass::Dense]), quiet(FINISH)];

const fn dense(of: &'static [Derivative]) -> Recipe {
    Recipe { when: When::Always, from: Start::Calls(of), steps: DENSE, source: "figures/dense" }
}

static PART: Recipe = Recipe {
    when: When::Always,
    from: Start::Function,
    steps: &[quiet(&[Pass::Rename])],
    source: "figures/fig06_jacobian",
};

/// Returns the row of a derivative.
#[rustfmt::skip]
pub fn entry(derivative: &Derivative) -> &'static Entry {
    macro_rules! row {
        ($typing:ident, $title:literal, [$($recipe:ident),*]) => {{
            static ENTRY: Entry = Entry { typing: Typing::$typing, title: $title, recipes: &[$(&$recipe),*] };
            &ENTRY
        }};
    }
    match derivative {
        Derivative::D => row!(Jacobian, "the Jacobian, a linear map", [WRITTEN_JACOBIAN, OF_EXTERNAL, JACOBIAN]),
        Derivative::Dt => row!(Transposed, "the transposed Jacobian", [OF_EXTERNAL, TRANSPOSED]),
        Derivative::Tupled => row!(Tupled, "the value with the Jacobian", [OF_EXTERNAL, TUPLED]),
        Derivative::Polymorphic => row!(Polymorphic, "linear map in, linear map out", [OF_EXTERNAL, POLYMORPHIC]),
        Derivative::Fwd => row!(Forward, "the forward derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, SYMMETRIC, TANGENT, FORWARD]),
        Derivative::Rev => row!(Reverse, "the reverse derivative",
            [AS_WRITTEN, OF_PART, OF_EXTERNAL, WRITTEN_HALVES, SYMMETRIC, COTANGENT_BY_HALVES, COTANGENT, REVERSE]),
        Derivative::Jvp => row!(ForwardWithValue, "the value with the forward derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, VALUE_AND_TANGENT, VALUE_BESIDE_TANGENT]),
        Derivative::Vjp => row!(ReverseWithValue, "the value with the reverse derivative",
            [OF_EXTERNAL, SYMMETRIC_WITH_VALUE, VALUE_AND_COTANGENT, VALUE_BESIDE_COTANGENT]),
        Derivative::SufFwdPass => row!(FirstHalf, "the value with the record B", [OF_EXTERNAL, RECORDED_HALVES, HALVES]),
        Derivative::SufRevPass => row!(SecondHalf, "the cotangent from the record B",
            [OF_EXTERNAL, RECORDED_HALVES, HALVES]),
        Derivative::SufRev => row!(Reverse, "the reverse derivative by its two halves", [OF_EXTERNAL, BOTH_HALVES]),
        Derivative::Shape => row!(Shape, "the shape of the value", [OF_EXTERNAL, SHAPE]),
        Derivative::Cl => row!(Same, "the function through the category language and back", [THROUGH_CATEGORY]),
        Derivative::Grad => row!(Gradient, "the gradient", [GRADIENT]),
        Derivative::Hvp => row!(HessianVector, "the product of Hessian and vector", [HESSIAN_VECTOR]),
        Derivative::Hess => row!(Hessian, "the dense Hessian", [HESSIAN]),
        Derivative::Jac => row!(Blocks, "the dense Jacobian, by columns or rows, whichever are fewer", [DENSE_JACOBIAN]),
        Derivative::JacFwd => row!(Blocks, "the dense Jacobian, by columns", [COLUMNS]),
        Derivative::JacRev => row!(Blocks, "the dense Jacobian, by rows", [ROWS]),
        Derivative::Wrt(_) => row!(Same, "the function with respect to parts of its argument", [PART]),
    }
}

/// What `lmc demo` shows.
#[derive(Debug)]
pub enum Shown {
    /// The function as it is written.
    Original(&'static str),
    /// The steps of a recipe that have a heading, for the function itself.
    Form(&'static Recipe),
    /// The steps of a recipe that have a heading, for a derivative.
    Way(&'static Recipe, Derivative),
    /// A derivative as it comes out, by whichever recipe.
    Whole(&'static str, Derivative),
}

const ORIGINAL: Shown = Shown::Original("Original definition");

/// Returns what `lmc demo` shows of a derivation, in order.
pub fn shown(derivation: Derivation) -> &'static [Shown] {
    match derivation {
        Derivation::Jacobian => {
            static SHOWN: [Shown; 6] = [
                ORIGINAL,
                Shown::Form(&NORMAL),
                Shown::Way(&JACOBIAN, Derivative::D),
                Shown::Way(&FORWARD, Derivative::Fwd),
                Shown::Way(&TRANSPOSED, Derivative::Dt),
                Shown::Way(&REVERSE, Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Tupled => {
            static SHOWN: [Shown; 7] = [
                ORIGINAL,
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
            static SHOWN: [Shown; 8] = [
                ORIGINAL,
                Shown::Form(&NORMAL),
                Shown::Way(&POLYMORPHIC, Derivative::Polymorphic),
                Shown::Way(&VALUE_AND_TANGENT, Derivative::Jvp),
                Shown::Way(&TANGENT, Derivative::Fwd),
                Shown::Way(&JACOBIAN, Derivative::D),
                Shown::Way(&TRANSPOSED, Derivative::Dt),
                Shown::Way(&REVERSE, Derivative::Rev),
            ];
            &SHOWN
        }
        Derivation::Split => {
            static SHOWN: [Shown; 7] = [
                ORIGINAL,
                Shown::Form(&NORMAL),
                Shown::Form(&CATEGORY),
                Shown::Way(&VALUE_AND_COTANGENT, Derivative::Vjp),
                Shown::Whole("Forward half", Derivative::SufFwdPass),
                Shown::Whole("Reverse half", Derivative::SufRevPass),
                Shown::Whole("Reverse-mode derivative", Derivative::Rev),
            ];
            &SHOWN
        }
    }
}

/// Returns the headings under which `lmc demo` shows a derivation, in order.
pub fn headings(derivation: Derivation) -> impl Iterator<Item = &'static str> {
    shown(derivation).iter().flat_map(|shown| match shown {
        Shown::Original(heading) | Shown::Whole(heading, _) => vec![*heading],
        Shown::Form(recipe) | Shown::Way(recipe, _) => recipe.steps.iter().filter_map(|step| step.heading).collect(),
    })
}

impl Recipe {
    /// Returns the steps before the one that shares and tidies: other derivatives are made from their result.
    pub fn before_sharing(&self) -> &'static [Step] {
        self.split().0
    }

    /// Returns the step that shares and tidies, where there is one.
    pub fn sharing(&self) -> &'static [Step] {
        self.split().1
    }

    fn split(&self) -> (&'static [Step], &'static [Step]) {
        let is_sharing = |step: &Step| step.passes.contains(&Pass::Rules);
        self.steps.split_at(self.steps.iter().position(is_sharing).unwrap_or(self.steps.len()))
    }
}

impl When {
    /// Returns the condition in words.
    pub fn text(self) -> &'static str {
        match self {
            When::Always => "any function",
            When::Written => "where this derivative is written by hand",
            When::External => "where f is implemented elsewhere",
            When::PartOfWritten => "with respect to parts, where the derivative with respect to all is written by hand",
            When::HalvesWritten => "where the two halves are written by hand",
            When::Symmetric => "where f is a reverse derivative, by symmetry",
            When::SymmetricWithValue => "where f is a reverse derivative and all of its point varies, by symmetry",
            When::Records => "where the derivation of f is `tupled` or `split`, with records",
            When::RecordsInHalves => "where the derivation of f is `split`, with records",
            When::Pairs => "where the derivation of f is `tupled` or `polymorphic`",
        }
    }

    /// Returns whether the condition asks for the derivation of f, such as `tupled`.
    pub fn asks_for_derivation(self) -> bool {
        match self {
            When::Records | When::RecordsInHalves | When::Pairs => true,
            When::Always | When::Written | When::External | When::PartOfWritten => false,
            When::HalvesWritten | When::Symmetric | When::SymmetricWithValue => false,
        }
    }
}
