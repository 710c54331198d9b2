//! Lowers terms to loops.
//!
//! ```text
//! value(let p = r in b)    = p := value(r); value(b)
//! value(f(a..))            = call f(components of value(a)..)
//! value(if c a b)          = if value(c) { yield value(a) } else { yield value(b) }
//! value(build n (λi. e))   = alloc; for i in 0..n { store [i] = value(e) }
//! value(a + b) of tensors  = value(a), in buffers of its own; then b is added in place (`into`)
//! ```
//!
//! Takes: a program without linear maps. Gives: loops for the entries and all that they call. A let is computed once,
//! in order. The work is linear in the size of the program: a tuple is a shared tree of operands, which is laid out
//! only where it crosses a call or a branch.

mod adding;
mod arrays;
mod blocks;
mod body;
mod calls;
mod external;
mod facts;
mod first_terms;
mod folds;
mod interface;
mod into;
mod keep;
mod pieces;
mod planned;
mod prim;
mod proofs;
mod records;
mod show;
mod sink;
mod sizes;
mod sums;
mod tensor;
mod timing_loop;
mod value;
mod vector_space;

use crate::analyses::verify;
use crate::error::Error;
use crate::interface::{Interface, parameters};
use crate::ir::{FunId, Module};
use body::Body;
use first_terms::FirstTerms;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::term::{Def, FunName, Program, Supply, Version};
use lm::types::Type;
use proofs::Sizes;
use rustc_hash::FxHashSet;
use sink::SinkForm;
use std::rc::Rc;

/// The C interface of an entry, or the type that has no form in C.
pub type Outside = Result<Interface, Type>;

/// Returns the loops of the entries, which come first and in order, of all that they call, and of what C calls. They add
/// up terms in the order of the program, if they are to keep it.
///
/// Errors: an entry or a called function is not defined; an operation is not supported.
pub fn lower(program: &Program, entries: &[FunName], keeps_order: bool) -> Result<(Module, Vec<Outside>), Error> {
    let externals = program.externals.keys().cloned().collect();
    let derived = program.defs.keys().filter(|name| program.is_derived(name)).cloned().collect();
    let mut wanted = Worklist {
        functions: IndexMap::new(),
        externals,
        derived,
        effects: Effects::of(program),
        sizes: Rc::new(Sizes::new(program)),
        first_terms: Rc::new(FirstTerms::of(program)),
        supply: program.supply.clone(),
        keeps_order,
    };
    for name in entries {
        let checked = wanted.checked(program, name);
        wanted.id(&checked, SinkForm::Own);
    }
    let mut module = Module { keeps_order, ..Module::default() };
    let pieces = in_pieces(program, entries);
    pieces.keys().for_each(|name| {
        wanted.id(name, SinkForm::Own);
    });
    while let Some(((name, form), _)) = wanted.functions.get_index(module.functions.len()) {
        let (name, form) = (name.clone(), form.clone());
        let def = program.defs.get(&name.sized()).or_else(|| pieces.get(&name));
        let def = def.ok_or_else(|| Error::Undefined(name.to_string()))?;
        module.functions.push(match name.versions.first() {
            Some(Version::Checked) => Body::lower_checks(def, name, &mut wanted)?,
            _ => Body::lower_function(program, def, &name, &form, &mut wanted)?,
        });
    }
    let outside = add_interfaces(program, entries, &pieces, &mut module, &mut wanted)?;
    let called = outside.iter().flatten().map(|interface| interface.function);
    module.exported = (0..entries.len()).map(FunId).chain(called).collect();
    module.mark();
    if cfg!(debug_assertions) {
        verify::verify(&module)
            .and_then(|()| verify::changed_once(&module))
            .unwrap_or_else(|violation| panic!("lowering broke a rule: {violation}\n{module}"));
    }
    Ok((module, outside))
}

/// Returns the functions for C of entries on deep tensors, and of those on tangents that cannot vary.
fn in_pieces(program: &Program, entries: &[FunName]) -> IndexMap<FunName, Def> {
    let mut supply = program.supply.clone();
    let defs = entries.iter().filter_map(|name| pieces::in_pieces(program, program.defs.get(name)?, &mut supply));
    defs.map(|def| (def.fun.name.clone(), def)).collect()
}

fn add_interfaces(
    program: &Program,
    entries: &[FunName],
    pieces: &IndexMap<FunName, Def>,
    module: &mut Module,
    wanted: &mut Worklist,
) -> Result<Vec<Outside>, Error> {
    let mut outside = Vec::new();
    for name in entries {
        let whole = &program.defs[name];
        let def = pieces.get(&name.version(Version::Pieces)).unwrap_or(whole);
        outside.push(match parameters(program, whole) {
            Err(ty) => Err(ty),
            Ok(parameters) => {
                let next = FunId(module.functions.len());
                let checked = wanted.checked(program, &def.fun.name);
                let direct = wanted.id(&checked, SinkForm::Own);
                let (interface, function) = interface::interface(def, parameters, direct, next, wanted)?;
                module.functions.extend(function);
                Ok(interface)
            }
        });
    }
    Ok(outside)
}

/// The functions met so far, with the form of what their results go to; those beyond the ones lowered are
/// still to do.
struct Worklist {
    functions: IndexMap<(FunName, SinkForm), ()>,
    /// The functions that are implemented elsewhere.
    externals: FxHashSet<FunName>,
    /// The functions that derivations made.
    derived: FxHashSet<FunName>,
    /// The functions that print.
    effects: Effects,
    sizes: Rc<Sizes>,
    first_terms: Rc<FirstTerms>,
    supply: Supply,
    /// Whether sums are added up in the order of the program.
    keeps_order: bool,
}

impl Worklist {
    fn id(&mut self, name: &FunName, form: SinkForm) -> FunId {
        FunId(self.functions.insert_full((name.clone(), form), ()).0)
    }
}
