//! What is kept, and what is computed again.

use loops::analyses::alias::Summary;
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
    let summaries = analyses.summaries(&module);
    assert_eq!(summaries.iter().map(|summary| &summary.written).collect::<Vec<_>>(), [&[1].into(), &[0].into()]);
    let aliases = |analyses: &mut Analyses, module: &Module, summaries: &[Summary]| {
        analyses.aliases(FunId(0), &module.functions[0], summaries)
    };
    let first = aliases(&mut analyses, &module, &summaries);
    assert!(Rc::ptr_eq(&first, &aliases(&mut analyses, &module, &summaries)));
    // Another callee, or another text, is another question.
    let nothing = [Summary::default(), Summary::default()];
    assert!(!Rc::ptr_eq(&first, &aliases(&mut analyses, &module, &nothing)));
    let first = aliases(&mut analyses, &module, &summaries);
    let mut changed = module.clone();
    changed.functions[0].body.stmts.clear();
    assert!(!Rc::ptr_eq(&first, &aliases(&mut analyses, &changed, &summaries)));
}
