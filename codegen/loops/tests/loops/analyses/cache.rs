//! What is kept, and what is computed again.

use loops::analyses::alias::Written;
use loops::analyses::cache::Analyses;
use loops::ir::parse::parse;
use loops::ir::{FunId, Module};
use std::rc::Rc;

const TEXT: &str = "fun f(n%0: integer, b%1: [float]) -> () {\ncall g(b%1)\nyield\n}\n\n\
                    fun g(b%0: [float]) -> () {\nstore b%0[0] = 1.0\nyield\n}\n";

#[test]
fn what_did_not_change_is_not_computed_again() {
    let module = parse(TEXT);
    let mut analyses = Analyses::default();
    let written = analyses.written(&module);
    assert_eq!(written, [Written::from([1]), Written::from([0])]);
    let aliases = |analyses: &mut Analyses, module: &Module, written: &[Written]| {
        analyses.aliases(FunId(0), &module.functions[0], written)
    };
    let first = aliases(&mut analyses, &module, &written);
    assert!(Rc::ptr_eq(&first, &aliases(&mut analyses, &module, &written)));
    // Another callee, or another text, is another question.
    let nothing = [Written::new(), Written::new()];
    assert!(!Rc::ptr_eq(&first, &aliases(&mut analyses, &module, &nothing)));
    let first = aliases(&mut analyses, &module, &written);
    let mut changed = module.clone();
    changed.functions[0].body.stmts.clear();
    assert!(!Rc::ptr_eq(&first, &aliases(&mut analyses, &changed, &written)));
}
