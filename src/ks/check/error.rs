//! The errors of the checker.

use lm::types::Type;

/// Why s-expressions are no program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// A variable that is bound nowhere.
    #[error("unknown variable `{name}`")]
    UnknownVariable {
        /// As written.
        name: String,
        /// A known name close to it.
        suggestion: Option<String>,
    },
    /// A function that is defined nowhere.
    #[error("unknown function `{name}`")]
    UnknownFunction {
        /// As written.
        name: String,
        /// A known name close to it.
        suggestion: Option<String>,
    },
    /// A type that does not exist.
    #[error("unknown type `{name}`")]
    UnknownType {
        /// As written.
        name: String,
        /// A known name close to it.
        suggestion: Option<String>,
    },
    /// `[name f]` where `name` is no derivation.
    #[error("unknown derivation `{name}`")]
    UnknownDerivation {
        /// As written.
        name: String,
        /// A known name close to it.
        suggestion: Option<String>,
    },
    /// Two `gdef`s choose different derivations for one function.
    #[error("the derivatives of `{of}` are asked for by two derivations, {first} and {second}")]
    TwoDerivations {
        /// The function.
        of: String,
        /// As chosen first.
        first: &'static str,
        /// As chosen here.
        second: &'static str,
    },
    /// A function's name where a value should stand.
    #[error("the function `{0}` is not a value")]
    FunctionAsValue(String),
    /// A variable in the place of a function.
    #[error("the variable `{name}`, of type `{ty}`, is not a function")]
    NotAFunction {
        /// The variable.
        name: String,
        /// Its type.
        ty: Type,
    },
    /// A form whose parts are not as the grammar has them.
    #[error("malformed {what}")]
    Malformed {
        /// What it tries to be.
        what: &'static str,
        /// What it looks like when right.
        grammar: &'static str,
    },
    /// A pattern inside of a pattern.
    #[error("patterns do not nest: a `let` takes apart one tuple at a time")]
    NestedPattern,
    /// A reserved word as a name.
    #[error("`{0}` is reserved and cannot name anything")]
    Reserved(String),
    /// A function defined twice on the same argument type.
    #[error("`{name}` is defined twice on the argument type `{argument}`")]
    DuplicateDefinition {
        /// The function.
        name: String,
        /// The argument type of both.
        argument: Type,
    },
    /// A parameter list or pattern that binds a name twice.
    #[error("`{0}` is bound twice in one {1}")]
    DuplicateVariable(String, &'static str),
    /// The wrong number of arguments.
    #[error("`{name}` takes {expected} argument{}, but {found} {} given", plural(*.expected), was(*.found))]
    WrongArity {
        /// The function.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Arguments of types the function does not take.
    #[error("`{name}` does not take arguments of type {}", list(.found))]
    WrongArguments {
        /// The function.
        name: String,
        /// The alternatives, each a list of types.
        expected: Vec<String>,
        /// The argument types.
        found: Vec<Type>,
    },
    /// Several functions fit.
    #[error("`{name}` may mean several functions")]
    Ambiguous {
        /// As written.
        name: String,
        /// What it may mean.
        candidates: Vec<String>,
    },
    /// `if` with branches of different types.
    #[error("the branches of this `if` have different types: `{then}` and `{otherwise}`")]
    BranchesDisagree {
        /// Of the first branch.
        then: Type,
        /// Of the second branch.
        otherwise: Type,
    },
    /// A condition that is no Bool.
    #[error("the condition of `{form}` has type `{found}`, not `Bool`")]
    NotBool {
        /// `if` or `assert`.
        form: &'static str,
        /// The condition's type.
        found: Type,
    },
    /// A body of another type than declared.
    #[error("the body of `{name}` has type `{found}`, but `{declared}` is declared")]
    WrongResult {
        /// The function.
        name: String,
        /// The declared result type.
        declared: Type,
        /// The body's type.
        found: Type,
    },
    /// A tuple pattern for another tuple, or for no tuple.
    #[error("a pattern of {variables} variable{} cannot take apart a value of type `{found}`", plural(*.variables))]
    WrongPattern {
        /// How many variables.
        variables: usize,
        /// The value's type.
        found: Type,
    },
    /// `get$i$n` of another tuple, or of no tuple.
    #[error("`{name}` cannot be applied to a value of type `{found}`")]
    WrongProjection {
        /// As written.
        name: String,
        /// The value's type.
        found: Type,
    },
    /// `get$i$n` with `i` out of range.
    #[error("`{0}` names no component of a tuple")]
    BadProjection(String),
    /// `main` with parameters, or not of type Integer.
    #[error("`main` must take no parameters and return `Integer`")]
    WrongMain,
    /// A derivative written by hand whose type is not what the function demands.
    #[error("`{name}` must have type {expected}, not {found}")]
    WrongDerivative {
        /// The derivative.
        name: String,
        /// What the function demands.
        expected: String,
        /// What is written.
        found: String,
    },
    /// `lam` where a value should stand.
    #[error("a function may stand only as an argument of a call")]
    LambdaAsValue,
    /// A function as an argument of what does not call it.
    #[error("`{0}` takes values, and a function is none")]
    LambdaAsArgument(String),
    /// A half of a reverse derivative whose record is not known where it is called.
    #[error("the type of the record of `{0}` depends on itself")]
    UnknownRecord(String),
    /// One half of a reverse derivative by hand.
    #[error("`{written}` is written by hand, but not `{missing}`")]
    OneHalf {
        /// The half that is written.
        written: String,
        /// The other one.
        missing: String,
    },
    /// A rule whose sides have different types.
    #[error("the rule `{name}` replaces a `{template}` by a `{found}`")]
    SidesDisagree {
        /// The rule.
        name: String,
        /// The template's type.
        template: Type,
        /// The replacement's type.
        found: Type,
    },
    /// A rule with a parameter that its template does not mention.
    #[error("the template of the rule `{name}` does not mention `{variable}`")]
    UnboundPattern {
        /// The rule.
        name: String,
        /// The parameter.
        variable: String,
    },
    /// A definition that gives itself ever other functions.
    #[error("`{0}` calls itself with ever other functions")]
    EndlessFunctions(String),
    /// A gradient of a function whose result is no Float.
    #[error("`{name}` is asked for, but `{of}` gives `{result}`, not Float")]
    NoGradient {
        /// As written.
        name: String,
        /// The function.
        of: String,
        /// What it gives.
        result: Type,
    },
    /// A derivative of a definition that takes functions.
    #[error("`{0}` takes functions, so it has no derivatives of its own")]
    DerivativeOfSecondOrder(String),
    /// A shape of another type than the tensor has.
    #[error("a shape of `{tensor}` has type `{}`, not `{found}`", tensor.shape())]
    WrongShape {
        /// The type of the tensor.
        tensor: Type,
        /// The type of what is given.
        found: Type,
    },
    /// A part of the language that this version does not have.
    #[error("{0} not supported yet")]
    NotSupported(String),
}

impl CheckError {
    /// A stable code, for `lmc explain`.
    pub fn code(&self) -> &'static str {
        match self {
            CheckError::UnknownVariable { .. } => "E201",
            CheckError::UnknownFunction { .. } => "E202",
            CheckError::UnknownType { .. } => "E203",
            CheckError::UnknownDerivation { .. } => "E204",
            CheckError::TwoDerivations { .. } => "E231",
            CheckError::FunctionAsValue(_) => "E205",
            CheckError::NotAFunction { .. } => "E206",
            CheckError::Malformed { .. } | CheckError::NestedPattern => "E207",
            CheckError::Reserved(_) => "E208",
            CheckError::DuplicateDefinition { .. } => "E209",
            CheckError::DuplicateVariable(..) => "E210",
            CheckError::WrongArity { .. } => "E211",
            CheckError::WrongArguments { .. } => "E212",
            CheckError::Ambiguous { .. } => "E213",
            CheckError::BranchesDisagree { .. } => "E214",
            CheckError::NotBool { .. } => "E215",
            CheckError::WrongResult { .. } => "E216",
            CheckError::WrongPattern { .. } => "E217",
            CheckError::WrongProjection { .. } => "E218",
            CheckError::BadProjection(_) => "E219",
            CheckError::WrongMain => "E220",
            CheckError::WrongDerivative { .. } => "E221",
            CheckError::NotSupported(_) => "E222",
            CheckError::LambdaAsValue => "E223",
            CheckError::LambdaAsArgument(_) => "E223",
            CheckError::WrongShape { .. } => "E224",
            CheckError::EndlessFunctions(_) => "E225",
            CheckError::DerivativeOfSecondOrder(_) => "E226",
            CheckError::NoGradient { .. } => "E232",
            CheckError::UnknownRecord(_) => "E229",
            CheckError::OneHalf { .. } => "E230",
            CheckError::SidesDisagree { .. } => "E227",
            CheckError::UnboundPattern { .. } => "E228",
        }
    }

    /// What to do about it, where there is something to say.
    pub fn remedy(&self) -> Option<String> {
        match self {
            CheckError::UnknownVariable { suggestion, .. }
            | CheckError::UnknownFunction { suggestion, .. }
            | CheckError::UnknownType { suggestion, .. }
            | CheckError::UnknownDerivation { suggestion, .. } => {
                suggestion.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            CheckError::TwoDerivations { .. } => Some("choose one".into()),
            CheckError::FunctionAsValue(name) => Some(format!("call it, with parentheses: `({name} ...)`")),
            CheckError::NestedPattern => {
                Some("name the inner tuple: write `(let ((p x) e) (let ((m s) p) body))` for `((m s) x)`".into())
            }
            CheckError::Malformed { grammar, .. } => Some(format!("write `{grammar}`")),
            CheckError::DuplicateDefinition { .. } => {
                Some("a name may be defined again only on another argument type".into())
            }
            CheckError::WrongArguments { name, expected, .. } => {
                Some(format!("`{name}` takes {}", alternatives(expected)))
            }
            CheckError::Ambiguous { candidates, .. } => Some(format!("write {}", alternatives(candidates))),
            CheckError::WrongProjection { .. } => Some("`get$i$n` takes a tuple of n components".into()),
            CheckError::BadProjection(_) => Some("in `get$i$n`, i is from 1 to n".into()),
            CheckError::WrongMain => Some("write `(def main Integer () ...)`".into()),
            CheckError::LambdaAsValue => Some("write it where it is used: `(build n (lam (i : Integer) e))`".into()),
            CheckError::LambdaAsArgument(_) => {
                Some("`(build n f)` is the tensor of the first n values of a function of Integers".into())
            }
            CheckError::EndlessFunctions(name) => {
                Some(format!("a call of `{name}` within `{name}` can pass on the functions that it was given"))
            }
            CheckError::UnknownRecord(_) => {
                Some("call it from a function that it does not call itself, directly or not".into())
            }
            CheckError::OneHalf { .. } => {
                Some("write both: the second half takes the record that the first gives".into())
            }
            CheckError::NoGradient { of, .. } => Some(format!(
                "`[jac {of}]` has all derivatives; `[rev {of}]` takes a cotangent, and gives the gradient of one sum of them"
            )),
            CheckError::DerivativeOfSecondOrder(_) => Some("differentiate a function that calls it".into()),
            CheckError::NotAFunction { .. }
            | CheckError::SidesDisagree { .. }
            | CheckError::UnboundPattern { .. }
            | CheckError::WrongShape { .. }
            | CheckError::Reserved(_)
            | CheckError::DuplicateVariable(..)
            | CheckError::WrongArity { .. }
            | CheckError::BranchesDisagree { .. }
            | CheckError::NotBool { .. }
            | CheckError::WrongResult { .. }
            | CheckError::WrongPattern { .. }
            | CheckError::WrongDerivative { .. }
            | CheckError::NotSupported(_) => None,
        }
    }

    /// A few words for the marked text.
    pub fn label(&self) -> Option<String> {
        match self {
            CheckError::WrongResult { found, .. } | CheckError::NotBool { found, .. } => {
                Some(format!("this has type `{found}`"))
            }
            CheckError::DuplicateDefinition { .. } => Some("defined again here".into()),
            CheckError::DuplicateVariable(..) => Some("bound again here".into()),
            _ => None,
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn was(count: usize) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn list(types: &[Type]) -> String {
    match types {
        [] => "`(Tuple)`".into(),
        _ => types.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", "),
    }
}

/// `a`, `b` or `c`.
fn alternatives(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.as_slice() {
        [] => "nothing".into(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
