//! Judges what is inferred of sizes: errors, checks when the program runs, and a report.
//!
//! ```text
//! proved      no check is made, ever
//! refuted     E240, E241
//! unknown     an index and the tensors of an operation are checked where they are used; a call, and a result, are checked
//!             by an assert around them; E243 where an index below one size is used below another, or for any (Fin n)
//! ```
//!
//! Of definitions without sizes, calls of functions with sizes are judged, and nothing else.

use super::error;
use crate::ks::check::checked::{Checked, SizeCheck};
use crate::ks::check::checker::Checker;
use crate::ks::diagnostic::Diagnostic;
use lm::sizes::{ANY, Answer, Claim, Finding, Known, Signature, infer};
use lm::term::{Def, FunName};

impl Checker {
    /// Judges the sizes in all definitions; puts checks into those where something is not known.
    pub(in crate::ks::check) fn judge_sizes(&mut self, checked: &mut Checked) {
        if checked.program.sizes.is_empty() {
            return;
        }
        let names: Vec<FunName> = checked.program.defs.keys().cloned().collect();
        for name in names {
            let def = checked.program.defs[&name].clone();
            let def = self.judged(def, checked);
            checked.program.defs.insert(name, def);
        }
        checked.size_checks.sort_by_key(|check| check.span.start);
        checked.size_checks.dedup();
    }

    fn judged(&mut self, def: Def, checked: &mut Checked) -> Def {
        let own = checked.program.sizes.get(&def.fun.name).and_then(|s| s.of(&def.fun));
        let program = &checked.program;
        let derived = Some(&def.fun).filter(|f| program.by_hand.contains(&f.name));
        let derived = derived.and_then(|f| program.signature_of_derivative(f));
        let known = Known {
            signature: &|f| program.signature(f),
            // Of functions that are elsewhere, nobody sees what they give.
            gives: &|name, _| !program.externals.contains_key(name),
            derived: derived.as_ref(),
            annotations: &self.annotations,
        };
        let found = infer(&def, own.as_ref(), &known);
        for finding in &found.findings {
            let is_of_call = matches!(
                finding.claim,
                Claim::Arguments { .. } | Claim::Natural { .. } | Claim::Limit { .. } | Claim::Annotated
            );
            let is_of_derivative = matches!(finding.claim, Claim::Derivative | Claim::Parameter { .. });
            if own.is_some() || is_of_call || is_of_derivative {
                self.judge(finding, &def.fun.name, checked);
            }
        }
        let results = [(own, found.result_is_proved), (derived, found.derivative_is_proved)];
        let unproved: Vec<Signature> =
            results.into_iter().filter(|(_, is_proved)| !is_proved).filter_map(|(signature, _)| signature).collect();
        self.with_checks(def, &unproved, &found, &checked.program)
    }

    fn judge(&mut self, finding: &Finding, of: &FunName, checked: &mut Checked) {
        let error = match finding.answer {
            Answer::Proved => None,
            Answer::Refuted => Some(refuted(finding, of)),
            Answer::Unknown => unknown(finding, self.options.strict_sizes),
        };
        match error {
            Some(error) => {
                let error = match &finding.claim {
                    Claim::Arguments { callee, size, places } => {
                        let definition = checked.program.definition_of_sizes(callee);
                        let place = definition.and_then(|name| checked.places.get(&name)).copied().unwrap_or_default();
                        let words = if places[0] == *size { "it is" } else { "both are" };
                        error.related(place, &format!("{words} `{size}` here"))
                    }
                    _ => error,
                };
                self.errors.push(error.at(finding.span));
            }
            None => checked.size_checks.push(SizeCheck {
                span: finding.span,
                what: in_words(finding),
                is_proved: finding.answer == Answer::Proved,
            }),
        }
    }
}

fn refuted(finding: &Finding, of: &FunName) -> Diagnostic {
    let numbers = &finding.numbers;
    match &finding.claim {
        Claim::Arguments { callee, places, size } => error::arguments_differ(callee, places, size, numbers),
        Claim::Natural { callee, variable } => error::negative_size(callee, variable, &numbers[0]),
        Claim::Count => error::negative_count(&numbers[0]),
        Claim::Operands => error::operands_differ(numbers),
        Claim::Annotated => error::annotation_differs(numbers),
        Claim::Index { .. } | Claim::Limit { .. } | Claim::IndexOfResult => error::out_of_range(numbers),
        Claim::Result => error::result_differs(of, "its type says", numbers),
        Claim::Derivative => error::result_differs(of, "what it is the derivative of says", numbers),
        Claim::Parameter { place } => error::parameter_differs(of, place, numbers),
    }
}

/// Returns the error for what is not known, where it is one.
fn unknown(finding: &Finding, is_strict: bool) -> Option<Diagnostic> {
    let numbers = &finding.numbers;
    match &finding.claim {
        Claim::Index { limit: limit @ Some(_) } | Claim::Limit { limit, is_of_elements: false } => {
            Some(error::wrong_limit(limit.as_deref(), numbers, &finding.spelled))
        }
        Claim::Annotated => Some(error::unknown_equality(numbers)),
        _ if !is_strict => None,
        Claim::Limit { is_of_elements: true, .. } if numbers[0] == ANY => {
            Some(error::unknown_elements(&numbers[1], &finding.spelled[1]))
        }
        Claim::Index { limit: None } | Claim::Limit { .. } | Claim::IndexOfResult => {
            Some(error::unknown_range(numbers, &finding.spelled))
        }
        Claim::Natural { variable, .. } => Some(error::unknown_sign(variable, &finding.spelled[0])),
        Claim::Count => Some(error::unknown_sign(&numbers[0], &finding.spelled[0])),
        Claim::Arguments { .. } | Claim::Operands | Claim::Result | Claim::Derivative | Claim::Parameter { .. } => {
            Some(error::unknown_equality(numbers))
        }
    }
}

fn in_words(finding: &Finding) -> String {
    let [a, b] = &finding.numbers;
    match &finding.claim {
        Claim::Arguments { callee, places: [p, q], size } if p == size => format!("`{q}` of `{callee}`: {a} = {b}"),
        Claim::Arguments { callee, places: [p, q], .. } => format!("`{p}` and `{q}` of `{callee}`: {a} = {b}"),
        Claim::Natural { callee, variable } => format!("`{variable}` of `{callee}`: 0 <= {a}"),
        Claim::Count => format!("a number of elements: 0 <= {a}"),
        Claim::Operands => format!("operands: {a} = {b}"),
        Claim::Annotated => format!("the type of a variable: {a} = {b}"),
        Claim::Limit { limit: Some(limit), is_of_elements: true } if a == ANY => {
            format!("indices below {limit}: each < {b}")
        }
        Claim::Limit { is_of_elements: true, .. } if a == ANY => format!("indices: each < {b}"),
        Claim::Index { .. } | Claim::Limit { .. } => format!("an index: {a} < {b}"),
        Claim::IndexOfResult => format!("an index in the result: {a} < {b}"),
        Claim::Result | Claim::Derivative => format!("the result: {a} = {b}"),
        Claim::Parameter { place } => format!("`{place}`: {a} = {b}"),
    }
}
