//! The argument at which a command calls a function: written by the user, the program's `example`, or random.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::{Input, shown};
use super::watch::Watch;
use crate::benchmark::argument::{SIZE, Written, elements, generated, needs_size};
use crate::gradcheck::example;
use crate::ks::check::Checked;
use crate::ks::diagnostic::Diagnostic;
use crate::ks::front::{self, Choices};
use crate::ks::source::Source;
use lm::interp::RuntimeError;
use lm::random::SplitMix;
use lm::scope::free_variables;
use lm::term::{Fun, FunName};
use lm::value::Value;

/// The options that say at which arguments.
#[derive(clap::Args)]
pub struct PointOptions {
    /// The argument, an expression of the program such as `model 1000 25 10`; a tuple for several parameters. The
    /// expression may use n, which takes the values of --sizes. Default: the value of the program's function `example`
    /// if there is one that fits and --sizes is not given; otherwise random values.
    #[arg(long, value_name = "EXPRESSION")]
    pub input: Option<String>,
    /// The values of n in --input. Without --input, the size of random tensors in each dimension; their elements are
    /// Floats in [0, 1) and Integers from 0 to n - 1.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub sizes: Vec<u32>,
}

impl PointOptions {
    /// Returns the sizes in order, or a single `None` if no sizes are given.
    pub fn in_order(&self) -> Vec<Option<u32>> {
        let mut sizes: Vec<Option<u32>> = self.sizes.iter().copied().map(Some).collect();
        sizes.sort();
        sizes.dedup();
        if sizes.is_empty() { vec![None] } else { sizes }
    }
}

/// The source of a function's arguments.
pub enum Argument {
    /// A text of the user, or the program's `example`.
    Written(Box<Written>),
    /// Random values.
    Generated,
}

impl Argument {
    /// Returns the source of the arguments of a function; and the program with the written argument, if it is one.
    ///
    /// Errors: the text is no expression of the argument's type; the sizes do not fit it; sizes are missing, or a type
    /// has no random values.
    pub fn new(
        input: &Input,
        fun: &Fun,
        options: &PointOptions,
        choices: Choices,
        format: ErrorFormat,
        watch: &Watch,
    ) -> Result<(Argument, Option<Input>), Failure> {
        let Some(text) = given(options, input, fun) else {
            can_be_generated(options, fun)?;
            return Ok((Argument::Generated, None));
        };
        let (written, checked) = check_written(input, fun, &text, choices, format, watch)?;
        let name = text.name();
        match (uses_size(&written, &checked), options.sizes.is_empty()) {
            (true, true) => {
                return Err(Failure::Usage(format!("`{name}` uses {SIZE}: say which, `--sizes 100,1000`")));
            }
            (false, false) => {
                return Err(Failure::Usage(format!("`{name}` does not use {SIZE}, so `--sizes` means nothing")));
            }
            _ => {}
        }
        let extended = input.extended(written.program.clone(), checked, watch);
        Ok((Argument::Written(Box::new(written)), Some(extended)))
    }

    /// Returns the argument of a function that an option gives, or the program's `example`; and the program with it.
    /// None where neither is there.
    ///
    /// Errors: the text is no expression of the argument's type, or uses a size.
    pub fn at_point(
        input: &Input,
        fun: &Fun,
        (option, text): (&str, Option<&str>),
        choices: Choices,
        format: ErrorFormat,
        watch: &Watch,
    ) -> Result<Option<(Argument, Input)>, Failure> {
        let given = text.map(|text| Source::new(option, text));
        let Some(text) = given.or_else(|| example_of(input, fun)) else { return Ok(None) };
        let (written, checked) = check_written(input, fun, &text, choices, format, watch)?;
        if uses_size(&written, &checked) {
            return Err(Failure::Usage(format!("`{option}` uses {SIZE}, which is no number here: write one")));
        }
        let extended = input.extended(written.program.clone(), checked, watch);
        Ok(Some((Argument::Written(Box::new(written)), extended)))
    }

    /// Returns the function that gives a written argument.
    pub fn function(&self) -> Option<&FunName> {
        match self {
            Argument::Written(written) => Some(&written.name),
            Argument::Generated => None,
        }
    }

    /// Describes the arguments in a few words.
    pub fn description(&self) -> String {
        match self {
            Argument::Written(written) => written.text.text().to_string(),
            Argument::Generated => "random values".to_string(),
        }
    }

    /// Returns the whole argument of a size. `call` calls a function of the program.
    ///
    /// Errors: those of `call`.
    pub fn at<E>(
        &self,
        fun: &Fun,
        size: Option<u32>,
        seed: u64,
        call: impl FnOnce(&FunName, &[Value]) -> Result<Value, E>,
    ) -> Result<Value, E> {
        let size = size.unwrap_or(0);
        match self {
            Argument::Written(written) => call(&written.name, &[Value::Integer(size.into())]),
            Argument::Generated => Ok(generated(&fun.argument(), size as usize, &mut SplitMix::new(seed))),
        }
    }

    /// Returns an error of the running program, or of the argument's text.
    pub fn stopped(&self, input: &Input, error: &RuntimeError) -> Failure {
        if let Argument::Written(written) = self
            && let Some(place) = written.place(error.span)
        {
            let position = written.text.position(place.start);
            return Failure::WrongAt(written.text.name().into(), position, error.to_string());
        }
        input.run_time_error(error)
    }
}

/// Returns `takes` or `gives` for a function that takes or gives no Float, and so has no derivative.
pub fn lack_of_floats(fun: &Fun) -> Option<&'static str> {
    match (fun.argument().is_differentiable(), fun.result.is_differentiable()) {
        (true, true) => None,
        (false, _) => Some("takes"),
        (true, false) => Some("gives"),
    }
}

/// Returns the argument that an option or the program gives.
fn given(options: &PointOptions, input: &Input, fun: &Fun) -> Option<Source> {
    match &options.input {
        Some(text) => Some(Source::new("--input", text)),
        None => example_of(input, fun).filter(|_| options.sizes.is_empty()),
    }
}

/// Returns the program's `example` as an argument, if it fits.
fn example_of(input: &Input, fun: &Fun) -> Option<Source> {
    example(input.pipeline.program(), &fun.name).map(|name| Source::new("example", &name.base))
}

/// Returns whether a written argument uses the size.
fn uses_size(written: &Written, checked: &Checked) -> bool {
    let def = &checked.program.defs[&written.name];
    free_variables(&def.body).contains(&def.params[0])
}

/// Checks an argument given as text.
///
/// Errors: the text is no expression of the argument's type.
fn check_written(
    input: &Input,
    fun: &Fun,
    text: &Source,
    choices: Choices,
    format: ErrorFormat,
    watch: &Watch,
) -> Result<(Written, Checked), Failure> {
    if text.text().trim().is_empty() {
        return Err(Failure::Usage(format!("`{}` is empty: say an expression, such as `example`", text.name())));
    }
    let program = input.pipeline.program();
    let is_taken = |name: &FunName| input.places.keys().any(|known| known.base == name.base);
    let is_constant = |name: &FunName| program.defs.get(name).is_some_and(|def| def.params.is_empty());
    let written = Written::new(&input.source, text, &fun.argument(), is_taken, is_constant);
    let written = written.map_err(|errors| shown(text, &errors, format))?;
    let checked = front::load_for(&written.program, choices, &watch.timings);
    let checked = checked.map_err(|errors| match wrong_type(&errors, &written.name) {
        Some(has_type) => {
            let message = format!("the argument {has_type}, but `{}` takes `{}`", fun.name, fun.argument());
            Failure::WrongAt(text.name().into(), text.position(0), message)
        }
        None => shown(text, &written.placed(errors), format),
    })?;
    Ok((written, checked))
}

/// Returns the words `has type T` if the argument's text has a wrong type.
fn wrong_type<'e>(errors: &'e [Diagnostic], argument: &FunName) -> Option<&'e str> {
    let of_body = format!("the body of `{argument}` ");
    let wrong = errors.iter().find(|error| error.code == "E216" && error.message.starts_with(&of_body))?;
    wrong.label.as_ref()?.strip_prefix("this ")
}

/// Checks that random arguments can be generated.
///
/// Errors: needed sizes are missing, or a type has no random values.
fn can_be_generated(options: &PointOptions, fun: &Fun) -> Result<(), Failure> {
    const MOST: u64 = 1 << 26;
    let (name, ty) = (&fun.name, fun.argument());
    if elements(&ty, 0).is_none() {
        return Err(Failure::Wrong(format!("`{name}` takes functions: measure a function that calls it")));
    }
    if options.sizes.is_empty() && needs_size(&ty) {
        let remedy = "`--sizes 100,1000` for random ones, or `--input EXPRESSION`";
        return Err(Failure::Usage(format!("`{name}` takes {ty}: say how large, {remedy}")));
    }
    let too_large = |size: &&u32| elements(&ty, u64::from(**size)).is_none_or(|count| count > MOST);
    match options.sizes.iter().find(too_large) {
        Some(size) => Err(Failure::Wrong(format!("random arguments of size {size} have more than {MOST} elements"))),
        None => Ok(()),
    }
}
