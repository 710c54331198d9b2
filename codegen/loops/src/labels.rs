//! Names what a function takes and gives, as C sees it.
//!
//! ```text
//! f : (w, b) -> t          w, b                      out
//! [fwd f], [jvp f]         w, b, d_w, d_b            d_out;  out, d_out
//! [rev f], [vjp f]         w, b, dr                  d_w, d_b;  out, d_w, d_b
//! [grad f]                 w, b                      d_w, d_b
//! [rev [wrt$2 f]]          w, b, dr                  d_b
//! ```
//!
//! A derivative takes all arguments as one tuple. Its components have the names of the function's parameters. A tangent
//! and a cotangent have the name of what they belong to.

use lm::term::{Def, Derivative, FunName, Path, Program};

/// The names of a value: one, or one for each component of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// A name; components are numbered.
    Name(String),
    /// Names of the components.
    Parts(Vec<Label>),
}

/// The names of a function's parameters, and of its result.
pub(crate) struct Labels {
    pub(crate) inputs: Vec<Label>,
    pub(crate) output: Label,
}

impl Label {
    /// Returns the name of the i-th component, from 1.
    pub(crate) fn component(&self, i: usize) -> Label {
        match self {
            Label::Name(name) => Label::Name(format!("{name}_{i}")),
            Label::Parts(parts) => parts[i - 1].clone(),
        }
    }

    /// Returns the names of a tangent or a cotangent.
    fn tangent(&self) -> Label {
        match self {
            Label::Name(name) => Label::Name(format!("d_{name}")),
            Label::Parts(parts) => Label::Parts(parts.iter().map(Label::tangent).collect()),
        }
    }

    /// Returns one label for all: the only one itself.
    fn tuple(mut labels: Vec<Label>) -> Label {
        if labels.len() == 1 { labels.remove(0) } else { Label::Parts(labels) }
    }
}

impl Labels {
    /// Returns the names for a definition.
    pub(crate) fn of(program: &Program, def: &Def) -> Labels {
        Labels::derived(program, &def.fun.name).filter(|labels| labels.inputs.len() == def.params.len()).unwrap_or_else(
            || Labels {
                inputs: def.params.iter().map(|x| Label::Name(x.name().to_string())).collect(),
                output: Label::Name("out".into()),
            },
        )
    }

    /// Returns the names for a derivative, from those of its function.
    fn derived(program: &Program, name: &FunName) -> Option<Labels> {
        let (derivative, of) = name.underived()?;
        let def = program.defs.get(&of).or_else(|| program.defs.get(&of.unrestricted()))?;
        let Labels { inputs, output } = Labels::of(program, def);
        let parameters = inputs.len();
        let argument = Label::tuple(inputs.clone());
        let varying = match of.varying() {
            None => argument.clone(),
            Some(paths) => Label::tuple(paths.iter().map(|path| at(&inputs, path)).collect()),
        };
        let tangent = varying.tangent();
        let both = |label: Label| Label::Parts(vec![output.clone(), label]);
        let cotangent = Label::Name("dr".into());
        Some(match derivative {
            Derivative::Fwd => Labels { inputs: vec![argument, tangent], output: output.tangent() },
            Derivative::Jvp => Labels { inputs: vec![argument, tangent], output: both(output.tangent()) },
            Derivative::Rev => Labels { inputs: vec![argument, cotangent], output: tangent },
            Derivative::Vjp => Labels { inputs: vec![argument, cotangent], output: both(tangent) },
            Derivative::Grad => Labels { inputs, output: tangent },
            Derivative::Wrt(_) if parameters > 0 => Labels { inputs, output },
            Derivative::Wrt(_)
            | Derivative::D
            | Derivative::Dt
            | Derivative::Tupled
            | Derivative::Polymorphic
            | Derivative::SufFwdPass
            | Derivative::SufRevPass
            | Derivative::SufRev
            | Derivative::Shape
            | Derivative::Cl
            | Derivative::Hvp
            | Derivative::Hess
            | Derivative::Jac
            | Derivative::JacFwd
            | Derivative::JacRev => return None,
        })
    }
}

/// Returns the label at a way that starts with the number of a parameter.
fn at(inputs: &[Label], path: &Path) -> Label {
    path[1..].iter().fold(inputs[path[0] - 1].clone(), |label, i| label.component(*i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lm::prim::Prim;
    use lm::term::{Expr, Supply};
    use lm::types::Type;

    fn name(text: &str) -> Label {
        Label::Name(text.into())
    }

    /// `f(w, t) = w * w`, where t is a pair of Floats.
    fn program() -> Program {
        let mut supply = Supply::default();
        let w = supply.fresh("w", Type::Float);
        let t = supply.fresh("t", Type::tuple([Type::Float, Type::Float]));
        let body = Expr::prim(Prim::Mul, [Expr::var(&w), Expr::var(&w)]);
        let def = Def::new(FunName::base("f"), vec![w, t], body);
        Program { defs: [(def.fun.name.clone(), def)].into_iter().collect(), ..Program::default() }
    }

    #[test]
    fn derivatives_keep_the_names_of_parameters() {
        let f = FunName::base("f");
        let labels = Labels::derived(&program(), &f.derived(Derivative::Vjp)).expect("it has names");
        assert_eq!(labels.inputs, [Label::Parts(vec![name("w"), name("t")]), name("dr")]);
        let cotangents = Label::Parts(vec![name("d_w"), name("d_t")]);
        assert_eq!(labels.output, Label::Parts(vec![name("out"), cotangents]));
    }

    #[test]
    fn only_what_varies_has_a_cotangent() {
        let restricted = FunName::base("f").restricted(&[vec![2, 1]]);
        let labels = Labels::derived(&program(), &restricted.derived(Derivative::Rev)).expect("it has names");
        assert_eq!(labels.output, name("d_t_1"));
        let labels = Labels::derived(&program(), &restricted.derived(Derivative::Fwd)).expect("it has names");
        assert_eq!(labels.inputs[1], name("d_t_1"));
        assert_eq!(labels.output, name("d_out"));
    }
}
