//! Arithmetic of linear forms.

use loops::analyses::ranges::Linear;
use loops::ir::Local;

const X: Local = Local(1);
const Y: Local = Local(2);

/// The largest number in a form.
const LARGEST: i128 = 1 << 100;

#[test]
fn forms_add_up() {
    let form = Linear::local(Y).times(3).and_then(|y| y.minus(&Linear::local(X))).and_then(|e| e.shifted(5));
    let form = form.expect("it is small");
    assert_eq!((form.terms(), form.at_zero()), (&[(X, -1), (Y, 3)][..], 5));
    assert_eq!(form.minus(&form), Some(Linear::constant(0)));
    let x = Linear::local(Y).shifted(2).expect("it is small");
    assert_eq!(form.with(X, &x), Linear::local(Y).times(2).and_then(|e| e.shifted(3)));
    assert_eq!(Linear::local(X).times(LARGEST + 1), None);
}

#[test]
fn what_is_not_positive_is_rounded() {
    // 4 x - 6 <= 0 for the same x as x - 1 <= 0; 4 x + 6 <= 0 as x + 2 <= 0.
    let form = |c| Linear::local(X).times(4).and_then(|e| e.shifted(c)).expect("it is small").tightened();
    assert_eq!(Some(form(-6)), Linear::local(X).shifted(-1));
    assert_eq!(Some(form(6)), Linear::local(X).shifted(2));
}
