//! Prints UNF, for people.
//!
//! ```text
//! f : [Float, Float] => [Float, Float, Float]
//!   = var_1; var_2; mul_2; proj_{2;2;1}
//! ```
//!
//! The number of a step is the length of the list under what it takes: the T of the figures. The numbers of `proj` say how
//! many values stay below, are dropped, and stay above. In the target language each step is `F(p)`, and Y is behind the
//! list. Source: *Denotationally correct ..*, Figs. 6 and 7.

use super::{Argument, Def, Step, values};
use crate::derive::figures::fig09_11_category::print::name;
use lm::notation::infix::{Format, constant};
use lm::term::Op;
use lm::types::Type;
use pretty::RcDoc;

type Doc = RcDoc<'static>;

/// The language of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// That of the program: a list of values.
    Source,
    /// That of its reverse derivative: a list of values, and a linear map from it.
    Target,
}

/// Returns a definition with its type, laid out for lines of `width` characters.
pub fn definition(def: &Def, language: Language, width: usize) -> String {
    let source: Vec<&Type> = def.fun.params.iter().collect();
    let target: Vec<&Type> = def.fun.params.iter().chain([&def.fun.result]).collect();
    let [source, target] = [source, target].map(|types| list(&types, language));
    let printer = Printer { language };
    let steps = printer.steps(&def.steps, def.params.len());
    let body = RcDoc::hardline().append("= ").append(steps.nest(2)).nest(2);
    let doc = RcDoc::text(format!("{} : {source} => {target}", def.fun.name)).append(body);
    let mut out = String::new();
    doc.render_fmt(width, &mut out).expect("a String takes all that is written");
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn list(types: &[&Type], language: Language) -> String {
    let types: Vec<String> = types.iter().map(|ty| ty.to_string()).collect();
    match language {
        Language::Source => format!("[{}]", types.join(", ")),
        Language::Target => format!("[{}; LM ({}) r]", types.join(", "), types.join(", ")),
    }
}

struct Printer {
    language: Language,
}

impl Printer {
    /// Returns steps that start from a list of so many values.
    fn steps(&self, steps: &[Step], mut length: usize) -> Doc {
        let mut docs = Vec::with_capacity(steps.len());
        for step in steps {
            docs.push(self.step(step, length));
            length = match step {
                Step::Proj(dropped) => length - dropped,
                _ => length + 1,
            };
        }
        RcDoc::intersperse(docs, RcDoc::text(";").append(RcDoc::softline()))
    }

    fn step(&self, step: &Step, length: usize) -> Doc {
        let step = match step {
            Step::Var(i) => RcDoc::text(format!("var_{i}")),
            Step::Constant(k) => RcDoc::text(format!("const_{length}({})", constant(k))),
            Step::Dummy(_) => RcDoc::text(format!("const_{length}(_)")),
            Step::Op { op: Op::Tuple, arity, .. } => {
                RcDoc::text(format!("pair{}_{}", of_several(*arity), length - arity))
            }
            Step::Op { op, arity, .. } => RcDoc::text(format!("{}_{}", name(op, Format::Plain), length - arity)),
            Step::If { yes, no, .. } => {
                let parts = [yes, no].map(|branch| self.steps(branch, length));
                self.call(format!("if_{}", length - 1), parts.into())
            }
            Step::Binder { op, args, .. } => {
                let bodies = args.iter().filter_map(|arg| match arg {
                    Argument::Value => None,
                    Argument::Function(_, body) => Some(self.steps(body, length + 1)),
                });
                self.call(format!("{}_{}", name(op, Format::Plain), length - values(args)), bodies.collect())
            }
            Step::Proj(dropped) => RcDoc::text(format!("proj_{{{};{dropped};1}}", length - dropped - 1)),
        };
        match self.language {
            Language::Source => step,
            Language::Target => RcDoc::text("F(").append(step).append(")"),
        }
    }

    fn call(&self, name: String, bodies: Vec<Doc>) -> Doc {
        let between = RcDoc::text(",").append(RcDoc::line());
        let bodies = RcDoc::line_().append(RcDoc::intersperse(bodies, between)).nest(2).append(RcDoc::line_()).group();
        RcDoc::text(format!("{name}(")).append(bodies).append(")")
    }
}

/// Returns the number of components, where it is not two.
fn of_several(n: usize) -> String {
    if n == 2 { String::new() } else { n.to_string() }
}
