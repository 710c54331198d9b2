//! The built-ins that are written in the language.

use lm::scheme::Rule;
use lmc::ks::check::written::DEFINITIONS;

#[test]
fn definitions_are_read() {
    let map = DEFINITIONS.iter().find(|g| &*g.name == "map").expect("map is there");
    assert_eq!(map.typing, "(Lam s t) (Tensor i s) -> (Tensor i t)");
    assert_eq!(map.params.len(), 2);
    assert!(DEFINITIONS.iter().all(|g| Rule::parse(&g.typing).at_arity(g.params.len()).is_some()));
}
