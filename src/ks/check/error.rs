//! The errors of the checker: a function makes each, as a row of code, message, label and remedy.
//!
//! A `name` is as the user wrote it. `explain/errors.md` has a section for each code.

use crate::ks::diagnostic::Diagnostic;
use lm::sizes::SizedType;
use lm::term::{Derivative, FunName};
use lm::types::Type;
use std::fmt::Display;
use std::sync::Arc;

pub fn unknown_variable(name: impl Display, suggestion: Option<String>) -> Diagnostic {
    Diagnostic::error("E201", format!("unknown variable `{name}`")).suggestion(suggestion)
}

/// Makes the error for a name that no function has.
pub fn unknown_function(name: impl Display, suggestion: Option<String>) -> Diagnostic {
    Diagnostic::error("E202", format!("unknown function `{name}`")).suggestion(suggestion)
}

pub fn unknown_type(name: impl Display, suggestion: Option<String>) -> Diagnostic {
    Diagnostic::error("E203", format!("unknown type `{name}`")).suggestion(suggestion)
}

/// Makes the error for `[name f]` where `name` is no derivative.
pub fn unknown_derivative(name: impl Display, suggestion: Option<String>) -> Diagnostic {
    Diagnostic::error("E204", format!("unknown derivative `{name}`")).suggestion(suggestion)
}

/// Makes the error for `(gdef d f name)` where `name` is no derivation.
pub fn unknown_derivation(name: impl Display, suggestion: Option<String>) -> Diagnostic {
    Diagnostic::error("E204", format!("unknown derivation `{name}`")).suggestion(suggestion)
}

/// Makes the error for `[wrt$x f]`, where x is no number.
pub fn no_places(name: impl Display) -> Diagnostic {
    Diagnostic::error("E204", format!("unknown derivative `{name}`"))
        .remedy("count parameters from 1: `[wrt$1 f]`, `[wrt$1$3 f]`")
}

/// Makes the error for a function's name where a value is needed, as an argument of `called`.
pub fn function_as_argument(name: &FunName, called: &FunName) -> Diagnostic {
    let error = function_as_value(name);
    match called.base.parse::<Derivative>() {
        Ok(_) if called.derivations.is_empty() => {
            error.remedy(format!("write the derivative as `([{called} {name}] ...)`"))
        }
        _ => error,
    }
}

/// Makes the error for a function's name where a value is needed.
pub fn function_as_value(name: impl Display) -> Diagnostic {
    let remedy = format!("call it, with parentheses: `({name} ...)`");
    Diagnostic::error("E205", format!("the function `{name}` is not a value")).remedy(remedy)
}

/// Makes the error for a call of a variable.
pub fn not_a_function(name: impl Display, ty: &Type) -> Diagnostic {
    Diagnostic::error("E206", format!("the variable `{name}`, of type `{ty}`, is not a function"))
}

/// Makes the error for a `lam` of several variables, or of none.
pub fn variables_of_lam(params: &[(Arc<str>, SizedType)]) -> Diagnostic {
    let message = format!("a `lam` takes one variable, not {}", params.len());
    let (names, types): (Vec<String>, Vec<String>) =
        params.iter().map(|(x, ty)| (x.to_string(), ty.to_string())).unzip();
    let remedy = match params {
        [] => "write `(lam (_ : (Tuple)) e)`".into(),
        _ => {
            let p = ["p", "q", "parts"].into_iter().find(|p| !names.iter().any(|name| name == p)).unwrap_or("all");
            let (names, types) = (names.join(" "), types.join(" "));
            format!("take the tuple of them: `(lam ({p} : Tuple {types}) (let (({names}) {p}) e))`")
        }
    };
    Diagnostic::error("E207", message).remedy(remedy)
}

/// Makes the error for a malformed form; `what` names the form, and `grammar` its right shape.
pub fn malformed(what: &str, grammar: &str) -> Diagnostic {
    Diagnostic::error("E207", format!("malformed {what}")).remedy(format!("write `{grammar}`"))
}

pub fn nested_pattern() -> Diagnostic {
    Diagnostic::error("E207", "patterns do not nest: a `let` takes apart one tuple at a time")
        .remedy("name the inner tuple: write `(let ((p x) e) (let ((m s) p) body))` for `((m s) x)`")
}

pub fn reserved(name: &str) -> Diagnostic {
    let error = Diagnostic::error("E208", format!("`{name}` is reserved and cannot name anything"));
    match name {
        "tuple" => error.remedy("for the pairs of two vectors write `vectorZip`, for a function `(lam (p : T) e)`"),
        _ => error,
    }
}

pub fn duplicate_definition(name: impl Display, argument: &Type) -> Diagnostic {
    Diagnostic::error("E209", format!("`{name}` is defined twice on the argument type `{argument}`"))
        .label("defined again here")
        .remedy("rename one of them, or give it another argument type")
}

/// Makes the error for a name twice in one `group` of names: a parameter list or a pattern.
pub fn duplicate_variable(name: impl Display, group: &str) -> Diagnostic {
    Diagnostic::error("E210", format!("`{name}` is bound twice in one {group}")).label("bound again here")
}

/// `expected` has the alternatives, each a list of types.
pub fn wrong_arity(name: impl Display, arity: usize, found: usize, expected: &[String]) -> Diagnostic {
    let (s, was) = (plural(arity), if found == 1 { "was" } else { "were" });
    Diagnostic::error("E211", format!("`{name}` takes {arity} argument{s}, but {found} {was} given"))
        .remedy(format!("`{name}` takes {}", alternatives(expected)))
}

/// `expected` has the alternatives, each a list of types.
pub fn wrong_arguments(name: impl Display, expected: &[String], found: &[Type]) -> Diagnostic {
    Diagnostic::error("E212", format!("`{name}` does not take arguments of type {}", list(found))).remedy(format!(
        "`{name}` takes {}{}",
        alternatives(expected),
        conversion(expected, found)
    ))
}

/// Returns how arguments become what is expected, if that is a usual matter.
fn conversion(expected: &[String], found: &[Type]) -> &'static str {
    let others = [
        (Type::Integer, Type::Float, ". Write `2.0` for `2`, and `(to_float n)` for `n`"),
        (
            Type::vec(Type::vec(Type::Float)),
            Type::Tensor(2, Arc::new(Type::Float)),
            ". `(rowsToMatrix v)` is the matrix of rows v",
        ),
    ];
    let with = |from: &Type, to: &Type| {
        let types = found.iter().map(|ty| if ty == from { to.to_string() } else { ty.to_string() });
        types.collect::<Vec<_>>().join(" ")
    };
    let fits = |from: &Type, to: &Type| found.contains(from) && expected.contains(&with(from, to));
    others.iter().find(|(from, to, _)| fits(from, to)).map_or("", |(.., how)| how)
}

/// Makes the error for `[wrt$i f]`, where no f has such parameters.
pub fn no_such_parameters(name: impl Display, found: &[Type]) -> Diagnostic {
    Diagnostic::error("E212", format!("`{name}` does not take arguments of type {}", list(found)))
        .remedy("`wrt` counts the parameters of the function from 1, those that have Floats")
}

/// Makes the error for a derivative of a parameter that is a function.
pub fn derivative_of_parameter(name: impl Display) -> Diagnostic {
    Diagnostic::error("E226", format!("`{name}` is a parameter, and has no derivatives")).remedy(format!(
        "write `(diff {name} x)` for its value and its derivative at a Float, `(grad {name} v)` at a vector"
    ))
}

pub fn ambiguous(name: impl Display, candidates: &[String]) -> Diagnostic {
    Diagnostic::error("E213", format!("`{name}` may mean several functions"))
        .remedy(format!("write {}", alternatives(candidates)))
}

pub fn branches_disagree(then: &Type, otherwise: &Type) -> Diagnostic {
    Diagnostic::error("E214", format!("the branches of this `if` have different types: `{then}` and `{otherwise}`"))
}

/// Makes the error for a condition of `form`: `if` or `assert`.
pub fn not_bool(form: &str, found: &Type) -> Diagnostic {
    Diagnostic::error("E215", format!("the condition of `{form}` has type `{found}`, not `Bool`"))
        .label(format!("this has type `{found}`"))
}

pub fn wrong_result(name: impl Display, declared: &Type, found: &Type) -> Diagnostic {
    Diagnostic::error("E216", format!("the body of `{name}` has type `{found}`, but `{declared}` is declared"))
        .label(format!("this has type `{found}`"))
}

pub fn wrong_pattern(variables: usize, found: &Type) -> Diagnostic {
    let s = plural(variables);
    let message = format!("a pattern of {variables} variable{s} cannot take apart a value of type `{found}`");
    Diagnostic::error("E217", message)
}

/// Makes the error for `get$i$n` of a tuple of another length, or of no tuple.
pub fn wrong_projection(name: impl Display, found: &Type) -> Diagnostic {
    Diagnostic::error("E218", format!("`{name}` cannot be applied to a value of type `{found}`"))
        .remedy("write n as the number of components that the tuple has: `get$i$n`")
}

/// Makes the error for `get$i$n` with i out of range.
pub fn bad_projection(name: impl Display) -> Diagnostic {
    Diagnostic::error("E219", format!("`{name}` names no component of a tuple"))
        .remedy("count components from 1 to n: `get$i$n`")
}

pub fn wrong_main() -> Diagnostic {
    Diagnostic::error("E220", "`main` must take no parameters and return `Integer`")
        .remedy("write `(def main Integer () ...)`")
}

/// Makes the error for a derivative by hand whose type is not what the function demands.
pub fn wrong_derivative(name: impl Display, expected: &str, found: &str) -> Diagnostic {
    Diagnostic::error("E221", format!("`{name}` must have type {expected}, not {found}"))
}

/// `what` ends with a verb: `functions as values are`.
pub fn not_supported(what: &str) -> Diagnostic {
    Diagnostic::error("E222", format!("{what} not supported yet"))
}

pub fn lambda_as_value() -> Diagnostic {
    Diagnostic::error("E223", "a `lam` can only be an argument of a call")
        .remedy("write it where it is used: `(build n (lam (i : Integer) e))`")
}

/// Makes the error for a function as an argument where none is called.
pub fn lambda_as_argument(name: impl Display) -> Diagnostic {
    Diagnostic::error("E223", format!("`{name}` takes values, and a function is not a value"))
        .remedy("write `(build n f)` for the tensor of the first n values of a function of Integers")
}

pub fn wrong_shape(tensor: &Type, found: &Type) -> Diagnostic {
    Diagnostic::error("E224", format!("a shape of `{tensor}` has type `{}`, not `{found}`", tensor.shape()))
}

/// Makes the error for a definition that passes larger functions to itself without end.
pub fn endless_functions(name: impl Display) -> Diagnostic {
    Diagnostic::error("E225", format!("`{name}` calls itself with a new function each time"))
        .remedy(format!("within `{name}`, pass on the functions that it was given"))
}

pub fn derivative_of_second_order(name: impl Display) -> Diagnostic {
    Diagnostic::error("E226", format!("`{name}` takes functions, so it has no derivatives of its own"))
        .remedy("differentiate a function that calls it")
}

/// Makes the error for a rule whose sides have different types.
pub fn sides_disagree(name: impl Display, template: &Type, found: &Type) -> Diagnostic {
    Diagnostic::error(
        "E227",
        format!("the rule `{name}` replaces a term of type `{template}` by one of type `{found}`"),
    )
}

pub fn unbound_pattern(name: impl Display, variable: impl Display) -> Diagnostic {
    Diagnostic::error("E228", format!("the template of the rule `{name}` does not mention `{variable}`"))
}

/// Makes the error for a template that applies a function to a term that it does not bind.
pub fn function_of_pattern(name: impl Display, function: impl Display) -> Diagnostic {
    Diagnostic::error(
        "E236",
        format!("the template of the rule `{name}` applies `{function}` to something else than its own variable"),
    )
    .remedy(format!(
        "apply `{function}` to the variable of a `lam` around it, as in `(build n (lam (i : Integer) ({function} i)))`"
    ))
}

/// Makes the error for a call of a half of a reverse derivative when its record is not known yet.
pub fn unknown_record(half: impl Display) -> Diagnostic {
    Diagnostic::error("E229", format!("the type of the record of `{half}` depends on itself"))
        .remedy("call it from a function outside of this recursion")
}

/// Makes the error for a half of a reverse derivative that is written by hand without the other half.
pub fn one_half(written: impl Display, missing: impl Display) -> Diagnostic {
    Diagnostic::error("E230", format!("`{written}` is written by hand, but not `{missing}`"))
        .remedy("write both halves: the second takes the record that the first gives")
}

/// Makes the error for two `gdef`s that choose different derivations for one function.
pub fn two_derivations(of: impl Display, first: &str, second: &str) -> Diagnostic {
    let message = format!("two `gdef`s choose different derivations for `{of}`: {first} and {second}");
    Diagnostic::error("E231", message).remedy("choose one derivation for all derivatives of a function")
}

/// Makes the error for a gradient of a function whose result is no Float.
pub fn no_gradient(name: impl Display, of: impl Display, result: &Type) -> Diagnostic {
    Diagnostic::error("E232", format!("`{name}` needs a function that gives a Float, but `{of}` gives `{result}`"))
        .remedy(format!(
            "write `[jac {of}]` for all derivatives, or `[rev {of}]`, whose cotangent says which sum to differentiate"
        ))
}

/// Makes the error for a name that asks for too many derivatives of derivatives of a function.
pub fn nested_derivatives(of: impl Display, limit: usize) -> Diagnostic {
    Diagnostic::error("E233", format!("derivatives of `{of}` are nested deeper than {limit}"))
        .remedy("define a function that gives what is needed of an inner derivative, and differentiate that one")
}

/// Makes the error for a built-in that goes through all components of a tuple, and a tuple of too many.
pub fn too_many_components(name: impl Display, limit: usize, found: usize) -> Diagnostic {
    Diagnostic::error("E234", format!("`{name}` takes tuples of at most {limit} components, but this has {found}"))
        .remedy("take the tuple apart, or put what is alike into a vector")
}

/// Makes the error for a checkpoint around another term than a fold.
pub fn no_fold() -> Diagnostic {
    Diagnostic::error("E235", "`checkpoint` takes a number of states and a fold")
        .label("this is no fold")
        .remedy("write `(checkpoint k (fold f a v))`")
}

/// Makes a warning about a negative index.
pub fn negative_index(index: i64) -> Diagnostic {
    Diagnostic::warning("W402", format!("the index {index} is out of range in every tensor"))
        .label("indices start at 0")
        .remedy("write the last element as `(index (sub (size v) 1) v)`")
}

/// Makes a warning about an Integer division by the literal 0.
pub fn division_by_zero() -> Diagnostic {
    Diagnostic::warning("W403", "this division fails whenever it runs")
        .label("the divisor is zero")
        .remedy("divide by another Integer, or by a Float: `(div x 0.0)` is infinite or no number")
}

/// Makes a warning about a variable with the name of a function.
pub fn hidden_function(name: impl Display) -> Diagnostic {
    Diagnostic::warning("W404", format!("the variable `{name}` has the name of a function"))
        .label("calls of this name still mean the function")
        .remedy("give the variable another name")
}

/// Makes the error for a `deriv` by a term that is no variable.
pub fn no_variable() -> Diagnostic {
    Diagnostic::error("E245", "`deriv` differentiates by a variable")
        .label("this is no variable")
        .remedy("give it a name, and use the name in the term: `(let (y e) (deriv (f y) y))`")
}

/// Makes the error for a `deriv` by a variable of a type without directions.
pub fn no_directions(name: impl Display, ty: &Type) -> Diagnostic {
    Diagnostic::error("E245", format!("`deriv` needs a Float or a tensor of Floats, but `{name}` has type `{ty}`"))
        .label("no directions to differentiate along")
        .remedy("differentiate by each Float or tensor in it, or define a function f of it and write `[jac f]`")
}

/// Makes the error for a `deriv` of a term that gives a linear map.
pub fn deriv_of_map(ty: &Type) -> Diagnostic {
    Diagnostic::error("E245", format!("`deriv` cannot differentiate a term of type `{ty}`"))
        .remedy("apply the map to a vector within the term: `(lmApply m v)`")
}

/// Makes the error for a `deriv` of a term with a linear map that is made outside of it.
pub fn deriv_with_map(name: impl Display) -> Diagnostic {
    Diagnostic::error(
        "E245",
        format!("`deriv` cannot differentiate a term in which the linear map `{name}` is a variable"),
    )
    .remedy(format!("make the map within the term: `(deriv (let ({name} ..) ..) x)`"))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn list(types: &[Type]) -> String {
    match types {
        [] => "`(Tuple)`".into(),
        _ => types.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", "),
    }
}

/// Joins names: `a`, `b` or `c`.
fn alternatives(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
