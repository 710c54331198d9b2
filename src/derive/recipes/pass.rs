//! Names the passes of recipes. The pipeline runs them.

use crate::derive::figures::fig07_08_pairs::Partner;
use lm::term::Mode;

/// A pass of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The form of a written definition that derivatives are made from: other primitives in place of those on arrays that
    /// derivations have no rules for, bodies in place of marked calls, maps of folds in place of folds of maps, marks of
    /// arguments on which calls do not depend.
    Prepare,
    /// Normal form, with no states in folds that need none; by the derivation `split`, through the category language.
    Normal,
    /// Normal form.
    Anf,
    /// UNF, from normal form.
    UnaryForm,
    /// The reverse derivative of UNF, step by step.
    Target,
    /// The value and the cotangents, by a sweep forward and one backward over UNF.
    Sweep,
    /// The category language, from normal form.
    Convert,
    /// The category language without unused values.
    Prune,
    /// Terms with variables, from the category language.
    Back,
    /// A copy with the name of the derivative.
    Rename,
    /// Functions of linear maps in place of their calls, and maps applied.
    WithoutMaps,
    /// Functions of linear maps in place of their calls.
    InlineMaps,
    /// Jacobians in place of their names.
    InlineJacobians,
    /// Linear maps applied, as far as the laws say.
    ApplyMaps,
    /// The Jacobian of a normal form.
    Jacobian,
    /// The Jacobian of a normal form, which reads all states of folds, whatever the program says of checkpoints.
    JacobianOfStates,
    /// The Jacobian that was written by hand, without names for maps.
    WrittenJacobian,
    /// The values of a normal form paired with their derivatives.
    Pair(Partner),
    /// The function on dual numbers.
    Dual,
    /// The function on dual numbers, at a point and a tangent; the value beside the tangent.
    Apart,
    /// The map that `[polymorphicR f]` gives at the map 1, applied to a cotangent.
    ReverseByMap,
    /// The laws of a schedule, then dead code and names that are used once.
    Simplify(&'static str),
    /// `lmTranspose` of the Jacobian.
    TransposeLater,
    /// Transposition pushed to the leaves.
    Transpose,
    /// A map at a point, applied to a vector.
    ApplyTo(Mode),
    /// A vector applied to a map at a point, from the right.
    ApplyFromRight,
    /// Application pushed to the leaves, until no map is left.
    Apply,
    /// The place of the function, for terms that have none in the source.
    Place,
    /// The tangent of a pair.
    Tangent,
    /// The value beside a derivative.
    ValueBeside,
    /// The Jacobian with values that record the needs of the map.
    Record,
    /// The forward half in the category language, with the reverse half as a map that reads its record.
    Split,
    /// The reverse half in the category language, of the pass `split`.
    ReverseHalf,
    /// Transposed Jacobians of single operators, as the laws for their operators have them.
    TransposeLeaves,
    /// The map of that, whose parameters are the values that it reads.
    MapAlone,
    /// The map, transposed.
    TransposeMap,
    /// The transposed map, applied to a cotangent.
    ApplyMap,
    /// The values again, with the cotangent.
    WithValues,
    /// Equal values computed once; nothing is merged.
    ShareValues,
    /// The cotangent of value and cotangent.
    Cotangent,
    /// One of the two halves of value and cotangent, cut at the record.
    CutRecorded,
    /// One of the two halves of value and cotangent, cut at the cotangent.
    Cut,
    /// The forward half, then the reverse half.
    CallHalves,
    /// The derivative of a reverse derivative, from derivatives of the function below.
    Symmetry,
    /// The derivative by `Symmetry`, with the value.
    SymmetryWithValue,
    /// The shape of the value.
    Shape,
    /// The gradient, by a call of the reverse derivative.
    Gradient,
    /// The product of Hessian and vector, by a call of the forward derivative of the gradient.
    HessianVector,
    /// The Hessian, by a call of the columns of the gradient.
    Hessian,
    /// The columns or the rows of the Jacobian, whichever are fewer.
    ColumnsOrRows,
    /// The columns of the Jacobian, each by the forward derivative, or the rows, each by the reverse derivative.
    Directions(Mode),
    /// The gradient, the reverse derivative or the columns of the Jacobian, by a call of the function on dual numbers for
    /// each direction.
    LoopOverDirections,
    /// A strategy on the whole definition: laws of arrays, passes, and stages, whose results `lmc demo` shows.
    Strategy(&'static str),
    /// The derivative of an external function, from the derivatives that the user wrote.
    OfExternal,
    /// The derivative as it was written by hand.
    AsWritten,
    /// The derivative with respect to parts, from the one that was written by hand.
    PartOfWritten,
    /// Binders of its own, without dead code.
    Refresh,
    /// Equal terms and calls at one point computed once.
    Share,
    /// Folds over pairs of a state and a tangent, in place of loops that read the states of a fold.
    CarryStates,
    /// The form that a person would write.
    Tidy,
    /// The rewrite rules of the program.
    Rules,
}

impl Pass {
    /// Returns the name, as `lmc explain` prints it: `simplify jacobian`, `merge_calls`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars().filter(|c| !"\")".contains(*c)) {
            match c {
                '(' => name.push(' '),
                c if c.is_uppercase() && !name.is_empty() && !name.ends_with(' ') => name.push('_'),
                _ => {}
            }
            if c != '(' {
                name.extend(c.to_lowercase());
            }
        }
        name
    }
}
