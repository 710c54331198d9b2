//! Holds the names of a value's parts.

use crate::constant::has_constant;
use lm::term::{Fun, Path};
use lm::types::Type;
use std::sync::Arc;

/// The names of a value: one, or one for each component of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// A name; components are numbered.
    Name(String),
    /// The name of a tangent or a cotangent, and what its shape is.
    Tangent(String, Like),
    /// Names of the components.
    Parts(Vec<Label>),
}

/// A value that has the shape of a tangent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Like {
    /// A part of the inputs.
    Part(Path),
    /// A part of a function's result at arguments that are parts of the inputs.
    Result {
        /// The function.
        function: Arc<Fun>,
        /// Where its arguments are among the inputs.
        args: Vec<Path>,
        /// Which part of the result it is.
        part: Path,
    },
    /// Nothing that the function takes.
    Unknown,
}

/// A label next to a type.
pub(crate) enum View<'a> {
    /// The labels and types of the components.
    Parts(&'a [Label], &'a [Type]),
    /// A name, and the shape of a tangent.
    Leaf(&'a str, Option<&'a Like>),
}

impl Label {
    pub(super) fn name(name: &str) -> Label {
        Label::Name(name.into())
    }

    /// Returns the labels of the components of a tuple, or the name of anything else.
    pub(crate) fn view<'a>(&'a self, ty: &'a Type) -> View<'a> {
        match (self, ty) {
            (Label::Parts(labels), Type::Tuple(parts)) if labels.len() == parts.len() => View::Parts(labels, parts),
            (Label::Parts(_), _) => View::Leaf("out", None),
            (Label::Name(name), _) => View::Leaf(name, None),
            (Label::Tangent(name, like), _) => View::Leaf(name, Some(like)),
        }
    }

    /// Returns the name of the i-th component, from 1.
    pub(crate) fn component(&self, i: usize) -> Label {
        match self {
            Label::Name(name) => Label::Name(format!("{name}_{i}")),
            Label::Tangent(name, like) => Label::Tangent(format!("{name}_{i}"), like.component(i)),
            Label::Parts(parts) => parts[i - 1].clone(),
        }
    }

    /// Returns the names of the tangent of the inputs' part at a path.
    pub(super) fn tangent(&self, path: &Path) -> Label {
        match self {
            Label::Name(name) | Label::Tangent(name, _) => {
                Label::Tangent(format!("d_{name}"), Like::Part(path.clone()))
            }
            Label::Parts(parts) => {
                Label::Parts(parts.iter().enumerate().map(|(i, part)| part.tangent(&child(path, i + 1))).collect())
            }
        }
    }

    /// Returns the names of a tangent of a result with these labels, whose shape is known. A cotangent has a name of its
    /// own.
    pub(super) fn of_result(&self, like: &Like, name: Option<&str>) -> Label {
        let named = |own: &str| name.map_or(format!("d_{own}"), str::to_string);
        match self {
            Label::Name(own) => Label::Tangent(named(own), like.clone()),
            Label::Tangent(own, like) => Label::Tangent(named(own), like.clone()),
            Label::Parts(parts) => {
                let part = |(i, part): (usize, &Label)| {
                    let numbered = name.map(|name| format!("{name}_{}", i + 1));
                    part.of_result(&like.component(i + 1), numbered.as_deref())
                };
                Label::Parts(parts.iter().enumerate().map(part).collect())
            }
        }
    }

    /// Returns the names of all partial derivatives of a value by what varies.
    pub(super) fn by(&self, ty: &Type, varying: &Label, varying_ty: &Type) -> Label {
        match (ty, varying_ty) {
            (Type::Tuple(parts), _) => {
                let part = |(i, ty)| self.component(i + 1).by(ty, varying, varying_ty);
                Label::Parts(parts.iter().enumerate().map(part).collect())
            }
            (_, Type::Tuple(parts)) => {
                let part = |(i, part)| self.by(ty, &varying.component(i + 1), part);
                Label::Parts(parts.iter().enumerate().map(part).collect())
            }
            _ => Label::Name(format!("d_{}_{}", self.text(), varying.text())),
        }
    }

    /// Returns the same with shapes that are not known.
    pub(super) fn without_shapes(&self) -> Label {
        match self {
            Label::Name(_) => self.clone(),
            Label::Tangent(name, _) => Label::Tangent(name.clone(), Like::Unknown),
            Label::Parts(parts) => Label::Parts(parts.iter().map(Label::without_shapes).collect()),
        }
    }

    /// Returns the same with plain names for tangents that need a shape which is not known.
    pub(super) fn with_shapes(self, ty: &Type, is_known: &dyn Fn(&Like) -> bool) -> Label {
        match (self, ty) {
            (Label::Tangent(name, like), ty) if has_constant(ty) && !is_known(&like) => Label::Name(name),
            (Label::Parts(labels), Type::Tuple(parts)) if labels.len() == parts.len() => {
                let labels = labels.into_iter().zip(parts.iter());
                Label::Parts(labels.map(|(label, part)| label.with_shapes(part, is_known)).collect())
            }
            (label, _) => label,
        }
    }

    fn text(&self) -> &str {
        match self {
            Label::Name(name) | Label::Tangent(name, _) => name,
            Label::Parts(_) => "out",
        }
    }

    /// Returns the same for a function that takes these inputs as one tuple.
    pub(super) fn embedded(&self, parameters: usize) -> Label {
        match self {
            Label::Name(_) => self.clone(),
            Label::Tangent(name, like) => Label::Tangent(name.clone(), like.embedded(parameters)),
            Label::Parts(parts) => Label::Parts(parts.iter().map(|part| part.embedded(parameters)).collect()),
        }
    }

    /// Returns one label for all: the only one itself.
    pub(super) fn tuple(mut labels: Vec<Label>) -> Label {
        if labels.len() == 1 { labels.remove(0) } else { Label::Parts(labels) }
    }
}

impl Like {
    fn component(&self, i: usize) -> Like {
        match self {
            Like::Part(path) => Like::Part(child(path, i)),
            Like::Result { function, args, part } => {
                Like::Result { function: function.clone(), args: args.clone(), part: child(part, i) }
            }
            Like::Unknown => Like::Unknown,
        }
    }

    fn embedded(&self, parameters: usize) -> Like {
        match self {
            Like::Part(path) => Like::Part(embedded(path, parameters)),
            Like::Result { function, args, part } => {
                let args = args.iter().map(|arg| embedded(arg, parameters)).collect();
                Like::Result { function: function.clone(), args, part: part.clone() }
            }
            Like::Unknown => Like::Unknown,
        }
    }
}

fn child(path: &Path, i: usize) -> Path {
    [&path[..], &[i]].concat()
}

/// Returns the path to the same part, where the parameters are components of one.
pub(super) fn embedded(path: &Path, parameters: usize) -> Path {
    if parameters == 1 { path.clone() } else { [&[1], &path[..]].concat() }
}
