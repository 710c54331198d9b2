//! The object that was made, as a file: its header, the sections, their relocations, the tables, the headers of all.

use super::{
    Content, HIDDEN, Joined, NOBITS, Place, RELA, RELOCATION, SECTION, SECTION_HEADER, STRTAB, SYMBOL, SYMTAB, Symbol,
    Target, UNDEFINED,
};

/// A flag of sections that say which section they are about.
const ABOUT_A_SECTION: u64 = 0x40;

/// A file on its way.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    headers: Vec<u8>,
    names: Vec<u8>,
}

/// The fields of a section header other than its position.
struct Said {
    kind: u32,
    flags: u64,
    link: usize,
    info: usize,
    align: u64,
    entry: u64,
}

impl File {
    /// Adds a section, of so many bytes in memory.
    fn section(&mut self, name: &[u8], said: &Said, data: &[u8], size: u64) {
        let start = self.bytes.len().next_multiple_of(said.align.max(1) as usize);
        self.bytes.resize(start, 0);
        self.bytes.extend(data);
        let name = text(&mut self.names, name);
        self.headers.extend(name.to_le_bytes());
        self.headers.extend(said.kind.to_le_bytes());
        for word in [said.flags, 0, start as u64, size] {
            self.headers.extend(word.to_le_bytes());
        }
        self.headers.extend((said.link as u32).to_le_bytes());
        self.headers.extend((said.info as u32).to_le_bytes());
        self.headers.extend(said.align.to_le_bytes());
        self.headers.extend(said.entry.to_le_bytes());
    }
}

/// Adds a text to a table of texts, which begins with an empty one; gives its place.
fn text(table: &mut Vec<u8>, text: &[u8]) -> u32 {
    if table.is_empty() {
        table.push(0);
    }
    if text.is_empty() {
        return 0;
    }
    let place = table.len() as u32;
    table.extend(text);
    table.push(0);
    place
}

/// The symbols in the order of the file, local ones first, and what of the objects is which of them.
struct Order {
    symbols: Vec<Symbol>,
    locals: usize,
    sections: usize,
    globals: Vec<usize>,
}

impl Joined {
    /// The file.
    pub(super) fn written(self) -> Vec<u8> {
        let order = self.order();
        let count = self.sections.len();
        let with_relocations = self.sections.values().filter(|content| !content.relocations.is_empty()).count();
        let symtab = 1 + count + with_relocations;
        let mut file = File { bytes: self.header.clone(), ..File::default() };
        file.headers.resize(SECTION_HEADER, 0);
        for (key, content) in &self.sections {
            let said =
                Said { kind: key.kind, flags: key.flags, link: 0, info: 0, align: content.align, entry: key.entry };
            debug_assert!(key.kind == NOBITS || content.data.len() as u64 == content.size);
            file.section(&key.name, &said, &content.data, content.size);
        }
        for (i, (key, content)) in self.sections.iter().enumerate() {
            if !content.relocations.is_empty() {
                let data = order.relocations(content);
                let (link, info) = (symtab, 1 + i);
                let entry = RELOCATION as u64;
                let said = Said { kind: RELA, flags: ABOUT_A_SECTION, link, info, align: 8, entry };
                file.section(&[b".rela", key.name.as_slice()].concat(), &said, &data, data.len() as u64);
            }
        }
        let (symbols, texts) = order.table();
        let said =
            Said { kind: SYMTAB, flags: 0, link: symtab + 1, info: order.locals, align: 8, entry: SYMBOL as u64 };
        file.section(b".symtab", &said, &symbols, symbols.len() as u64);
        let said = Said { kind: STRTAB, flags: 0, link: 0, info: 0, align: 1, entry: 0 };
        file.section(b".strtab", &said, &texts, texts.len() as u64);
        // The names of the sections come last: all are known only then.
        text(&mut file.names, b".shstrtab");
        let names = file.names.clone();
        let place = names.len() - b".shstrtab\0".len();
        file.section(b"", &said, &names, names.len() as u64);
        let last = file.headers.len() - SECTION_HEADER;
        file.headers[last..last + 4].copy_from_slice(&(place as u32).to_le_bytes());
        file.finished(symtab + 3)
    }

    /// Hidden symbols that are defined become local.
    fn order(&self) -> Order {
        let mut symbols = vec![Symbol::none()];
        symbols.extend(self.locals.iter().cloned());
        let sections = symbols.len();
        symbols.extend((0..self.sections.len()).map(Symbol::section));
        let mut globals = vec![0; self.globals.len()];
        let is_local = |symbol: &Symbol| symbol.visibility == HIDDEN && symbol.place != Place::Undefined;
        let mut take = |symbols: &mut Vec<Symbol>, local: bool| {
            for (i, symbol) in self.globals.values().enumerate().filter(|(_, symbol)| is_local(symbol) == local) {
                globals[i] = symbols.len();
                let (info, visibility) = if local { (symbol.info & 15, 0) } else { (symbol.info, symbol.visibility) };
                symbols.push(Symbol { info, visibility, ..symbol.clone() });
            }
        };
        take(&mut symbols, true);
        let locals = symbols.len();
        take(&mut symbols, false);
        Order { symbols, locals, sections, globals }
    }
}

impl Symbol {
    /// The first of each table.
    fn none() -> Symbol {
        Symbol { name: vec![], info: 0, visibility: 0, place: Place::Undefined, value: 0, size: 0 }
    }

    fn section(section: usize) -> Symbol {
        Symbol { info: SECTION, place: Place::In(section), ..Symbol::none() }
    }
}

impl Order {
    fn number(&self, target: Target) -> usize {
        match target {
            Target::Section(i) => self.sections + i,
            Target::Local(i) => 1 + i,
            Target::Global(i) => self.globals[i],
        }
    }

    fn relocations(&self, content: &Content) -> Vec<u8> {
        let mut data = Vec::with_capacity(content.relocations.len() * RELOCATION);
        for relocation in &content.relocations {
            data.extend(relocation.offset.to_le_bytes());
            data.extend(relocation.kind.to_le_bytes());
            data.extend((self.number(relocation.target) as u32).to_le_bytes());
            data.extend(relocation.addend.to_le_bytes());
        }
        data
    }

    /// The table of symbols, and that of their names.
    fn table(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut table, mut texts) = (vec![], vec![0]);
        for symbol in &self.symbols {
            let index = match symbol.place {
                Place::Undefined => UNDEFINED,
                Place::Reserved(index) => index,
                Place::In(section) => u16::try_from(1 + section).expect("sections are few"),
            };
            table.extend(text(&mut texts, &symbol.name).to_le_bytes());
            table.extend([symbol.info, symbol.visibility]);
            table.extend(index.to_le_bytes());
            table.extend(symbol.value.to_le_bytes());
            table.extend(symbol.size.to_le_bytes());
        }
        (table, texts)
    }
}

impl File {
    /// The whole file, of so many sections, of which the last has their names.
    fn finished(mut self, count: usize) -> Vec<u8> {
        let start = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(start, 0);
        debug_assert_eq!(self.headers.len(), count * SECTION_HEADER);
        self.bytes.extend(&self.headers);
        self.bytes[40..48].copy_from_slice(&(start as u64).to_le_bytes());
        self.bytes[60..62].copy_from_slice(&(count as u16).to_le_bytes());
        self.bytes[62..64].copy_from_slice(&(count as u16 - 1).to_le_bytes());
        self.bytes
    }
}
