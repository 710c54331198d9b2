//! The formulations as Python modules on arrays of JAX, for `whole_arrays.py`, which measures them beside JAX by hand.

use crate::harness::options::Options;
use crate::kernel::Kernel;
use bulk::emit::Kind;
use bulk::{Known, Refusal, lower};
use lm::term::{Derivative, FunName};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use serde_json::json;
use std::fs;
use std::path::Path;

/// Writes a module for each formulation, `NAME_FORMULATION.py`, one for its arguments, on arrays of NumPy, and a list of
/// the kernels. Panics when the folder cannot be written.
pub fn write(folder: &Path, kernels: &[Kernel], options: &Options) {
    fs::create_dir_all(folder).expect("a folder");
    let mut list = Vec::new();
    for kernel in kernels {
        let (mut formulations, mut parameters) = (Vec::new(), 0);
        for formulation in kernel.formulations {
            if !options.wants(&kernel.program(formulation)) {
                continue;
            }
            let (name, text) = *formulation;
            let module = format!("{}_{name}", kernel.name);
            let checked = front::load(&Source::new(&format!("{module}.ks"), text)).expect("the program is right");
            let mut pipeline = Pipeline::new(checked);
            let (f, point) = (FunName::base(kernel.name), FunName::base("point"));
            parameters = pipeline.program().defs[&f].params.len();
            let vjp = f.derived(Derivative::Vjp);
            pipeline.require(&vjp).unwrap_or_else(|error| panic!("{module}: {error}"));
            pipeline.require(&point).unwrap_or_else(|error| panic!("{module}: {error}"));
            let save = |kind: Kind, names: &[&FunName], file: String| -> Result<(), Refusal> {
                let program = pipeline.program();
                let lowered = names.iter().map(|name| lower(program, name, &Known::default(), kind.sizes_of()));
                let text = kind.text(&lowered.collect::<Result<Vec<_>, _>>()?, &|_| None, &Default::default())?;
                fs::write(folder.join(file), text).expect("a file");
                Ok(())
            };
            let saved = save(Kind::Numpy, &[&point], format!("point_{module}.py"))
                .and_then(|()| save(Kind::Jax, &[&f, &vjp], format!("{module}.py")));
            if let Err(refusal) = &saved {
                eprintln!("{module}: {refusal}");
            }
            formulations.push(json!({ "name": name, "refused": saved.err().map(|refusal| refusal.to_string()) }));
        }
        if !formulations.is_empty() {
            let Kernel { name, n, size, .. } = kernel;
            list.push(json!({
                "name": name, "n": n, "size": size, "parameters": parameters, "formulations": formulations
            }));
        }
    }
    fs::write(folder.join("kernels.json"), json!(list).to_string()).expect("a file");
}
