//! The errors of sizes. `explain/errors.md` has a section for each code.

use crate::ks::diagnostic::Diagnostic;
use lm::sizes::Undetermined;
use std::fmt::Display;

/// The grammar of sizes, for messages.
pub const SIZES: &str = "k, n, (add n m), (sub n m) or (mul n m); k is not negative, and n is a name that is no type";

/// Makes the error for sizes in the arguments of a call that are to be equal; `places` name them, `size` is what both are
/// in the definition.
pub fn arguments_differ(callee: impl Display, places: &[String; 2], size: &str, numbers: &[String; 2]) -> Diagnostic {
    let ([a, b], [n, m]) = (places, numbers);
    let message = match a == size {
        true if size == n => format!("the size of `{b}` is `{m}`, where `{callee}` takes `{size}`"),
        true => format!("the size of `{b}` is `{m}`, where `{callee}` takes `{size}`, which is `{n}`"),
        false => format!("the sizes of `{a}` and `{b}` differ: `{callee}` is called with {n} and {m}"),
    };
    Diagnostic::error("E240", message).remedy("give both the same size")
}

/// Makes the error for two tensors of an operation.
pub fn operands_differ(numbers: &[String; 2]) -> Diagnostic {
    let [n, m] = numbers;
    Diagnostic::error("E240", format!("the sizes `{n}` and `{m}` differ")).remedy("give both the same size")
}

/// Makes the error for a variable of a `lam`.
pub fn annotation_differs(numbers: &[String; 2]) -> Diagnostic {
    let [n, m] = numbers;
    Diagnostic::error("E240", format!("this variable has the size `{m}`, but its type says `{n}`"))
        .remedy("write the size that it has, or none")
}

/// Makes the error for a result.
pub fn result_differs(name: impl Display, wanted: &str, numbers: &[String; 2]) -> Diagnostic {
    let [n, m] = numbers;
    Diagnostic::error("E240", format!("the result of `{name}` has the size `{m}`, but {wanted} `{n}`"))
        .remedy("write the size that it has, or none")
}

/// Makes the error for a parameter of a derivative that is written by hand.
pub fn parameter_differs(name: impl Display, place: &str, numbers: &[String; 2]) -> Diagnostic {
    let [n, m] = numbers;
    let message = format!("`{place}` of `{name}` has the size `{m}`, but what it is the derivative of says `{n}`");
    Diagnostic::error("E240", message).remedy("write the size that it has, or none")
}

/// Makes the error for an argument that is a size.
pub fn negative_size(callee: impl Display, variable: &str, number: &str) -> Diagnostic {
    Diagnostic::error("E240", format!("`{callee}` is called with the size `{variable}` = {number}"))
        .remedy("sizes are not negative")
}

/// Makes the error for a tensor, or a sum, of a negative number of elements.
pub fn negative_count(number: &str) -> Diagnostic {
    Diagnostic::error("E240", format!("the size `{number}` is negative")).remedy("sizes are not negative")
}

/// Makes the error for an index that is out of range in every run.
pub fn out_of_range(numbers: &[String; 2]) -> Diagnostic {
    let [k, n] = numbers;
    Diagnostic::error("E241", format!("the index `{k}` is out of range for the size `{n}`"))
        .remedy("indices start at 0, and are below the size")
}

/// Makes the error for what is not known, where all must be.
pub fn unknown_equality(numbers: &[String; 2]) -> Diagnostic {
    let [n, m] = numbers;
    Diagnostic::error("E242", format!("whether these sizes are equal is not known: `{n}` and `{m}`"))
        .remedy("write the same size in both types")
}

/// The same of an index.
pub fn unknown_range(numbers: &[String; 2], spelled: &[Option<String>; 2]) -> Diagnostic {
    let ([k, n], (assertion, size)) = (numbers, in_range(numbers, spelled));
    Diagnostic::error("E242", format!("whether `{k}` is an index below `{n}` is not known"))
        .remedy(format!("write `{assertion}` around it, or give it the type `(Fin {size})`"))
}

/// The same of the elements of a tensor.
pub fn unknown_elements(n: &str, spelled: &Option<String>) -> Diagnostic {
    let size = spelled.as_deref().unwrap_or("n");
    Diagnostic::error("E242", format!("whether these elements are indices below `{n}` is not known"))
        .remedy(format!("give them the type `(Fin {size})`"))
}

/// The same of a number that is a size.
pub fn unknown_sign(variable: &str, spelled: &Option<String>) -> Diagnostic {
    let n = spelled.as_deref().unwrap_or("n");
    Diagnostic::error("E242", format!("whether the size `{variable}` is not negative is not known"))
        .remedy(format!("write `(assert (lte 0 {n}) ..)` around the call"))
}

/// Makes the error for an index of a type `(Fin ..)` where another limit is wanted; `limit` is its own.
pub fn wrong_limit(limit: Option<&str>, numbers: &[String; 2], spelled: &[Option<String>; 2]) -> Diagnostic {
    let [k, n] = numbers;
    let used = match limit {
        Some(limit) => format!("an index below `{limit}`"),
        None if is_literal(k) => format!("`{k}`"),
        None => "any Integer".to_string(),
    };
    let (assertion, _) = in_range(numbers, spelled);
    Diagnostic::error("E243", format!("{used} is used where one below `{n}` is wanted"))
        .remedy(format!("write `{assertion}` around it, or make both sizes one"))
}

/// Returns the assertion that an index is in range, and the size: as the program writes them, or with k and n for numbers
/// that have no name in it.
fn in_range(numbers: &[String; 2], spelled: &[Option<String>; 2]) -> (String, String) {
    let written = |i: usize, letter: &str| {
        let of = numbers[i].strip_prefix("size(").and_then(|rest| rest.strip_suffix(')'));
        let of = of.filter(|of| of.chars().all(|c| c.is_alphanumeric() || c == '_')).map(|of| format!("(size {of})"));
        spelled[i].clone().or(of).unwrap_or_else(|| letter.to_string())
    };
    let (k, n) = (written(0, "k"), written(1, "n"));
    let assertion = match is_literal(&k) {
        true => format!("(assert (lt {k} {n}) ..)"),
        false => format!("(assert (and (lte 0 {k}) (lt {k} {n})) ..)"),
    };
    (assertion, n)
}

/// Returns whether a number is written as one that is not negative.
fn is_literal(number: &str) -> bool {
    number.chars().all(|c| c.is_ascii_digit())
}

/// Makes the error for a size variable that no argument tells.
pub fn undetermined(what: &Undetermined) -> Diagnostic {
    let Undetermined { variable, is_in_parameters } = what;
    let (message, remedy) = match is_in_parameters {
        false => {
            (format!("the size `{variable}` of the result is in no parameter"), "use it in the type of a parameter")
        }
        true => (
            format!("no parameter tells the size `{variable}`: it is only in products, or more than once"),
            "use it by itself",
        ),
    };
    Diagnostic::error("E244", message).remedy(format!("{remedy}, or add a parameter `({variable} : Integer)`"))
}

/// Makes the error for a size variable in a body that only elements tell.
pub fn of_elements(variable: &str) -> Diagnostic {
    Diagnostic::error("E244", format!("the size `{variable}` is that of elements only, of which there may be none"))
        .remedy(format!("add a parameter `({variable} : Integer)`"))
}
