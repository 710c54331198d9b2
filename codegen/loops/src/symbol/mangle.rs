//! Writes argument types in symbols. `f` is Float, `i` Integer, `b` Bool, `s` String, `v` a vector of what follows,
//! `T<rank>` a tensor of what follows. `t<n>` is a tuple of the n types that follow.

use lm::types::Type;

/// Returns the letters of an argument type; the tuple of several arguments is just its parts.
pub(super) fn mangle(argument: &Type) -> String {
    let mut out = String::new();
    match argument {
        Type::Tuple(parts) if parts.len() != 1 => parts.iter().for_each(|part| push(part, &mut out)),
        other => push(other, &mut out),
    }
    out
}

fn push(ty: &Type, out: &mut String) {
    match ty {
        Type::Float => out.push('f'),
        Type::Integer => out.push('i'),
        Type::Bool => out.push('b'),
        Type::String => out.push('s'),
        Type::Tuple(parts) => {
            out.push_str(&format!("t{}", parts.len()));
            parts.iter().for_each(|part| push(part, out));
        }
        Type::Tensor(rank, element) => {
            out.push_str(&if *rank == 1 { "v".to_string() } else { format!("T{rank}") });
            push(element, out);
        }
        Type::Lam(s, t) => push_pair('l', s, t, out),
        Type::LM(s, t) => push_pair('m', s, t, out),
        // No entry point takes one.
        Type::Record(name) => out.push_str(&format!("r{name}")),
    }
}

fn push_pair(letter: char, s: &Type, t: &Type, out: &mut String) {
    out.push(letter);
    push(s, out);
    push(t, out);
}
