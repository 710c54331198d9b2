//! Symbols, their aliases, and names in C.

use indexmap::IndexSet;
use lm::term::{Derivative, FunName};
use lm::types::Type;
use loops::Error;
use loops::symbol::{check_c_names, symbols};

fn symbols_of(functions: &[FunName]) -> Vec<(String, Option<String>)> {
    let symbols = symbols(functions, &IndexSet::new()).expect("no clash");
    symbols.into_iter().map(|s| (s.name, s.alias)).collect()
}

fn pair(name: &str, alias: Option<&str>) -> (String, Option<String>) {
    (name.into(), alias.map(str::to_string))
}

#[test]
fn symbols_are_literal_and_aliases_plain() {
    let f = FunName::base("f2");
    let dot = FunName { overload: Some(Type::tuple([Type::Float, Type::vec(Type::Float)])), ..FunName::base("dot") };
    let names = [
        f.clone(),
        f.derived(Derivative::Rev),
        f.derived(Derivative::Rev).derived(Derivative::Fwd),
        FunName::base("K-1"),
        dot,
    ];
    let expected = [
        pair("f2", None),
        pair("rev$f2", Some("rev_f2")),
        pair("fwd$rev$f2", Some("fwd_rev_f2")),
        pair("K-1", Some("K_1")),
        pair("dot$afvf", Some("dot_afvf")),
    ];
    assert_eq!(symbols_of(&names), expected);
}

#[test]
fn names_of_c_are_left_to_c() {
    for name in ["exp", "main", "malloc", "double", "_init", ".Lx", "llvm.sqrt", "lmc_context", "size_t", "'"] {
        let [symbol] = &symbols_of(&[FunName::base(name)])[..] else { panic!("one symbol") };
        assert_eq!(symbol.0, format!("lmc${name}"));
        assert!(!symbol.1.as_ref().is_some_and(|alias| RESERVED_BY_C.contains(&alias.as_str())));
    }
    let rev = FunName::base("exp").derived(Derivative::Rev);
    assert_eq!(symbols_of(&[rev]), [pair("rev$exp", Some("rev_exp"))]);
}

const RESERVED_BY_C: &[&str] = &["exp", "main", "malloc", "double", "_init", "size_t", "lmc_context"];

#[test]
fn what_the_user_wrote_goes_first() {
    let rev = FunName::base("f").derived(Derivative::Rev);
    let names = [rev.clone(), FunName::base("rev_f"), FunName::base("rev$f")];
    let expected = [pair("lmc$rev$f", Some("lmc_rev_f")), pair("rev_f", None), pair("rev$f", None)];
    assert_eq!(symbols_of(&names), expected);
    let third = FunName::base("$f").derived(Derivative::Rev);
    let clash = [FunName::base("rev$f"), rev, FunName::base("f").derived(Derivative::Rev)];
    assert!(matches!(symbols(&clash, &IndexSet::new()), Err(Error::SymbolTaken(..))), "{third}");
}

#[test]
fn names_of_external_functions_are_not_given_out() {
    let externals = IndexSet::from(["rev_f".into(), "g".into()]);
    let names = [FunName::base("f").derived(Derivative::Rev), FunName::base("g")];
    let symbols = symbols(&names, &externals).expect("no clash");
    let symbols: Vec<_> = symbols.into_iter().map(|s| (s.name, s.alias)).collect();
    assert_eq!(symbols, [pair("rev$f", None), pair("lmc$g", Some("lmc_g"))]);
}

#[test]
fn no_two_functions_have_one_name_in_c() {
    let [f, rev] = [FunName::base("f"), FunName::base("f").derived(Derivative::Rev)];
    let check = |names: &[(&FunName, bool)], externals: &[&str]| {
        let externals = externals.iter().map(|&name| name.into()).collect();
        check_c_names(names.iter().copied(), &externals).map_err(|error| error.to_string())
    };
    assert_eq!(check(&[(&f, true), (&rev, true), (&FunName::base("rev"), false)], &["g"]), Ok(()));
    for (other, owner) in [("rev_f", "`[rev f]`"), ("rev$f", "`[rev f]`"), ("f_workspace", "the workspace of `f`")] {
        let refused = check(&[(&f, true), (&rev, false), (&FunName::base(other), false)], &[]);
        assert!(refused.is_err_and(|e| e.starts_with(&format!("{owner} and `{other}` have one name in C"))), "{other}");
    }
    let refused = check(&[(&rev, false)], &["rev_f"]);
    assert!(refused.is_err_and(|e| e.starts_with("the external function `rev_f` and `[rev f]` have one name")));
}

#[test]
fn queries_of_the_workspace_take_no_name_from_others() {
    let names = [FunName::base("f").derived(Derivative::Rev), FunName::base("rev_f_workspace"), FunName::base("g")];
    let symbols = symbols(&names, &IndexSet::new()).expect("no clash");
    let queries: Vec<_> = symbols.into_iter().map(|s| s.workspace).collect();
    assert_eq!(queries, [vec!["rev$f_workspace"], vec!["rev_f_workspace_workspace"], vec!["g_workspace"]]);
}
