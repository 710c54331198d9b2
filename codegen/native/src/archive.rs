//! A static library of one object, in the GNU `ar` form.
//!
//! ```text
//! "!<arch>\n", member "/" (for each symbol, where its member starts; then their names), the object
//! ```
//!
//! Written here and not by `ar`, so that `a` needs no tool and the same input gives the same bytes:
//! times, owners and modes are fixed.

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// The archive of `object`, which defines `symbols`.
pub(crate) fn archive(object: &[u8], symbols: &[&str]) -> Vec<u8> {
    let names: Vec<u8> = symbols.iter().flat_map(|name| name.bytes().chain([0])).collect();
    let index_size = 4 + 4 * symbols.len() + names.len();
    let object_at = (MAGIC.len() + HEADER + index_size.next_multiple_of(2)) as u32;
    let mut index = (symbols.len() as u32).to_be_bytes().to_vec();
    symbols.iter().for_each(|_| index.extend(object_at.to_be_bytes()));
    index.extend(names);
    let mut out = MAGIC.to_vec();
    push_member(&mut out, "/", &index);
    push_member(&mut out, "lmc.o/", object);
    out
}

fn push_member(out: &mut Vec<u8>, name: &str, content: &[u8]) {
    let size = content.len();
    out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
    out.extend(content);
    if size % 2 == 1 {
        out.push(b'\n');
    }
}
