//! Arguments of measurements: those that are written, and those that are generated.

use lm::random::SplitMix;
use lm::term::{FunName, Span};
use lm::types::Type;
use lm::value::Value;
use lmc::benchmark::argument::{Written, elements, generated};
use lmc::ks::source::Source;

fn written(text: &str) -> Written {
    let program = Source::new("p.ks", "(def example Float () 1.0)");
    let constant = |name: &FunName| *name.base == *"example";
    Written::new(&program, &Source::new("--input", text), &Type::Float, constant, constant).expect("it reads")
}

#[test]
fn parentheses_may_be_left_out() {
    for (text, body) in [
        ("model n 2", "\n(model n 2\n))\n"),
        ("(model n 2) ; twice", "\n(model n 2) ; twice\n)\n"),
        ("example", "\n(example\n))\n"),
        ("n", "\nn\n)\n"),
        ("2.5", "\n2.5\n)\n"),
    ] {
        let program = written(text).program;
        assert!(program.text().ends_with(body), "{}", program.text());
    }
}

#[test]
fn places_are_those_of_the_text() {
    let written = written("model n 2");
    let at = written.program.text().find("n 2").expect("it is there") as u32;
    assert_eq!(written.place(Span { start: at, end: at + 1 }), Some(Span { start: 6, end: 7 }));
    assert_eq!(written.place(Span { start: at, end: at + 9 }), Some(Span { start: 6, end: 9 }));
    assert_eq!(written.place(Span { start: 0, end: 4 }), None);
}

#[test]
fn generated_values_fit() {
    let parts = [Type::Tensor(2, Type::Float.into()), Type::Tensor(1, Type::Integer.into()), Type::Integer];
    let ty = Type::tuple(parts);
    let value = generated(&ty, 7, &mut SplitMix::new(1));
    let parts = value.as_tuple().expect("a tuple");
    assert!(value.floats().len() == 49 && value.floats().iter().all(|x| (0.0..1.0).contains(x)), "{value}");
    let Value::Tensor(indices) = &parts[1] else { panic!("{value}") };
    assert!(indices.elements().iter().all(|i| matches!(i, Value::Integer(0..7))), "{value}");
    assert_eq!(parts[2], Value::Integer(6));
    assert_eq!(elements(&ty, 7), Some(49 + 7 + 1));
    assert_eq!(elements(&Type::Tensor(7, Type::Float.into()), u64::from(u32::MAX)), None);
    assert_eq!(value, generated(&ty, 7, &mut SplitMix::new(1)));
    assert_ne!(value, generated(&ty, 7, &mut SplitMix::new(2)));
}
