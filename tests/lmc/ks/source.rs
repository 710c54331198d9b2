//! Texts of programs: their lines, and the files that they come from.

use lmc::ks::source::{Position, Source};

#[test]
fn columns_count_characters() {
    let source = Source::new("a.ks", "ab\nλx y\n");
    assert_eq!(source.position(0), Position { line: 1, column: 1 });
    assert_eq!(source.position(2), Position { line: 1, column: 3 });
    assert_eq!(source.position(6), Position { line: 2, column: 3 });
    assert_eq!(source.position(99), Position { line: 3, column: 1 });
    assert_eq!(&source.text()[source.lines(2..=2)], "λx y");
    assert_eq!(&source.text()[source.lines(1..=3)], "ab\nλx y\n");
}

#[test]
fn lines_may_end_with_a_carriage_return() {
    let source = Source::new("a.ks", "ab\rc\r\nd\re");
    let lines: Vec<&str> = (1..=4).map(|line| source.text()[source.lines(line..=line)].trim_end()).collect();
    assert_eq!(lines, ["ab", "c", "d", "e"]);
    assert_eq!(source.position(7), Position { line: 3, column: 2 });
}

#[test]
fn places_are_in_files() {
    let files = vec![Source::new("a.ks", "ab\ncd"), Source::new("b.ks", ""), Source::new("c.ks", "e\nf")];
    let source = Source::concatenated("a.ks, b.ks, c.ks", files);
    assert_eq!(source.text(), "ab\ncd\n\ne\nf\n");
    assert_eq!(source.place(4), ("a.ks", Position { line: 2, column: 2 }));
    assert_eq!(source.place(5), ("a.ks", Position { line: 2, column: 3 }));
    assert_eq!(source.place(6), ("b.ks", Position { line: 1, column: 1 }));
    assert_eq!(source.place(9), ("c.ks", Position { line: 2, column: 1 }));
    assert_eq!(source.files().map(|(start, _)| start).collect::<Vec<_>>(), [0, 6, 7]);
    let alone = Source::new("d.ks", "x");
    assert_eq!(alone.place(0), ("d.ks", Position { line: 1, column: 1 }));
    assert_eq!(alone.files().count(), 1);
}

#[test]
fn unreadable_files_say_why() {
    let message = |path: &str| Source::read(path).expect_err("unreadable").diagnostic.to_string();
    assert_eq!(message("/no/such/file.ks"), "cannot read `/no/such/file.ks`: there is no such file");
    assert_eq!(message("/"), "cannot read `/`: it is a directory");
    let garbage = Source::from_bytes("x.ks", b"(def\n\xff".to_vec()).expect_err("not UTF-8");
    assert_eq!(garbage.diagnostic.to_string(), "`x.ks` is not UTF-8: byte 0xff at offset 5");
}
