//! An object, added to what there is.

use super::{
    ABSOLUTE, Content, FILE, Joined, LOCAL, NOBITS, Place, RELA, RELOCATION, RESERVED, Relocation, SECTION,
    SECTION_HEADER, STRTAB, SYMBOL, SYMTAB, SectionKey, Symbol, Target, UNDEFINED,
};
use rustc_hash::FxHashMap;

/// The kind of a section that only LLVM's linker reads: of which symbols the address counts (SHT_LLVM_ADDRSIG).
const ADDRESSES: u32 = 0x6fff_4c03;
/// The kind of a section that groups others (SHT_GROUP).
const GROUP: u32 = 17;

/// The header of a section.
struct Header {
    name: usize,
    kind: u32,
    flags: u64,
    offset: usize,
    size: usize,
    link: usize,
    info: usize,
    align: u64,
    entry: u64,
}

/// An object as it is read.
struct Object<'a> {
    bytes: &'a [u8],
    headers: Vec<Header>,
    names: usize,
}

/// Maps a section of an object to the section that it became a part of, with its offset there.
type Moves = FxHashMap<usize, (usize, u64)>;

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice has its length")
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn quarter(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(number(bytes, at))
}

impl<'a> Object<'a> {
    fn new(bytes: &'a [u8]) -> Object<'a> {
        assert!(bytes.starts_with(b"\x7fELF\x02\x01") && quarter(bytes, 18) == 62, "an object for x86-64");
        let (start, count) = (word(bytes, 40) as usize, quarter(bytes, 60) as usize);
        assert!(count > 0, "an object has fewer sections than need another form");
        let header = |i| {
            let at = start + i * SECTION_HEADER;
            Header {
                name: half(bytes, at) as usize,
                kind: half(bytes, at + 4),
                flags: word(bytes, at + 8),
                offset: word(bytes, at + 24) as usize,
                size: word(bytes, at + 32) as usize,
                link: half(bytes, at + 40) as usize,
                info: half(bytes, at + 44) as usize,
                align: word(bytes, at + 48),
                entry: word(bytes, at + 56),
            }
        };
        Object { bytes, headers: (0..count).map(header).collect(), names: quarter(bytes, 62) as usize }
    }

    fn text(&self, table: usize, at: usize) -> Vec<u8> {
        let start = self.headers[table].offset + at;
        self.bytes[start..].iter().take_while(|byte| **byte != 0).copied().collect()
    }

    fn content(&self, header: &Header) -> &'a [u8] {
        &self.bytes[header.offset..header.offset + header.size]
    }

    fn of_kind(&self, kind: u32) -> impl Iterator<Item = &Header> {
        self.headers.iter().filter(move |header| header.kind == kind)
    }
}

impl Joined {
    /// Adds what an object has.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let object = Object::new(bytes);
        if self.header.is_empty() {
            self.header = bytes[..64].to_vec();
        }
        let moves = self.add_sections(&object);
        let table = object.of_kind(SYMTAB).next().expect("an object has symbols");
        let targets: Vec<Option<(Target, u64)>> = (0..table.size / SYMBOL)
            .map(|i| self.add_symbol(&object, table, table.offset + i * SYMBOL, &moves))
            .collect();
        for header in object.of_kind(RELA) {
            let Some((section, base)) = moves.get(&header.info).copied() else { continue };
            let relocations = (0..header.size / RELOCATION).map(|i| {
                let at = header.offset + i * RELOCATION;
                let (target, further) = targets[half(bytes, at + 12) as usize].expect("it points somewhere");
                let addend = word(bytes, at + 16) as i64 + further as i64;
                Relocation { offset: base + word(bytes, at), kind: half(bytes, at + 8), target, addend }
            });
            self.sections[section].relocations.extend(relocations);
        }
    }

    fn add_sections(&mut self, object: &Object) -> Moves {
        let mut moves = Moves::default();
        for (i, header) in object.headers.iter().enumerate().skip(1) {
            assert!(header.kind != GROUP, "LLVM groups no sections of ours");
            if [SYMTAB, STRTAB, RELA, ADDRESSES].contains(&header.kind) {
                continue;
            }
            let name = object.text(object.names, header.name);
            let key = SectionKey { name, kind: header.kind, flags: header.flags, entry: header.entry };
            let entry = self.sections.entry(key);
            let section = entry.index();
            let content: &mut Content = entry.or_default();
            let align = header.align.max(1);
            content.align = content.align.max(align);
            let base = content.size.next_multiple_of(align);
            content.size = base + header.size as u64;
            if header.kind != NOBITS {
                content.data.resize(base as usize, 0);
                content.data.extend(object.content(header));
            }
            moves.insert(i, (section, base));
        }
        moves
    }

    /// Returns the new number of a symbol, and the offset to add where it is used. Returns nothing for symbols that
    /// only people read.
    fn add_symbol(&mut self, object: &Object, table: &Header, at: usize, moves: &Moves) -> Option<(Target, u64)> {
        let bytes = object.bytes;
        let (info, index) = (bytes[at + 4], quarter(bytes, at + 6));
        let (place, base) = match index {
            UNDEFINED => (Place::Undefined, 0),
            ABSOLUTE => (Place::Reserved(index), 0),
            RESERVED.. => panic!("LLVM puts no symbol of ours in section {index:#x}"),
            _ => moves.get(&usize::from(index)).map(|(section, base)| (Place::In(*section), *base))?,
        };
        let symbol = Symbol {
            name: object.text(table.link, half(bytes, at) as usize),
            info,
            visibility: bytes[at + 5] & 3,
            place,
            value: word(bytes, at + 8) + base,
            size: word(bytes, at + 16),
        };
        match (info >> 4, info & 15, place) {
            (_, SECTION, Place::In(section)) => Some((Target::Section(section), base)),
            (LOCAL, FILE, _) if self.locals.iter().any(|local| local.info & 15 == FILE) => None,
            (LOCAL, _, Place::Undefined) => None,
            (LOCAL, ..) => {
                self.locals.push(symbol);
                Some((Target::Local(self.locals.len() - 1), 0))
            }
            _ => Some((Target::Global(self.global(symbol)), 0)),
        }
    }
}
