//! The messages of mistakes in files of strategies.

use crate::ks::check::suggest::Suggestions;
use crate::ks::diagnostic::Diagnostic;
use lm::strategy::{Cause, Mistake, Noun};
use std::sync::Arc;

/// Returns the message of a mistake. `names` are those that may have been meant.
pub(super) fn diagnostic(mistake: &Mistake, names: &[Arc<str>]) -> Diagnostic {
    let message = mistake.cause.to_string();
    let found = match &mistake.cause {
        Cause::Unknown { noun, name } => unknown(*noun, name, message, names),
        Cause::Group(name) => Diagnostic::error("E501", message).remedy(format!("write `laws({name})`")),
        Cause::Endless(_) => Diagnostic::error("E502", message)
            .label("this loop")
            .remedy("repeat a strategy that applies a law, or fails"),
        Cause::Unguarded(_) => Diagnostic::error("E503", message)
            .label("this recursion")
            .remedy("apply a law, or go to a child, before the variable: `mu x. try(law ; x)`"),
        Cause::PassInside(_) => Diagnostic::error("E504", message)
            .remedy("join passes and stages by `;`, `<+` and `try`, in a strategy of definitions: `directions`"),
        Cause::Character(_) | Cause::Unexpected { .. } => {
            Diagnostic::error("E505", message).remedy("`lmc explain E505` has the grammar")
        }
        Cause::UnclosedString => Diagnostic::error("E505", message).remedy("add a closing `\"` in the same line"),
        Cause::Number(_) => Diagnostic::error("E505", message).remedy("write a smaller number"),
        Cause::TooDeep(_) | Cause::TooLarge(..) => {
            Diagnostic::error("E505", message).remedy("write a shorter strategy")
        }
        Cause::Arguments { wanted: 0, name, .. } => {
            Diagnostic::error("E505", message).remedy(format!("write `{name}` alone"))
        }
        Cause::Arguments { name, wanted, .. } => {
            let arguments = vec!["s"; *wanted].join(", ");
            Diagnostic::error("E505", message).remedy(format!("write `{name}({arguments})`"))
        }
        Cause::OtherKind(_) => Diagnostic::error("E505", message).remedy("give it another name"),
        Cause::Twice(_, first) => Diagnostic::error("E506", message).label("again here").related(*first, "first here"),
        Cause::IsLaw(_) => Diagnostic::error("E506", message).remedy("give it another name"),
        Cause::Itself(_) => Diagnostic::error("E507", message)
            .remedy("write a recursion as `mu x. ..`; what takes the place of a definition of lmc cannot mention it"),
    };
    found.at(mistake.span)
}

fn unknown(noun: Noun, name: &str, message: String, names: &[Arc<str>]) -> Diagnostic {
    let diagnostic = Diagnostic::error("E501", message);
    match noun {
        Noun::Pass => {
            let passes = super::schedule::KNOWN.passes.iter().map(|pass| format!("`{pass}`"));
            diagnostic.remedy(format!("the passes are {}", passes.collect::<Vec<_>>().join(", ")))
        }
        Noun::Law | Noun::Strategy => {
            diagnostic.suggestion(Suggestions::default().closest(name, names.iter().map(|name| &**name)))
        }
    }
}
