//! Reads definitions in the category language, which stages of derivations have.

use crate::derive::figures::fig09_11_category::Def;
use crate::derive::figures::fig09_11_category::read::{self, Mistake};
use crate::derive::{pipeline, typing};
use crate::ks::check::{Checked, malformed, unknown_function};
use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::Sexp;
use lm::term::{Fun, FunName, Program};
use std::sync::Arc;

/// Returns the definitions of a stage whose other definitions are checked already.
pub fn definitions(forms: &[Sexp], checked: &Checked) -> Result<Vec<Def>, Mistake> {
    let mut supply = checked.program.supply.clone();
    forms.iter().map(|form| read::definition(form, &|name| function(checked, name), &mut supply)).collect()
}

/// Returns a function of the program or of the prelude, or a derivative of one.
fn function(checked: &Checked, name: &FunName) -> Option<Arc<Fun>> {
    let Program { defs, externals, .. } = &checked.program;
    let defined = |name: &FunName| defs.get(name).or(checked.prelude.get(name)).map(|def| &def.fun);
    let find = |name: &FunName| defined(name).or_else(|| externals.get(name));
    if let Some(fun) = find(name) {
        return Some(fun.clone());
    }
    let record = &mut |f: &Fun| pipeline::record(checked.clone(), &f.name).ok();
    typing::derive_all(&name.derivations, find(&name.as_written())?, record).map(Arc::new)
}

impl From<Mistake> for Diagnostic {
    fn from(mistake: Mistake) -> Diagnostic {
        match mistake {
            Mistake::Malformed(what, grammar, span) => malformed(what, grammar).at(span),
            Mistake::Unknown(name, span) => unknown_function(name, None).at(span),
            Mistake::IllTyped(error, span) => Diagnostic::error("E212", error.to_string()).at(span),
        }
    }
}
