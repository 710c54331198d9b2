//! The reasons why a message fails.

/// The reason why a message failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The line is no JSON.
    #[error("the message is no JSON: {0}")]
    NoJson(String),
    /// A field of the message is missing or has another type.
    #[error("the message has no `{field}` that is {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// The expected type.
        expected: &'static str,
    },
    /// No model exists for the module.
    #[error("there is no module `{0}`; the modules are {list}", list = super::evals::names())]
    UnknownModule(String),
    /// A model exists, but no message has defined it.
    #[error("the module `{0}` has not been defined")]
    NotDefined(String),
    /// The module has no such function.
    #[error("`{module}` has no function `{function}`; it has {known}")]
    UnknownFunction {
        /// The module.
        module: String,
        /// The function that the message names.
        function: String,
        /// The functions of the module.
        known: String,
    },
    /// The model does not compile.
    #[error("the model does not compile: {0}")]
    NotCompiled(String),
    /// The system gives no threads.
    #[error("there are no threads to run it: {0}")]
    NoThreads(String),
    /// The input, or a part of it, does not have the form that the model takes.
    #[error("{place} is not {expected}")]
    Input {
        /// The place, such as `input.x[3]`.
        place: String,
        /// The expected form.
        expected: String,
    },
    /// The model stopped.
    #[error("{0}")]
    Stopped(String),
    /// A number that JSON has no form for.
    #[error("the result has a number that is not finite, {0}")]
    NotFinite(f64),
    /// A panic of ours.
    #[error("internal error: this is a bug of lmc, standard error has the details")]
    Bug,
}
