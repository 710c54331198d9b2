//! Describes a function as C sees it.
//!
//! ```text
//! a Float, Integer, Bool or String      itself; a result, through a pointer
//! a tuple                               its components in order; unit is nothing
//! (Tensor d T), T without tensors       for each component of T, a tensor: data and d sizes
//! (Vec (Tensor d T)), T without tensors for each component of T, a jagged tensor: data, offsets, size, and if
//!                                       d > 1 the sizes of all elements
//! ```
//!
//! Where T has no components, one tensor without data gives the size. Deeper tensors come in pieces:
//!
//! ```text
//! (Tensor d (T1, .., Tn))               n tensors: one for each component
//! (Vec (Vec T))                         the offsets of the inner vectors, a (Vec Integer), and a (Vec T) that has
//!                                       their elements one after the other
//! ```
//!
//! Other types have no form in C.

use crate::constant::{has_constant, is_constant};
use crate::ir::{FunId, Scalar};
use crate::labels::{Label, Labels, Like, View};
use lm::term::{Def, Fun, FunName, Program};
use lm::types::Type;
use std::sync::Arc;

/// The C form of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CForm {
    /// A number or a text.
    Scalar(Scalar),
    /// `lmc_tensor_<base>_<rank>`.
    Tensor {
        /// The elements; none for units.
        base: Option<Scalar>,
        /// The number of dimensions.
        rank: usize,
    },
    /// `lmc_jagged_<base>`, or with the rank behind it where that is not 1.
    Jagged {
        /// The elements of the elements; none for units.
        base: Option<Scalar>,
        /// The number of dimensions of an element.
        rank: usize,
    },
}

impl CForm {
    /// Returns the name of the structure in C.
    pub fn structure(&self) -> Option<String> {
        match self {
            CForm::Scalar(_) => None,
            CForm::Tensor { base, rank } => Some(format!("lmc_tensor_{}_{rank}", base_name(*base))),
            CForm::Jagged { base, rank: 1 } => Some(format!("lmc_jagged_{}", base_name(*base))),
            CForm::Jagged { base, rank } => Some(format!("lmc_jagged_{}_{rank}", base_name(*base))),
        }
    }

    /// Returns the definition of the structure in C.
    pub fn definition(&self) -> Option<String> {
        let name = self.structure()?;
        let element = match self.base() {
            None => "void ".to_string(),
            Some(base) => c_type(base).to_string(),
        };
        let sizes = match self {
            CForm::Scalar(_) => return None,
            CForm::Tensor { rank, .. } => format!("int64_t size[{rank}];"),
            CForm::Jagged { rank: 1, .. } => "int64_t *offsets; int64_t size;".to_string(),
            CForm::Jagged { .. } => "int64_t *offsets; int64_t size; int64_t *sizes;".to_string(),
        };
        let guard = name.to_uppercase();
        let body = format!("typedef struct {name} {{ {element}*data; {sizes} }} {name};");
        Some(format!("#ifndef {guard}\n#define {guard}\n{body}\n#endif\n"))
    }

    /// Returns how many fields the function between C and the rest gets for it: see `lower::interface`.
    pub fn fields(&self) -> usize {
        match self {
            CForm::Scalar(_) => 1,
            CForm::Tensor { base, rank } => rank + usize::from(base.is_some()),
            CForm::Jagged { base, rank } => 2 + usize::from(*rank > 1) + usize::from(base.is_some()),
        }
    }

    /// Returns what the elements are, of a tensor.
    pub fn base(&self) -> Option<Scalar> {
        match self {
            CForm::Scalar(scalar) => Some(*scalar),
            CForm::Tensor { base, .. } | CForm::Jagged { base, .. } => *base,
        }
    }
}

/// Returns the type of a scalar in C, ready for a name.
pub fn c_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Float => "double ",
        Scalar::Integer => "int64_t ",
        Scalar::Bool => "uint8_t ",
        Scalar::Text => "const char *",
        Scalar::Mark => panic!("marks stay inside"),
    }
}

fn base_name(base: Option<Scalar>) -> &'static str {
    match base {
        Some(Scalar::Float) => "f64",
        Some(Scalar::Integer) => "i64",
        Some(Scalar::Bool) => "bool",
        Some(Scalar::Text) => "text",
        Some(Scalar::Mark) => panic!("marks stay inside"),
        None => "unit",
    }
}

/// A parameter with its name, which is not yet one of C.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name in the program, or one made of it.
    pub name: String,
    /// The form of the parameter in C.
    pub form: CForm,
}

/// A function as C calls it.
#[derive(Clone, Debug)]
pub struct Interface {
    /// The parameters after the context, but for the outputs.
    pub inputs: Vec<Parameter>,
    /// The parameters through which results are given.
    pub outputs: Vec<Parameter>,
    /// The function to call. The fields of argument structures are its arguments.
    pub function: FunId,
}

impl Interface {
    /// Returns which parameters of the function tell whether there is storage for a result.
    pub fn storage_flags(&self) -> Vec<usize> {
        let mut next = self.inputs.iter().map(|input| input.form.fields()).sum();
        let tensors = self.outputs.iter().filter(|output| !matches!(output.form, CForm::Scalar(_)));
        let place = |output: &Parameter| {
            let flag = next;
            next += 1 + output.form.fields();
            flag
        };
        tensors.map(place).collect()
    }

    /// Returns a parameter by its number, from 1 for the one after the context.
    pub fn parameter(&self, number: usize) -> Option<&Parameter> {
        self.inputs.iter().chain(&self.outputs).nth(number.checked_sub(1)?)
    }

    /// Returns whether there are structures among the parameters.
    pub fn has_tensors(&self) -> bool {
        self.inputs.iter().chain(&self.outputs).any(|parameter| !matches!(parameter.form, CForm::Scalar(_)))
    }
}

/// Returns the inputs and the outputs of a definition; a type that has no form in C, otherwise. Derivatives have the
/// names of the function's parameters.
pub fn parameters(program: &Program, def: &Def) -> Result<[Vec<Parameter>; 2], Type> {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let labels = Labels::of(program, def);
    for (label, ty) in labels.inputs.iter().zip(&def.fun.params) {
        push_labelled(label, ty, &mut inputs)?;
    }
    push_labelled(&labels.output, &def.fun.result, &mut outputs)?;
    Ok([inputs, outputs])
}

/// Returns the names that C gives the parts of a derivative's result, such as `(out, (d_w, d_b, _))`, where the function
/// has several parameters. `_` is a part that cannot vary.
pub fn names_of_result(program: &Program, def: &Def) -> Option<String> {
    fn text(label: &Label, ty: &Type) -> String {
        match label.view(ty) {
            View::Parts(labels, parts) => {
                let parts = labels.iter().zip(parts).map(|(label, part)| text(label, part));
                format!("({})", parts.collect::<Vec<_>>().join(", "))
            }
            View::Leaf(_, Some(_)) if !ty.is_differentiable() => "_".into(),
            View::Leaf(name, _) => name.into(),
        }
    }
    let labels = Labels::of(program, def);
    let has_parts = |label: &Label| matches!(label, Label::Parts(_));
    let is_named = labels.inputs.iter().any(has_parts) && has_parts(&labels.output);
    is_named.then(|| text(&labels.output, &def.fun.result))
}

/// Returns the functions whose shape a definition needs for C: `f` for a cotangent of f's result that C does not give,
/// since nothing in it can vary.
pub fn needed_shapes(program: &Program, def: &Def) -> Vec<FunName> {
    let mut out = Vec::new();
    let inputs = Labels::of(program, def).inputs;
    inputs.iter().zip(&def.fun.params).for_each(|(label, ty)| push_needed_shapes(label, ty, &mut out));
    out
}

fn push_needed_shapes(label: &Label, ty: &Type, out: &mut Vec<FunName>) {
    match label.view(ty) {
        View::Parts(labels, types) => {
            labels.iter().zip(types).for_each(|(label, ty)| push_needed_shapes(label, ty, out));
        }
        View::Leaf(_, Some(Like::Result { function, .. })) if has_constant(ty) => out.push(function.name.clone()),
        View::Leaf(..) => {}
    }
}

/// Returns the inputs and the outputs of an external function; none where C cannot have them.
pub fn external_parameters(program: &Program, fun: &Fun) -> Option<[Vec<Parameter>; 2]> {
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    let labels = Labels::of_external(program, fun);
    for (label, ty) in labels.inputs.iter().zip(&fun.params) {
        push_labelled(label, ty, &mut inputs).ok()?;
    }
    push_labelled(&labels.output, &fun.result, &mut outputs).ok()?;
    let has_form = |parameter: &Parameter| match parameter.form {
        CForm::Scalar(_) => true,
        CForm::Tensor { base, .. } => base.is_some(),
        CForm::Jagged { .. } => false,
    };
    inputs.iter().chain(&outputs).all(has_form).then_some([inputs, outputs])
}

/// Adds the components of a tuple by their own names, and everything else by one name, in pieces where that is needed.
fn push_labelled(label: &Label, ty: &Type, out: &mut Vec<Parameter>) -> Result<(), Type> {
    match label.view(ty) {
        View::Parts(labels, parts) => {
            labels.iter().zip(parts).try_for_each(|(label, part)| push_labelled(label, part, out))
        }
        View::Leaf(name, like) => {
            pieces(name, ty, like.is_some())?.iter().try_for_each(|(name, piece)| push(name, piece, out))
        }
    }
}

/// Returns the pieces in which C gets a type, with their names: one for a type that is not too deep, else several. There
/// are none for tensors in a tangent that cannot vary.
///
/// Errors: a part of the type that has no form in C.
pub fn pieces(name: &str, ty: &Type, is_tangent: bool) -> Result<Vec<(String, Type)>, Type> {
    let part = |i: usize, ty: &Type| pieces(&format!("{name}_{}", i + 1), ty, is_tangent);
    let all = |parts: Vec<Result<Vec<_>, Type>>| Ok(parts.into_iter().collect::<Result<Vec<_>, _>>()?.concat());
    match ty {
        _ if is_tangent && is_constant(ty) => Ok(vec![]),
        _ if is_whole(ty, is_tangent) => Ok(vec![(name.to_string(), ty.clone())]),
        Type::Tuple(parts) => all(parts.iter().enumerate().map(|(i, ty)| part(i, ty)).collect()),
        Type::Tensor(rank, element) => match (rank, &**element) {
            (_, Type::Tuple(parts)) => {
                let column = |ty: &Type| Type::Tensor(*rank, Arc::new(ty.clone()));
                all(parts.iter().enumerate().map(|(i, ty)| part(i, &column(ty))).collect())
            }
            (1, Type::Tensor(1, inner)) => {
                let offsets = (format!("{name}_offsets"), Type::vec(Type::Integer));
                let elements = pieces(&format!("{name}_each"), &Type::Tensor(1, inner.clone()), is_tangent)?;
                Ok([vec![offsets], elements].concat())
            }
            _ => Err(ty.clone()),
        },
        _ => Err(ty.clone()),
    }
}

/// Returns whether C gets a type in one piece. It gets no tensors in a tangent that cannot vary.
pub fn is_whole(ty: &Type, is_tangent: bool) -> bool {
    !(is_tangent && has_constant(ty)) && push("", ty, &mut Vec::new()).is_ok()
}

/// Adds `t` for one parameter, `t_1`, `t_2`, .. for a tuple's components.
fn push(name: &str, ty: &Type, out: &mut Vec<Parameter>) -> Result<(), Type> {
    let mut add = |form| out.push(Parameter { name: name.to_string(), form });
    match ty {
        Type::Float => add(CForm::Scalar(Scalar::Float)),
        Type::Integer => add(CForm::Scalar(Scalar::Integer)),
        Type::Bool => add(CForm::Scalar(Scalar::Bool)),
        Type::String => add(CForm::Scalar(Scalar::Text)),
        Type::Tuple(parts) => {
            for (i, part) in parts.iter().enumerate() {
                push(&format!("{name}_{}", i + 1), part, out)?;
            }
        }
        Type::Tensor(rank, element) => match &**element {
            fixed if fixed.has_fixed_shape() && !fixed.mentions_lm() => {
                columns(name, fixed, &|base| CForm::Tensor { base, rank: *rank }, out);
            }
            Type::Tensor(inner_rank, inner) if *rank == 1 && inner.has_fixed_shape() && !inner.mentions_lm() => {
                columns(name, inner, &|base| CForm::Jagged { base, rank: *inner_rank }, out);
            }
            _ => return Err(ty.clone()),
        },
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => return Err(ty.clone()),
    }
    Ok(())
}

/// Returns one parameter for each component of the elements.
fn columns(name: &str, element: &Type, form: &dyn Fn(Option<Scalar>) -> CForm, out: &mut Vec<Parameter>) {
    let mut scalars = Vec::new();
    push(name, element, &mut scalars).expect("what has a fixed shape, and no map, has a form");
    if scalars.is_empty() {
        out.push(Parameter { name: name.to_string(), form: form(None) });
    }
    out.extend(
        scalars.into_iter().map(|Parameter { name, form: scalar }| Parameter { name, form: form(scalar.base()) }),
    );
}
