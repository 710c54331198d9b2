//! Names what a function takes and gives, as C sees it.
//!
//! ```text
//! f : (w, b) -> t          w, b                      out
//! [fwd f], [jvp f]         w, b, d_w, d_b            d_out;  out, d_out
//! [rev f], [vjp f]         w, b, dr                  d_w, d_b;  out, d_w, d_b
//! [grad f]                 w, b                      d_w, d_b
//! [hvp f]                  w, b, d_w, d_b            d_d_w, d_d_b
//! [jac f], [hess f]        w, b                      d_out_w, d_out_b;  d_d_w_w, d_d_w_b, d_d_b_w, d_d_b_b
//! [suffwdpass f]           w, b                      out, record
//! [sufrevpass f]           dr, record                d_w, d_b
//! [rev [wrt$2 f]]          w, b, dr                  d_b
//! ```
//!
//! A derivative takes all arguments as one tuple. Its components have the names of the function's parameters. A tangent
//! and a cotangent have the name of what they belong to, and its shape.

mod label;

pub(crate) use label::View;
use label::embedded;
pub use label::{Label, Like};
use lm::effect::Effects;
use lm::term::{Def, Derivative, Fun, FunName, Path, Program};
use std::sync::Arc;

/// The names of a function's parameters, and of its result.
#[derive(Clone)]
pub struct Labels {
    /// The names of the parameters, in order.
    pub inputs: Vec<Label>,
    /// The names of the result.
    pub output: Label,
}

impl Labels {
    /// Returns the names for a definition.
    pub(crate) fn of(program: &Program, def: &Def) -> Labels {
        Labels::of_fun(program, &def.fun, def.params.iter().map(|x| Label::name(x.name())).collect())
    }

    /// Returns the names for a function that is defined elsewhere.
    pub(crate) fn of_external(program: &Program, fun: &Fun) -> Labels {
        let name = |i| if fun.params.len() == 1 { "x".to_string() } else { format!("x_{i}") };
        Labels::of_fun(program, fun, (1..=fun.params.len()).map(|i| Label::Name(name(i))).collect())
    }

    fn of_fun(program: &Program, fun: &Fun, names: Vec<Label>) -> Labels {
        let derived = Labels::derived(program, &fun.name).filter(|labels| labels.inputs.len() == names.len());
        let Labels { inputs, output } = derived.unwrap_or_else(|| Labels { inputs: names, output: Label::name("out") });
        let is_known = |like: &Like| match like {
            Like::Part(_) => true,
            // What the function prints must not be printed twice.
            Like::Result { function, .. } => !prints(program, &function.name),
            Like::Unknown => false,
        };
        let inputs = inputs.into_iter().zip(&fun.params).map(|(label, ty)| label.with_shapes(ty, &is_known));
        Labels { inputs: inputs.collect(), output }
    }

    /// Returns the names for a derivative, from those of its function.
    pub fn derived(program: &Program, name: &FunName) -> Option<Labels> {
        let (derivative, of) = name.underived()?;
        let f = Derived::of(program, &of).or_else(|| {
            let f = Derived::of(program, &of.unrestricted())?;
            Some(Derived { fun: Arc::new(Fun { name: of.clone(), ..(*f.fun).clone() }), ..f })
        })?;
        let (argument, tangent) = (f.argument(), f.tangent(true));
        let both = |label: Label| Label::Parts(vec![f.whole().output, label]);
        let parameters = |output: Label| Labels { inputs: f.labels.inputs.clone(), output };
        Some(match derivative {
            Derivative::Fwd => Labels { inputs: vec![argument, tangent], output: f.of_result(None) },
            Derivative::Jvp => Labels { inputs: vec![argument, tangent], output: both(f.of_result(None)) },
            Derivative::Rev | Derivative::SufRev => {
                Labels { inputs: vec![argument, f.of_result(Some("dr"))], output: tangent }
            }
            Derivative::Vjp => Labels { inputs: vec![argument, f.of_result(Some("dr"))], output: both(tangent) },
            Derivative::Hvp => {
                let output = tangent.of_result(&Like::Unknown, None);
                Labels { inputs: vec![argument, tangent], output }
            }
            Derivative::Grad => parameters(f.tangent(false)),
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => {
                parameters(f.labels.output.by(&f.fun.result, &f.varying(), &f.fun.varying()))
            }
            Derivative::Hess => {
                let varying = f.fun.varying();
                parameters(f.tangent(false).by(&varying.tangent(), &f.varying(), &varying))
            }
            Derivative::SufFwdPass => parameters(Label::Parts(vec![f.labels.output.clone(), Label::name("record")])),
            Derivative::SufRevPass => {
                let dr = f.labels.output.of_result(&Like::Unknown, Some("dr"));
                Labels { inputs: vec![dr.without_shapes(), Label::name("record")], output: tangent.without_shapes() }
            }
            Derivative::Wrt(_) => f.labels,
            Derivative::D
            | Derivative::Dt
            | Derivative::Tupled
            | Derivative::Polymorphic
            | Derivative::PolymorphicR
            | Derivative::Dual
            | Derivative::Shape
            | Derivative::Cl => return None,
        })
    }
}

/// A function with its names, whose derivative wants names.
struct Derived {
    fun: Arc<Fun>,
    labels: Labels,
}

impl Derived {
    fn of(program: &Program, name: &FunName) -> Option<Derived> {
        let external = |fun: &Arc<Fun>| Derived { fun: fun.clone(), labels: Labels::of_external(program, fun) };
        let defined = |def: &Def| Derived { fun: def.fun.clone(), labels: Labels::of(program, def) };
        program.defs.get(name).map(defined).or_else(|| program.externals.get(name).map(external))
    }

    fn parameters(&self) -> usize {
        self.labels.inputs.len()
    }

    /// Returns the names for a derivative that takes all arguments as one.
    fn whole(&self) -> Labels {
        let embedded = |label: &Label| label.embedded(self.parameters());
        let inputs = self.labels.inputs.iter().map(embedded).collect();
        Labels { inputs, output: embedded(&self.labels.output) }
    }

    fn argument(&self) -> Label {
        Label::tuple(self.whole().inputs)
    }

    /// Returns the paths of what varies.
    fn paths(&self) -> Vec<Path> {
        let all = || (1..=self.parameters()).map(|i| vec![i]).collect();
        self.fun.name.varying().map_or_else(all, <[Path]>::to_vec)
    }

    /// Returns the names of what varies.
    fn varying(&self) -> Label {
        Label::tuple(self.paths().iter().map(|path| at(&self.labels.inputs, path)).collect())
    }

    /// Returns the names of the tangent of what varies. `is_whole` says whether all arguments are one.
    fn tangent(&self, is_whole: bool) -> Label {
        let part = |path: &Path| {
            let place = if is_whole { embedded(path, self.parameters()) } else { path.clone() };
            at(&self.labels.inputs, path).tangent(&place)
        };
        Label::tuple(self.paths().iter().map(part).collect())
    }

    /// Returns the names of a tangent of the result, or of a cotangent with a name of its own.
    fn of_result(&self, name: Option<&str>) -> Label {
        let args = (1..=self.parameters()).map(|i| embedded(&vec![i], self.parameters())).collect();
        let function = Arc::new(Fun { name: self.fun.name.unrestricted(), ..(*self.fun).clone() });
        self.whole().output.of_result(&Like::Result { function, args, part: Vec::new() }, name)
    }
}

fn prints(program: &Program, name: &FunName) -> bool {
    program.defs.get(name).is_some_and(|def| Effects::of(program).in_term(&def.body))
}

/// Returns the label at a way that starts with the number of a parameter.
fn at(inputs: &[Label], path: &Path) -> Label {
    path[1..].iter().fold(inputs[path[0] - 1].clone(), |label, i| label.component(*i))
}
