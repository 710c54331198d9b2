//! Names of derivatives.

use lm::term::{Derivative, UnknownDerivative};

#[test]
fn what_is_written_is_read() {
    let parts = Derivative::Wrt([vec![1], vec![3, 2]].into());
    assert_eq!(parts.to_string(), "wrt$1$3.2");
    for derivative in Derivative::all().chain([parts]) {
        assert_eq!(derivative.to_string().parse(), Ok(derivative));
    }
}

#[test]
fn other_words_are_refused() {
    for word in ["", "Rev", "wrt", "wrt$", "wrt$0", "wrt$1$", "wrt$1.", "wrt$x", "derivative"] {
        assert_eq!(word.parse::<Derivative>(), Err(UnknownDerivative(word.into())));
    }
}
