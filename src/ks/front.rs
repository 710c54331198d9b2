//! The front end: from a source text to a checked program.

use crate::derive::figures::fig09_11_category as cl;
use crate::derive::passes::counted_recursion;
use crate::derive::passes::zeros_of_empty_sums;
use crate::derive::pipeline;
use crate::derive::schedule::Strategies;
use crate::derive::{Checkpoint, Derivation};
use crate::ks::category;
use crate::ks::check::{self, CheckOptions, Checked};
use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::{Reading, Sexp, Shape, read};
use crate::ks::source::Source;
use lm::term::{Def, FunName, Span};
use lm::timing::Timings;
use lm::types::Type;
use std::sync::LazyLock;

/// Reads and checks a program. The prelude is checked with it.
///
/// Call it under [`with_large_stack`](crate::with_large_stack): terms may be nested deep.
/// A file without definitions is a program without definitions.
///
/// Errors: all errors of the text, in order of place; [`render`](crate::ks::render) shows them.
pub fn load(source: &Source) -> Result<Checked, Vec<Diagnostic>> {
    load_for(source, Derivation::default(), &Timings::default())
}

/// The way in which derivatives are made, where the program does not choose one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// The derivation.
    pub derivation: Derivation,
    /// The states of folds that derivatives keep.
    pub checkpoint: Checkpoint,
    /// The strategies by which laws are applied.
    pub strategies: Strategies,
    /// Report sizes that are not known to be right.
    pub strict_sizes: bool,
}

impl From<Derivation> for Choices {
    fn from(derivation: Derivation) -> Choices {
        Choices { derivation, ..Choices::default() }
    }
}

/// Does the same as [`load`], for derivatives that are made in some way. Adds the times of reading and checking to a
/// table.
pub fn load_for(source: &Source, choices: impl Into<Choices>, timings: &Timings) -> Result<Checked, Vec<Diagnostic>> {
    let Choices { derivation, checkpoint, strategies, strict_sizes } = choices.into();
    let options = CheckOptions {
        record: Some(record),
        derivation,
        checkpoint,
        strategies,
        strict_sizes,
        ..CheckOptions::default()
    };
    load_with(source, options, timings)
}

/// Does the same as [`load`] for a printed stage of a derivation, which may define derivatives of functions that it
/// does not define. Definitions in the category language are checked, and left out.
pub fn load_stage(source: &Source) -> Result<Checked, Vec<Diagnostic>> {
    load_stage_with_categories(source).map(|(checked, _)| checked)
}

/// Does the same as [`load_stage`], and gives the definitions in the category language.
pub fn load_stage_with_categories(source: &Source) -> Result<(Checked, Vec<cl::Def>), Vec<Diagnostic>> {
    let mut reading = read_files(source);
    let in_category: Vec<Sexp> = reading.forms.extract_if(.., |form| cl::read::is_definition(form)).collect();
    let options = CheckOptions { orphan_derivatives: true, record: Some(record), ..CheckOptions::default() };
    let checked = check_with(reading, options, &Timings::default())?;
    let definitions = category::definitions(&in_category, &checked).map_err(|mistake| vec![mistake.into()])?;
    Ok((checked, definitions))
}

/// Returns the type of the record that `[suffwdpass f]` gives, by doing the derivation. The checker asks the
/// derivation for nothing else.
fn record(checked: Checked, f: &FunName) -> Result<Type, Box<Diagnostic>> {
    pipeline::record(checked, f).map_err(|error| Box::new(Diagnostic::from(error)))
}

fn load_with(source: &Source, options: CheckOptions, timings: &Timings) -> Result<Checked, Vec<Diagnostic>> {
    check_with(timings.time("reading", || read_files(source)), options, timings)
}

fn check_with(reading: Reading, options: CheckOptions, timings: &Timings) -> Result<Checked, Vec<Diagnostic>> {
    let Reading { forms, errors, structure_is_sound } = reading;
    if !structure_is_sound {
        return Err(errors);
    }
    // The sums of a stage have their zeros.
    let is_stage = options.orphan_derivatives;
    let checked = timings.time("checking", || check::check(&forms, prelude_forms(), options)).map(|mut checked| {
        if !is_stage {
            checked.expand_arrays();
            counted_recursion::counted_recursion(&mut checked.program);
            zeros_of_empty_sums::zeros_of_empty_sums(&mut checked.program, &mut checked.with_arrays);
        }
        checked
    });
    if errors.is_empty() {
        return checked;
    }
    let mut all = errors;
    all.extend(checked.err().unwrap_or_default());
    all.sort_by_key(|e| e.span.map(|s| s.start));
    Err(all)
}

/// Reads each file of a program, so that an error in one does not reach into the next.
fn read_files(source: &Source) -> Reading {
    let mut all = Reading { structure_is_sound: true, ..Reading::default() };
    for (start, file) in source.files() {
        let mut reading = read(file.text());
        let moved = |span: Span| Span { start: span.start + start, end: span.end + start };
        reading.forms.iter_mut().for_each(|form| place(form, &moved));
        all.forms.extend(reading.forms);
        all.errors.extend(reading.errors.into_iter().map(|error| error.placed(moved)));
        all.structure_is_sound &= reading.structure_is_sound;
    }
    all
}

/// Returns the definitions of the prelude alone. Their variables are from a supply of their own: a program takes its
/// own copy from [`Checked::prelude`], by [`Checked::include`].
pub fn prelude() -> indexmap::IndexMap<FunName, Def> {
    let checked = check::check(&[], prelude_forms(), CheckOptions::default());
    checked.expect("the prelude has no errors of its own").prelude
}

const PRELUDE: &str = include_str!("prelude.ks");

/// Returns the prelude's forms, without places: spans are of the user's file. The text is read once.
pub fn prelude_forms() -> &'static [Sexp] {
    static FORMS: LazyLock<Vec<Sexp>> = LazyLock::new(|| {
        let Reading { mut forms, .. } = read(PRELUDE);
        forms.iter_mut().for_each(|form| place(form, &|_| Span::default()));
        forms
    });
    &FORMS
}

/// Changes the places of an s-expression and its parts.
fn place(s: &mut Sexp, placed: &impl Fn(Span) -> Span) {
    s.span = placed(s.span);
    if let Shape::List(items) | Shape::Bracket(items) = &mut s.shape {
        items.iter_mut().for_each(|item| place(item, placed));
    }
}
