//! Names of functions as written.

use lmc::ks::check::names::{old_spelling, projection};

#[test]
fn old_spellings() {
    let shown = |name: &str| old_spelling(name).map(|n| n.to_string());
    assert_eq!(shown("fwd$f"), Some("[fwd f]".into()));
    assert_eq!(shown("fwd$rev$f"), Some("[fwd [rev f]]".into()));
    assert_eq!(shown("add@ff"), Some("[add (Tuple Float Float)]".into()));
    assert_eq!(shown("D$dot@vfi"), Some("[D [dot (Tuple (Vec Float) Integer)]]".into()));
    assert_eq!(shown("f@v"), None);
    assert_eq!(shown("a@xyz"), None);
    assert_eq!(shown("plain"), None);
}

#[test]
fn projections() {
    assert_eq!(projection("2$3"), Some((2, 3)));
    assert_eq!(projection("0$3"), None);
    assert_eq!(projection("4$3"), None);
    assert_eq!(projection("x"), None);
}
