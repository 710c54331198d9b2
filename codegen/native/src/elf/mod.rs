//! Several objects as one: what `ld -r` does, without a linker, for objects that LLVM wrote for x86-64.
//!
//! ```text
//! sections     those of one name, kind and alignment of entries follow each other
//! symbols      a definition serves all objects that name it; hidden ones become local: they were for the other objects
//! relocations  the same, moved with what they are in and with what they point to
//! ```
//!
//! Layouts: System V ABI, chapters 4 and 5; the x86-64 supplement.

mod read;
mod write;

use indexmap::IndexMap;

/// Kinds of sections.
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const RELA: u32 = 4;
const NOBITS: u32 = 8;

/// Bindings, types and visibilities of symbols.
const LOCAL: u8 = 0;
const SECTION: u8 = 3;
const FILE: u8 = 4;
const HIDDEN: u8 = 2;

/// Places of symbols that are in no section.
const UNDEFINED: u16 = 0;
const RESERVED: u16 = 0xff00;
const ABSOLUTE: u16 = 0xfff1;

/// The bytes of a header of a section, a symbol and a relocation.
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const RELOCATION: usize = 24;

/// The key of a section. Sections with equal keys become one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SectionKey {
    name: Vec<u8>,
    kind: u32,
    flags: u64,
    entry: u64,
}

/// A section.
#[derive(Debug, Default)]
struct Content {
    align: u64,
    /// Its bytes in memory: as many as there are data, but for one of zeros, which has none.
    size: u64,
    data: Vec<u8>,
    relocations: Vec<Relocation>,
}

/// A place that the linker fills in.
#[derive(Clone, Copy, Debug)]
struct Relocation {
    offset: u64,
    kind: u32,
    target: Target,
    addend: i64,
}

/// The target of a relocation, by number.
#[derive(Clone, Copy, Debug)]
enum Target {
    Section(usize),
    Local(usize),
    Global(usize),
}

/// The place of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Defined in another object, or not yet.
    Undefined,
    /// A number of its own, such as an absolute address.
    Reserved(u16),
    /// Defined in the section of this number.
    In(usize),
}

/// A symbol.
#[derive(Clone, Debug)]
struct Symbol {
    name: Vec<u8>,
    /// Binding and type.
    info: u8,
    visibility: u8,
    place: Place,
    value: u64,
    size: u64,
}

/// The object made so far.
#[derive(Debug, Default)]
struct Joined {
    /// The header of a file, of which the first object's is taken.
    header: Vec<u8>,
    sections: IndexMap<SectionKey, Content>,
    locals: Vec<Symbol>,
    globals: IndexMap<Vec<u8>, Symbol>,
}

/// The object that has what all of them have.
///
/// Panics where one of them is none that LLVM writes for x86-64, or two define one symbol.
pub(crate) fn join_objects(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut joined = Joined::default();
    objects.iter().for_each(|object| joined.add(object));
    joined.written()
}

impl Joined {
    /// Another object names or defines a global symbol; gives its number.
    fn global(&mut self, symbol: Symbol) -> usize {
        let (number, known) = match self.globals.get_full_mut(&symbol.name) {
            Some((number, _, known)) => (number, known),
            None => return self.globals.insert_full(symbol.name.clone(), symbol).0,
        };
        let visibility = known.visibility.max(symbol.visibility);
        if symbol.place != Place::Undefined {
            assert!(known.place == Place::Undefined, "{} has one place", String::from_utf8_lossy(&symbol.name));
            *known = symbol;
        }
        known.visibility = visibility;
        number
    }
}

#[cfg(test)]
mod tests;
