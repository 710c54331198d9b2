//! The evals of GradBench, one row each: a model, the functions to call, the forms of their results.
//!
//! A function's arguments are the fields of the input that have the names of its parameters, in the forms that
//! their types say (`json`). A model with a function `problem` takes them there, and gives its result to the function
//! that is called. A row may also name a function that turns a result into the output. Neither is timed.

use super::error::Error;

/// An eval.
#[derive(Debug)]
pub struct Eval {
    /// The name of its module.
    pub module: &'static str,
    /// The model, a program.
    pub text: &'static str,
    /// Objects in the input whose fields count as the input's own, as JSON pointers.
    pub sections: &'static [&'static str],
    /// The functions that messages may call.
    pub functions: &'static [Function],
}

/// A function of a model.
#[derive(Debug)]
pub struct Function {
    /// Its name, there and in the messages.
    pub name: &'static str,
    /// The function that turns the result into the output, if there is one.
    pub shown: Option<&'static str>,
    /// The form of the output.
    pub form: Form,
}

/// The form of a value in JSON.
#[derive(Debug)]
pub enum Form {
    /// Numbers as such, tuples and tensors as lists.
    Value,
    /// All Floats, in order, in one list.
    Flat,
    /// A tuple as an object, each component with its name.
    Fields(&'static [(&'static str, Form)]),
}

macro_rules! model {
    ($name:literal) => {
        include_str!(concat!("../../demos/gradbench/", $name, ".ks"))
    };
}

const fn gives(name: &'static str, form: Form) -> Function {
    Function { name, shown: None, form }
}

const fn number_or_list(name: &'static str) -> Function {
    gives(name, Form::Value)
}

const fn shows(name: &'static str, shown: &'static str, form: Form) -> Function {
    Function { name, shown: Some(shown), form }
}

const PRIMAL_GRADIENT: &[Function] = &[number_or_list("primal"), number_or_list("gradient")];

/// Modes of an outer and an inner derivative.
const MODES: &[Function] = &[number_or_list("ff"), number_or_list("fr"), number_or_list("rf"), number_or_list("rr")];

const BY_PARAMETERS: Form =
    Form::Fields(&[("alpha", Form::Value), ("mu", Form::Value), ("q", Form::Value), ("l", Form::Value)]);

const ERRORS: Form = Form::Fields(&[
    ("reproj_error", Form::Fields(&[("elements", Form::Value), ("repeated", Form::Value)])),
    ("w_err", Form::Fields(&[("element", Form::Value), ("repeated", Form::Value)])),
]);

const SPARSE: Form = Form::Fields(&[("rows", Form::Value), ("cols", Form::Value), ("vals", Form::Value)]);

/// The table.
pub static EVALS: &[Eval] = &[
    eval("hello", model!("hello"), &[number_or_list("square"), number_or_list("double")]),
    eval("lse", model!("lse"), PRIMAL_GRADIENT),
    eval("llsq", model!("llsq"), PRIMAL_GRADIENT),
    eval("gmm", model!("gmm"), &[number_or_list("objective"), gives("jacobian", BY_PARAMETERS)]),
    eval("ba", model!("ba"), &[shows("objective", "some_errors", ERRORS), shows("jacobian", "some_elements", SPARSE)]),
    Eval {
        sections: &["/data", "/data/model"],
        ..eval("ht", model!("ht"), &[number_or_list("objective"), number_or_list("jacobian")])
    },
    eval("kmeans", model!("kmeans"), &[number_or_list("cost"), number_or_list("dir")]),
    eval("lstm", model!("lstm"), &[number_or_list("objective"), gives("jacobian", Form::Flat)]),
    eval("ode", model!("ode"), PRIMAL_GRADIENT),
    eval("det", model!("det"), PRIMAL_GRADIENT),
    eval("particle", model!("particle"), MODES),
    eval("saddle", model!("saddle"), MODES),
];

const fn eval(module: &'static str, text: &'static str, functions: &'static [Function]) -> Eval {
    Eval { module, text, sections: &[], functions }
}

/// Returns the eval of a module.
pub fn find(module: &str) -> Result<&'static Eval, Error> {
    EVALS.iter().find(|eval| eval.module == module).ok_or_else(|| Error::UnknownModule(module.into()))
}

/// Returns all names.
pub fn names() -> String {
    EVALS.iter().map(|eval| eval.module).collect::<Vec<_>>().join(", ")
}
