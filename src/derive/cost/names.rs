//! Names of the sizes and the Integers of parameters: those of the source.
//!
//! ```text
//! size(v)   n   off[1]   size(g[n - 1])       one number each
//! size(g[_])   off[_]                         the largest one, where the index is not known
//! ```

use super::limits::Limits;
use super::polynomial::Polynomial;
use lm::notation::infix::{self, Format};
use lm::notation::names::Names;
use lm::prim::Prim;
use lm::term::{Expr, Kind, Op, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// The parameters of a definition.
#[derive(Clone)]
pub(super) struct Named(FxHashSet<u32>);

/// Returns the numbers in an index, where each is known.
type Numbers<'n> = dyn Fn(&Expr) -> Option<Vec<Polynomial>> + 'n;

/// Words that follow a cost. A parameter that is called so is quoted.
const UNITS: [&str; 3] = ["flop", "moves", "steps"];

impl Named {
    pub(super) fn of(params: &[Var]) -> Named {
        Named(params.iter().map(Var::id).collect())
    }

    /// Returns the sizes of a tensor, or the numbers in an index, by their names, if they are those of parameters.
    pub(super) fn called(&self, e: &Expr, numbers: &Numbers) -> Option<Vec<Limits>> {
        let text = self.text(e, numbers)?;
        let (rank, is_size) = match e.ty() {
            Type::Tensor(rank, _) => (*rank, true),
            ty => (ty.rank_of_index().unwrap_or(1), false),
        };
        let name = if is_size { format!("size({text})") } else { text };
        let one = |name: String| limits(name, is_size, e.as_var().is_some());
        Some(if rank == 1 { vec![one(name)] } else { (1..=rank).map(|k| one(format!("{name}.{k}"))).collect() })
    }

    /// Returns a short text of what depends on parameters only.
    fn text(&self, e: &Expr, numbers: &Numbers) -> Option<String> {
        match e.kind() {
            Kind::Var(x) if self.0.contains(&x.id()) => Some(match UNITS.contains(&&**x.name()) {
                true => format!("`{}`", x.name()),
                false => x.name().to_string(),
            }),
            Kind::App(Op::Prim(Prim::Index), args) => {
                let of = self.text(&args[1], numbers)?;
                Some(match numbers(&args[0]) {
                    Some(index) => format!("{of}[{}]", index.iter().map(shown).collect::<Option<Vec<_>>>()?.join(", ")),
                    None => format!("{of}{ANY}"),
                })
            }
            Kind::App(Op::Get(i, _), args) => Some(format!("{}.{i}", self.text(&args[0], numbers)?)),
            Kind::App(Op::Prim(p), args) => {
                let args: Vec<String> = args.iter().map(|a| self.argument(a, numbers)).collect::<Option<_>>()?;
                Some(format!("{}({})", p.name(), args.join(", ")))
            }
            Kind::Const(_) => Some(infix::term(e, &Names::of_term(e), Format::Plain, usize::MAX)),
            Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
        }
    }

    /// Returns the text of an argument, if it is that of one value.
    fn argument(&self, e: &Expr, numbers: &Numbers) -> Option<String> {
        match e.ty() {
            Type::Integer => shown(numbers(e)?.first()?),
            _ => self.text(e, numbers).filter(|text| !text.contains(ANY)),
        }
    }
}

/// Stands for an index that is not known.
const ANY: &str = "[_]";

fn limits(name: String, is_size: bool, is_parameter: bool) -> Limits {
    let is_one = !name.contains(ANY);
    match (is_size, is_one) {
        (true, true) => Limits::exactly(Polynomial::size(name)),
        (true, false) => Limits::natural(Polynomial::size(name)),
        (false, true) if is_parameter => Limits::exactly(Polynomial::size(name)),
        (false, true) => Limits::exactly(Polynomial::integer(name)),
        (false, false) => Limits::at_most(Polynomial::integer(name)),
    }
}

/// Returns the text of a number. One that is cut would be that of several numbers.
fn shown(n: &Polynomial) -> Option<String> {
    n.is_short().then(|| n.to_string())
}
