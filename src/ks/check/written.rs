//! The built-ins that are written in the language: the texts `arrays.ks`, `linalg.ks` and `expansions.ks`, read.

use crate::ks::check::names::symbol;
use crate::ks::reader::{Sexp, Shape, read};
use std::sync::{Arc, LazyLock};

/// A built-in as it is written.
#[derive(Debug)]
pub struct Definition {
    /// The name.
    pub name: Arc<str>,
    /// The typing, in the notation of [`lm::scheme`].
    pub typing: String,
    /// The names of the parameters.
    pub params: Vec<Arc<str>>,
    /// The body.
    pub body: Sexp,
    /// Whether it is of the library, whose names are free for variables and external functions.
    pub is_library: bool,
}

/// Those that the checker replaces, those of the library last.
pub static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let texts = [(include_str!("../arrays.ks"), false), (include_str!("../linalg.ks"), true)];
    let of_text = |(text, is_library)| read(text).forms.into_iter().map(move |form| definition(form, is_library));
    texts.into_iter().flat_map(of_text).collect()
});

/// The expansions of primitives.
pub static EXPANSIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    read(include_str!("../expansions.ks")).forms.into_iter().map(|form| definition(form, false)).collect()
});

/// Reads `(def name T ((x : T1) ...) body)`. Panics when it is another form: the text is our own.
fn definition(form: Sexp, is_library: bool) -> Definition {
    let Shape::List(items) = form.shape else { panic!("a definition is a list") };
    let [_, name, result, params, body] =
        <[Sexp; 5]>::try_from(items).unwrap_or_else(|items| panic!("malformed definition {items:?}"));
    let params = list(&params);
    let params = if params.first().is_some_and(|p| symbol(p).is_some()) {
        vec![params]
    } else {
        params.iter().map(list).collect()
    };
    let typing = params.iter().map(|p| type_text(&p[2..])).chain(["->".into(), text(&result)]);
    let typing = typing.collect::<Vec<_>>().join(" ");
    let named = |s: &Sexp| symbol(s).unwrap_or_else(|| panic!("{s:?} is no name")).clone();
    let params = params.iter().map(|p| named(&p[0])).collect();
    Definition { name: named(&name), typing, params, body, is_library }
}

fn list(s: &Sexp) -> &[Sexp] {
    match &s.shape {
        Shape::List(items) => items,
        _ => panic!("{s:?} is no list"),
    }
}

fn type_text(items: &[Sexp]) -> String {
    match items {
        [one] => text(one),
        several => format!("({})", several.iter().map(text).collect::<Vec<_>>().join(" ")),
    }
}

fn text(s: &Sexp) -> String {
    symbol(s).map_or_else(
        || format!("({})", list(s).iter().map(text).collect::<Vec<_>>().join(" ")),
        |name| name.to_string(),
    )
}
