//! Where lines of text end.

use lm::lines::line_ends;

#[test]
fn lines_end_as_on_any_system() {
    assert_eq!(line_ends("a\nb\r\nc\rd\n\r").collect::<Vec<_>>(), [1, 4, 6, 8, 9]);
}
