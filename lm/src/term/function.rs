//! Top-level functions as calls see them: names and types.

use super::Derivative;
use crate::types::Type;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of a top-level function: derivatives, outermost first, then the base name, then the
/// argument type where the base name is overloaded.
///
/// Shown as `f`, `[f T]`, `[fwd f]`, `[fwd [rev [f T]]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunName {
    /// The versions of the function that native code has, outermost first; empty in terms.
    pub versions: Vec<Version>,
    /// The derivatives, outermost first; empty for a function as written.
    pub derivations: Vec<Derivative>,
    /// The name in the source.
    pub base: Arc<str>,
    /// The argument type, when several functions share the base name.
    pub overload: Option<Type>,
}

/// A version of a function that native code has beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// The function that C calls: `[c f]`.
    CInterface,
    /// The function on the pieces that C knows of its argument and its result: `[pieces f]`.
    Pieces,
    /// The copy for tensors whose rows differ in size, and tangents that differ in size from their primals: `[jagged f]`.
    Jagged,
    /// The copy for arguments whose sizes need not be those that its type says: `[unsized f]`.
    Unsized,
    /// The function that checks the sizes of arguments from outside, and calls f: `[checked f]`.
    Checked,
    /// The function that tells how much memory f needs: `[workspace f]`.
    Workspace,
    /// The function whose result is added to destinations; the text says which parts of it.
    Destinations(Arc<str>),
    /// A nest of loops of the function that other places have as well, by its number in the module: `[loops1 f]`.
    Loops(usize),
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::CInterface => f.write_str("c"),
            Version::Pieces => f.write_str("pieces"),
            Version::Jagged => f.write_str("jagged"),
            Version::Unsized => f.write_str("unsized"),
            Version::Checked => f.write_str("checked"),
            Version::Workspace => f.write_str("workspace"),
            Version::Destinations(parts) => f.write_str(parts),
            Version::Loops(number) => write!(f, "loops{number}"),
        }
    }
}

impl FunName {
    /// Returns the name of a function as written, not overloaded.
    pub fn base(name: &str) -> FunName {
        FunName { versions: Vec::new(), derivations: Vec::new(), base: name.into(), overload: None }
    }

    /// Returns `[derivative self]`.
    pub fn derived(&self, derivative: Derivative) -> FunName {
        let mut name = self.clone();
        name.derivations.insert(0, derivative);
        name
    }

    /// Returns the name of a version of the function in native code.
    pub fn version(&self, version: Version) -> FunName {
        let mut name = self.clone();
        name.versions.insert(0, version);
        name
    }

    /// Returns the name of the function that this checks arguments for, or is the copy for other sizes of; its own, if
    /// it is neither.
    pub fn sized(&self) -> FunName {
        let mut name = self.clone();
        name.versions.retain(|version| !matches!(version, Version::Unsized | Version::Checked));
        name
    }

    /// Returns the outermost derivative.
    pub fn derivative(&self) -> Option<&Derivative> {
        self.derivations.first()
    }

    /// Returns the name without its n outermost derivatives. Panics where it has fewer.
    pub fn without_derivatives(&self, n: usize) -> FunName {
        FunName { derivations: self.derivations[n..].to_vec(), ..self.clone() }
    }

    /// Returns the outermost derivative, and the name of the function that it is the derivative of.
    pub fn underived(&self) -> Option<(Derivative, FunName)> {
        self.derivative().map(|derivative| (derivative.clone(), self.without_derivatives(1)))
    }

    /// Returns the name of the function as written: this function, or the one that it is a derivative of.
    pub fn as_written(&self) -> FunName {
        FunName { derivations: Vec::new(), ..self.clone() }
    }

    /// Returns `[wrt$1$3.2 self]`: the same function with respect to only these parts of the argument: parameters,
    /// or components of them, from 1.
    pub fn restricted(&self, varying: &[Path]) -> FunName {
        self.derived(Derivative::Wrt(varying.into()))
    }

    /// Returns what varies, when the name says so.
    pub fn varying(&self) -> Option<&[Path]> {
        self.derivative()?.varying()
    }

    /// Returns the function without a restriction of what varies.
    pub fn unrestricted(&self) -> FunName {
        self.without_derivatives(usize::from(self.varying().is_some()))
    }
}

/// A way to a part of a function's argument: the parameter, then components, from 1.
pub type Path = Vec<usize>;

impl fmt::Display for FunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.versions.iter().try_for_each(|version| write!(f, "[{version} "))?;
        self.derivations.iter().try_for_each(|derivative| write!(f, "[{derivative} "))?;
        match &self.overload {
            Some(ty) => write!(f, "[{} {ty}]", self.base)?,
            None => write!(f, "{}", self.base)?,
        }
        (0..self.versions.len() + self.derivations.len()).try_for_each(|_| write!(f, "]"))
    }
}

/// A top-level function as a call sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fun {
    /// Its name.
    pub name: FunName,
    /// One type per parameter.
    pub params: Vec<Type>,
    /// The result type.
    pub result: Type,
}

/// The name tells it: types may be as large as programs.
impl Hash for Fun {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Fun {
    /// Returns the type S of `f : S -> T`: the parameter's type, or the tuple of all of them.
    pub fn argument(&self) -> Type {
        match self.params.as_slice() {
            [one] => one.clone(),
            many => Type::tuple(many.iter().cloned()),
        }
    }

    /// Returns whether the function has such a part of its argument, and it can change.
    pub fn can_vary(&self, path: &Path) -> bool {
        let part = |ty: &Type, i: &usize| ty.as_tuple().and_then(|parts| parts.get(i - 1).cloned());
        let first = self.params.get(path[0] - 1).cloned();
        let ty = first.and_then(|ty| path[1..].iter().try_fold(ty, |ty, i| part(&ty, i)));
        ty.is_some_and(|ty| ty.is_differentiable())
    }

    /// Returns the type of the parts that vary: the whole argument, or the parts that the name lists.
    pub fn varying(&self) -> Type {
        let part = |path: &Path| {
            let part = |ty: Type, i: &usize| ty.as_tuple().expect("a path leads through tuples")[i - 1].clone();
            path[1..].iter().fold(self.params[path[0] - 1].clone(), part)
        };
        match self.name.varying() {
            None => self.argument(),
            Some(paths) => match paths {
                [one] => part(one),
                many => Type::tuple(many.iter().map(part)),
            },
        }
    }
}
