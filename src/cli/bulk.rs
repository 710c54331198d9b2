//! The outputs of `lmc compile` that are programs on whole arrays, and their options.

use super::failure::Failure;
use super::input::Input;
use bulk::emit::Kind;
use bulk::emit::stablehlo::{Mesh, Options, Precision, Shard};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lm::term::{FunName, Program};
use loops::Known;

/// The options for StableHLO.
#[derive(clap::Args)]
pub struct BulkOptions {
    /// The devices that StableHLO runs on, as a mesh: `data=4`, `data=2,model=2`.
    #[arg(long, value_name = "AXIS=DEVICES")]
    mesh: Option<Mesh>,
    /// Lay the dimensions of a parameter along axes of the mesh; `-` is for a dimension that each device has whole:
    /// `x=data,-`. May be repeated. Other parameters are whole on each device.
    #[arg(long, value_name = "PARAMETER=AXIS,..")]
    shard: Vec<Shard>,
    /// The precision of Floats in StableHLO.
    #[arg(long, default_value = "f64", value_parser = precision())]
    float: Precision,
}

fn precision() -> impl TypedValueParser<Value = Precision> {
    let find = |given: String| Precision::ALL.iter().copied().find(|precision| precision.name() == given);
    PossibleValuesParser::new(Precision::ALL.iter().map(|precision| precision.name()))
        .map(move |given| find(given).expect("clap takes nothing else"))
}

impl BulkOptions {
    /// Checks that options for StableHLO have an output that they are for.
    ///
    /// Errors: they have none; `--shard` without `--mesh`.
    pub fn check(&self, kinds: impl IntoIterator<Item = Kind>) -> Result<(), Failure> {
        let given = [
            ("--mesh", self.mesh.is_some()),
            ("--shard", !self.shard.is_empty()),
            ("--float", self.float != Precision::default()),
        ];
        let first = given.iter().find(|(_, is_given)| *is_given);
        let has_output = kinds.into_iter().any(|kind| kind == Kind::StableHlo);
        match first {
            Some((option, _)) if !has_output => {
                Err(Failure::Usage(format!("`{option}` is for StableHLO: say `--emit stablehlo`")))
            }
            _ if self.mesh.is_none() && !self.shard.is_empty() => {
                Err(Failure::Usage("`--shard` is for several devices: say `--mesh data=4`".into()))
            }
            _ => Ok(()),
        }
    }

    fn options(&self) -> Options {
        Options { precision: self.float, mesh: self.mesh.clone().unwrap_or_default(), shards: self.shard.clone() }
    }
}

/// Returns the text of functions as operations on whole arrays.
///
/// Errors: a function has no bulk form; what is known is of no parameter; parameters do not lie on the mesh.
pub fn text(
    input: &Input,
    program: &Program,
    entries: &[FunName],
    kind: Kind,
    options: &BulkOptions,
    known: &[Known],
) -> Result<Vec<u8>, Failure> {
    let checked = loops::specialise::check_own(program, entries, known);
    checked.map_err(|error| input.not_compiled(native::Error::Loops(error)))?;
    let known: bulk::Known = known.iter().map(|known| (known.place(), known.value)).collect();
    let functions = entries.iter().map(|name| bulk::lower(program, name, &known, kind.sizes_of()));
    let functions = functions.collect::<Result<Vec<_>, _>>();
    let functions = functions.map_err(|refusal| input.no_bulk_form(refusal))?;
    let options = options.options();
    if kind == Kind::StableHlo {
        let checked = options.mesh.check(&functions, &options.shards);
        checked.map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let text = kind.text(&functions, &|span| input.place_of(span), &options);
    Ok(text.map_err(|refusal| input.no_bulk_form(refusal))?.into_bytes())
}
