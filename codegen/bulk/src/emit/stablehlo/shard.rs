//! Arrays on several devices: annotations of the signature, which XLA carries on into the body.
//!
//! ```text
//! --mesh data=4        4 devices along an axis `data`
//! --shard x=data,-     the rows of x in 4 parts, each with all columns
//! ```
//!
//! A cotangent lies as its parameter does. Where XLA may choose, a result of dimensions has no annotation.

use crate::ir::{Function, Scalar, Shape};
use lm::term::Derivative;
use std::str::FromStr;

/// The devices: the name and the size of each axis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh(Vec<(String, i64)>);

/// How a parameter, or a part of one, lies on the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The name of the parameter or the part: `x`, `t.2`.
    path: String,
    /// The axis of the mesh that each dimension lies along.
    axes: Vec<Option<String>>,
}

/// A mistake in how parameters lie on devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// No function has the parameter.
    #[error("no function has a parameter `{0}` to shard")]
    NoParameter(String),
    /// A parameter is given twice.
    #[error("`{0}` is sharded twice")]
    Twice(String),
    /// The parameter has another number of dimensions.
    #[error("`{path}` has {rank} dimensions, and is sharded as if it had {given}")]
    Rank {
        /// The parameter.
        path: String,
        /// Its dimensions.
        rank: usize,
        /// Those that were given.
        given: usize,
    },
    /// The mesh has no such axis.
    #[error("the mesh has no axis `{0}`; say `--mesh {0}=4`")]
    NoAxis(String),
    /// Two dimensions lie along one axis.
    #[error("`{path}` lies along the axis `{axis}` twice")]
    AxisTwice {
        /// The parameter.
        path: String,
        /// The axis of the mesh.
        axis: String,
    },
    /// A size is no multiple of the number of devices.
    #[error("`{path}` is {size}, which is no multiple of the {devices} devices along `{axis}`")]
    Remainder {
        /// The size, as a path.
        path: String,
        /// The size.
        size: i64,
        /// The axis of the mesh.
        axis: String,
        /// Its size.
        devices: i64,
    },
}

impl FromStr for Mesh {
    type Err = String;

    /// Reads `data=4` or `data=2,model=2`.
    fn from_str(text: &str) -> Result<Mesh, String> {
        let wrong = || format!("`{text}` does not say how many devices there are along which axis, as `data=4` does");
        let mut axes: Vec<(String, i64)> = Vec::new();
        for part in text.split(',') {
            let (name, size) = part.split_once('=').ok_or_else(wrong)?;
            let size = size.trim().parse().ok().filter(|size| (1..=1_000_000).contains(size)).ok_or_else(wrong)?;
            let name = axis_name(name).ok_or_else(wrong)?;
            if axes.iter().any(|(other, _)| *other == name) {
                return Err(format!("`{text}` has the axis `{name}` twice"));
            }
            axes.push((name, size));
        }
        Ok(Mesh(axes))
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Reads `x=data,-`.
    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("`{text}` does not say which dimension lies along which axis, as `x=data,-` does");
        let (path, axes) = text.split_once('=').ok_or_else(wrong)?;
        let axis = |axis: &str| if axis.trim() == "-" { Some(None) } else { axis_name(axis).map(Some) };
        let axes = axes.split(',').map(axis).collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        let path = Some(path.trim()).filter(|path| !path.is_empty()).ok_or_else(wrong)?;
        Ok(Shard { path: path.into(), axes })
    }
}

fn axis_name(name: &str) -> Option<String> {
    let name = name.trim();
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_word && name.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| name.to_string())
}

impl Shard {
    /// Returns whether an input is the parameter, or part of it.
    fn has(&self, input: &str) -> bool {
        input.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl Mesh {
    /// Returns the number of devices.
    pub fn devices(&self) -> i64 {
        self.0.iter().map(|(_, size)| size).product()
    }

    /// Returns whether there is only one device.
    pub fn is_alone(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks how parameters lie on the devices.
    ///
    /// Errors: a parameter or an axis that does not exist, or that is given twice; another number of dimensions; a size
    /// that the devices do not divide.
    pub fn check(&self, functions: &[Function], shards: &[Shard]) -> Result<(), ShardError> {
        for (k, shard) in shards.iter().enumerate() {
            if shards[..k].iter().any(|other| other.path == shard.path) {
                return Err(ShardError::Twice(shard.path.clone()));
            }
            for (j, axis) in shard.axes.iter().enumerate() {
                let Some(axis) = axis else { continue };
                if !self.0.iter().any(|(name, _)| name == axis) {
                    return Err(ShardError::NoAxis(axis.clone()));
                }
                if shard.axes[..j].iter().any(|other| other.as_ref() == Some(axis)) {
                    return Err(ShardError::AxisTwice { path: shard.path.clone(), axis: axis.clone() });
                }
            }
            let of = |function: &Function| {
                (0..function.inputs.len()).filter(|&i| shard.has(&function.paths[i].number)).collect()
            };
            let found: Vec<(&Function, Vec<usize>)> =
                functions.iter().map(|function| (function, of(function))).collect();
            if found.iter().all(|(_, inputs)| inputs.is_empty()) {
                return Err(ShardError::NoParameter(shard.path.clone()));
            }
            for (function, input) in
                found.iter().flat_map(|(function, inputs)| inputs.iter().map(move |&i| (*function, i)))
            {
                self.check_input(function, input, shard)?;
            }
        }
        Ok(())
    }

    fn check_input(&self, function: &Function, input: usize, shard: &Shard) -> Result<(), ShardError> {
        let dims = &function.node(function.inputs[input]).dims;
        let path = &function.paths[input];
        if dims.len() != shard.axes.len() {
            return Err(ShardError::Rank { path: path.number.clone(), rank: dims.len(), given: shard.axes.len() });
        }
        for (k, axis) in shard.axes.iter().enumerate() {
            let Some((axis, devices)) = axis.as_ref().and_then(|axis| self.0.iter().find(|(name, _)| name == axis))
            else {
                continue;
            };
            if let Some(size) = function.number(dims[k]).filter(|size| size % devices != 0) {
                let (path, axis, devices) = (path.sizes[k].clone(), axis.clone(), *devices);
                return Err(ShardError::Remainder { path, size, axis, devices });
            }
        }
        Ok(())
    }

    /// Returns the line that declares the mesh.
    pub(super) fn declaration(&self) -> String {
        let axes: Vec<String> = self.0.iter().map(|(name, size)| format!("\"{name}\"={size}")).collect();
        if axes.is_empty() { String::new() } else { format!("  sdy.mesh @mesh = <[{}]>\n", axes.join(", ")) }
    }

    /// Returns the annotation of an input.
    pub(super) fn attribute(&self, function: &Function, input: usize, shards: &[Shard]) -> String {
        let rank = function.node(function.inputs[input]).dims.len();
        let shard = shards.iter().find(|shard| shard.has(&function.paths[input].number));
        let whole = vec![None; rank];
        self.sharding(shard.map_or(&whole, |shard| &shard.axes))
    }

    fn sharding(&self, axes: &[Option<String>]) -> String {
        if self.is_alone() {
            return String::new();
        }
        let dims: Vec<String> =
            axes.iter().map(|axis| axis.as_ref().map_or("{}".into(), |axis| format!("{{\"{axis}\"}}"))).collect();
        format!(" {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", "))
    }

    /// Returns the annotations of the results, of which the first is the status.
    pub(super) fn result_attributes(&self, function: &Function, shards: &[Shard]) -> Vec<String> {
        let mut all = vec![self.sharding(&[])];
        let cotangents = cotangents(function);
        let first = function.body.results.len() - cotangents.len();
        for (k, &result) in function.body.results.iter().enumerate() {
            let is_number = function.node(result).dims.is_empty();
            all.push(match k.checked_sub(first).map(|k| cotangents[k]) {
                Some(input) => self.attribute(function, input, shards),
                None if is_number => self.sharding(&[]),
                None => String::new(),
            });
        }
        all
    }
}

/// Returns the inputs whose cotangents the last results are, if the function is a reverse derivative.
fn cotangents(function: &Function) -> Vec<usize> {
    let name = &function.name;
    let count = match name.derivations.first() {
        Some(Derivative::Vjp | Derivative::Rev) => function.parameters.len() - 1,
        Some(Derivative::Grad) => function.parameters.len(),
        _ => return vec![],
    };
    let varying: Option<Vec<String>> = name.derivations.iter().find_map(|derivative| match derivative {
        Derivative::Wrt(paths) => Some(paths.iter().map(|path| written(function, path)).collect()),
        _ => None,
    });
    let is_varying = |k: &usize| {
        let number = &function.paths[*k].number;
        let has =
            |path: &String| number.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        varying.as_ref().is_none_or(|paths| paths.iter().any(has))
    };
    let inputs =
        function.parameters[..count].iter().flat_map(|parameter| parameter.shape.leaves().into_iter().copied());
    let floats = inputs.filter(|&k| function.node(function.inputs[k]).scalar == Scalar::Float);
    let found: Vec<usize> = floats.filter(is_varying).collect();
    let Some(first) = function.body.results.len().checked_sub(found.len()) else { return vec![] };
    let fits = found
        .iter()
        .zip(&function.body.results[first..])
        .all(|(&k, &result)| function.node(function.inputs[k]).dims.len() == function.node(result).dims.len());
    if fits { found } else { vec![] }
}

/// Returns the name of part of the argument, given its place: `t.2`.
fn written(function: &Function, path: &[usize]) -> String {
    let Some((first, rest)) = path.split_first() else { return String::new() };
    let names = argument_names(function);
    let name = first.checked_sub(1).and_then(|k| names.get(k)).cloned().unwrap_or_default();
    rest.iter().fold(name, |name, k| format!("{name}.{k}"))
}

/// Returns the names of the parameters that a derivative takes first, as one tuple if they are several.
fn argument_names(function: &Function) -> Vec<String> {
    let Some(first) = function.parameters.first() else { return vec![] };
    let inside = format!("{}.", first.name);
    let name = |k: usize| &function.paths[k].number;
    match &first.shape {
        Shape::Tuple(parts) if !first.shape.leaves().into_iter().all(|&k| name(k).starts_with(&inside)) => {
            // A name is that of the first array, without its places in tuples.
            let of =
                |part: &Shape<usize>| part.leaves().first().map_or("", |&&k| name(k).split('.').next().unwrap_or(""));
            parts.iter().map(|part| of(part).to_string()).collect()
        }
        _ => function.parameters.iter().map(|parameter| parameter.name.to_string()).collect(),
    }
}
