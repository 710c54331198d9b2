//! Names of variables in what is written.

use lm::notation::names::Names;
use lm::term::Expr;
use lm::term::Supply;
use lm::types::Type;

#[test]
fn names_are_unique_and_readable() {
    let mut supply = Supply::default();
    let given = ["x", "x", "x_1", "let", "1", "-2", "a b", "", "x"];
    let e = Expr::tuple(given.map(|name| Expr::var(&supply.fresh(name, Type::Float))));
    let names = Names::of_term(&e);
    let shown: Vec<String> = e.children().filter_map(|x| Some(names.of_var(x.as_var()?))).collect();
    assert_eq!(shown, ["x", "x_1", "x_1_1", "_let", "_1", "_-2", "a_b", "_", "x_2"]);
}
