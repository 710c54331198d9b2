//! The reader: what it reads, and the errors that it reports.

use lm::term::Span;
use lmc::ks::reader::{NESTING_LIMIT, Shape, read};
use lmc::with_large_stack;

fn shapes(text: &str) -> Vec<Shape> {
    let reading = read(text);
    assert_eq!(reading.errors, []);
    reading.forms.into_iter().map(|s| s.shape).collect()
}

fn errors(text: &str) -> Vec<String> {
    with_large_stack(|| read(text).errors.iter().map(ToString::to_string).collect())
}

fn symbol(name: &str) -> Shape {
    Shape::Symbol(name.into())
}

#[test]
fn numbers_and_names() {
    let read = shapes("42 -123 +7 1.0 -1.23 2.5e-3 1e6 -1.0");
    let (int, float) = (Shape::Integer, Shape::Float);
    let expected = vec![int(42), int(-123), int(7), float(1.0), float(-1.23), float(2.5e-3), float(1e6), float(-1.0)];
    assert_eq!(read, expected);
    let names = ["rev$f", "add@ff", "a.b", "K-1", "x7", "-", "+x", ":", "'", "e1", "λ"];
    assert_eq!(shapes(&names.join(" ")), names.map(symbol));
    assert_eq!(shapes("-9223372036854775808"), [int(i64::MIN)]);
}

#[test]
fn comments_and_strings() {
    assert_eq!(shapes("a ; b\n#| c #| d |# e |# f"), [symbol("a"), symbol("f")]);
    assert_eq!(shapes(r#""a\n\"\\;#|λ""#), [Shape::String("a\n\"\\;#|λ".into())]);
}

#[test]
fn lists_have_spans() {
    let reading = read(" (a [b])");
    assert_eq!(reading.forms[0].span, Span { start: 1, end: 8 });
}

#[test]
fn every_error_is_reported() {
    let found = errors("9223372036854775808 1e999 7x 1. \"\\q\" {");
    let expected = [
        "the literal `9223372036854775808` does not fit a 64-bit Integer",
        "the literal `1e999` is out of range for a Float",
        "`7x` is neither a number nor a name",
        "`1.` is neither a number nor a name",
        "unknown escape `\\q` in a string",
        "unexpected character `{`",
    ];
    assert_eq!(found, expected);
}

#[test]
fn parentheses_are_matched() {
    assert_eq!(errors("(a (b)"), ["this `(` is never closed"]);
    assert_eq!(errors("a) b"), ["this `)` closes nothing"]);
    assert_eq!(errors(&")]\n ".repeat(1_000_000)), ["this `)` closes nothing"]);
    assert_eq!(errors("a)) (b) )"), ["this `)` closes nothing", "this `)` closes nothing"]);
    assert_eq!(errors("(a]"), ["`(` is closed by `]`"]);
    assert_eq!(errors("(def f (\n(def g (a))\n(def h b"), ["this `(` is never closed", "this `(` is never closed"]);
    assert_eq!(errors("\"abc"), ["this string is never closed"]);
    assert_eq!(errors("#| #| |#"), ["this comment is never closed"]);
}

#[test]
fn nesting_is_limited() {
    let deep = "(".repeat(100_000) + &")".repeat(100_000);
    assert_eq!(errors(&deep), ["parentheses are nested deeper than 20000"]);
    let fine = "(".repeat(NESTING_LIMIT) + &")".repeat(NESTING_LIMIT);
    assert_eq!(errors(&fine), [""; 0]);
}
