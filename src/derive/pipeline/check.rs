//! Checks the result of each pass, in debug builds.

use lm::notation::infix;
use lm::term::Def;
use lm::verify;

/// Returns a pass's result, checked in debug builds.
pub(in crate::derive) fn checked(pass: &str, def: Def, holds: impl FnOnce(&Def) -> bool) -> Def {
    if cfg!(debug_assertions) {
        const WIDTH: usize = 120;
        let text = || infix::definition(&def, infix::Format::Plain, WIDTH);
        if let Err(why) = verify::scoping(&def).and_then(|()| verify::typing(&def)) {
            panic!("after pass {pass}: {why}\n{}", text());
        }
        assert!(holds(&def), "after pass {pass}, this does not have the form it promises:\n{}", text());
    }
    def
}
