//! Files of strategies: what is printed reads back as the same, and each mistake is found at its place.

use lm::law;
use lm::random::SplitMix;
use lm::strategy::syntax::{Body, Definition, Name, Shape, Term};
use lm::strategy::{Cause, Combinator, Known, Library, Mistake, parse};
use lm::term::Span;

const KNOWN: Known = Known { passes: &["cse", "dce"], of_terms: &["term"], of_definitions: &["whole"] };

fn mistakes(text: &str) -> Vec<Mistake> {
    match Library::new(KNOWN, &[("test.strategy", text)]) {
        Ok(_) => Vec::new(),
        Err(refused) => refused.mistakes,
    }
}

/// Asserts that a text has one mistake, of a kind, and where.
fn wrong(text: &str, at: &str, is_cause: fn(&Cause) -> bool) {
    let found = mistakes(text);
    let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
    assert!(is_cause(&one.cause), "{text}: {found:?}");
    assert_eq!(&text[one.span.start as usize..one.span.end as usize], at, "{text}");
}

/// Random strategies of any form.
struct Draw(SplitMix);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.0.draw() % n as u64) as usize
    }

    fn name(&mut self) -> Name {
        let names = ["add-zero", "x", "scale-one", "$a_1", "m'", "jacobian-*", "λ"];
        Name { text: names[self.below(names.len())].into(), span: Span::default() }
    }

    fn names(&mut self) -> Vec<Name> {
        (0..=self.below(30)).map(|_| self.name()).collect()
    }

    fn term(&mut self, depth: usize) -> Term {
        let kinds = if depth == 0 { 5 } else { 12 };
        let shape = match self.below(kinds) {
            0 => Shape::Id,
            1 => Shape::Fail,
            2 => Shape::Name(self.name().text, Vec::new()),
            3 => Shape::Laws(self.names()),
            4 => Shape::Pass(self.name()),
            5 => {
                let count = 1 + self.below(3);
                Shape::Name(self.name().text, (0..count).map(|_| self.term(depth - 1)).collect())
            }
            6 => Shape::Seq(self.boxed(depth), self.boxed(depth)),
            7 => Shape::Choice(self.boxed(depth), self.boxed(depth)),
            8 => {
                let all: Vec<Combinator> = Combinator::all().collect();
                let combinator = all[self.below(all.len())];
                let k = 1 + self.below(12);
                let combinator = if combinator.number().is_some() { combinator.with_number(k) } else { combinator };
                Shape::With(combinator, self.boxed(depth))
            }
            9 => Shape::Mu(self.name(), self.boxed(depth)),
            10 => Shape::Fuel(self.below(1_000), self.boxed(depth)),
            _ => Shape::Stage(["Loops", "a \"b\" \\ c", ""][self.below(3)].into(), self.boxed(depth)),
        };
        Term { shape, span: Span::default() }
    }

    fn boxed(&mut self, depth: usize) -> Box<Term> {
        Box::new(self.term(depth - 1))
    }

    fn definition(&mut self, i: usize) -> Definition {
        let name = Name { text: format!("s{i}").into(), span: Span::default() };
        let purpose = (self.below(2) == 0).then(|| "what it is for, \"so\"".into());
        let body = match self.below(4) {
            0 => Body::Group(self.names()),
            1 => Body::Strategy(self.names(), self.term(5)),
            _ => Body::Strategy(Vec::new(), self.term(6)),
        };
        Definition { name, purpose, body }
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    let mut draw = Draw(SplitMix::new(1));
    for round in 0..300 {
        let definitions: Vec<Definition> = (0..10).map(|i| draw.definition(i)).collect();
        let text: String = definitions.iter().map(|definition| format!("{definition}\n# comment\n")).collect();
        let (read, mistakes) = parse::file(&text, 0);
        assert_eq!(mistakes, [], "round {round}: {text}");
        assert_eq!(read, definitions, "round {round}: {text}");
        let again: String = read.iter().map(|definition| format!("{definition}\n# comment\n")).collect();
        assert_eq!(again, text);
    }
}

#[test]
fn every_law_has_a_name_of_the_grammar() {
    let names: Vec<&str> = law::all().keys().map(|name| &**name).collect();
    let text = format!("group whole = {}", names.join(", "));
    let (read, mistakes) = parse::file(&text, 0);
    assert_eq!(mistakes, []);
    let Body::Group(items) = &read[0].body else { panic!("a group") };
    assert_eq!(items.iter().map(|item| &*item.text).collect::<Vec<_>>(), names);
}

#[test]
fn a_text_that_is_none_is_refused_and_the_next_definition_read() {
    wrong("strategy a = ;", ";", |cause| matches!(cause, Cause::Unexpected { .. }));
    wrong("strategy a = id id", "id", |cause| matches!(cause, Cause::Unexpected { .. }));
    wrong("strategy try = id", "try", |cause| matches!(cause, Cause::Unexpected { .. }));
    wrong("strategy a = child(x)(id)", "x", |cause| matches!(cause, Cause::Unexpected { .. }));
    wrong("a = id", "a", |cause| matches!(cause, Cause::Unexpected { .. }));
    wrong("strategy a = id !", "!", |cause| matches!(cause, Cause::Character('!')));
    wrong("strategy a \"b = id", "\"b = id", |cause| matches!(cause, Cause::UnclosedString));
    let number = "99999999999999999999999";
    wrong(&format!("strategy a = fuel({number}, id)"), number, |cause| matches!(cause, Cause::Number(_)));
    let deep = format!("strategy a = {}id{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(mistakes(&deep).iter().any(|mistake| matches!(mistake.cause, Cause::TooDeep(_))));
    let (read, found) = parse::file("strategy a = ; strategy b = id group c = , strategy d = id", 0);
    assert_eq!(read.iter().map(|definition| &*definition.name.text).collect::<Vec<_>>(), ["b", "d"]);
    assert_eq!(found.len(), 2);
}

#[test]
fn names_mean_something() {
    wrong("strategy a = add-zer", "add-zer", |cause| matches!(cause, Cause::Unknown { .. }));
    wrong("group a = add-zero, add-zer", "add-zer", |cause| matches!(cause, Cause::Unknown { .. }));
    wrong("group a = nothing-*", "nothing-*", |cause| matches!(cause, Cause::Unknown { .. }));
    wrong("strategy a = pass(cs)", "cs", |cause| matches!(cause, Cause::Unknown { .. }));
    wrong("group g = add-zero strategy a = g", "g", |cause| matches!(cause, Cause::Group(_)));
    wrong("strategy a = id strategy a = fail", "a", |cause| matches!(cause, Cause::Twice(..)));
    wrong("strategy add-zero = id", "add-zero", |cause| matches!(cause, Cause::IsLaw(_)));
    wrong("group term = add-zero", "term", |cause| matches!(cause, Cause::OtherKind(_)));
    wrong("strategy whole(s) = s", "whole", |cause| matches!(cause, Cause::OtherKind(_)));
    wrong("strategy a(s) = s strategy b = a", "a", |cause| matches!(cause, Cause::Arguments { .. }));
    wrong("strategy b = add-zero(id)", "add-zero(id)", |cause| matches!(cause, Cause::Arguments { .. }));
    wrong("strategy a = try(a)", "a", |cause| matches!(cause, Cause::Itself(_)));
    wrong("group a = a, add-zero", "a", |cause| matches!(cause, Cause::Itself(_)));
    assert_eq!(mistakes("strategy a = b ; add-zero strategy b = id").len(), 0, "order does not matter");
    // A chain of definitions, each twice the one before.
    let doubled = (1..64).map(|i| format!("strategy a{i} = a{} ; a{}\n", i - 1, i - 1));
    let text = doubled.fold(String::from("strategy a0 = add-zero\n"), |text, line| text + &line);
    let found = mistakes(&text);
    assert!(!found.is_empty() && found.iter().all(|mistake| matches!(mistake.cause, Cause::TooLarge(..))));
}

#[test]
fn loops_without_steps_are_refused() {
    let is_endless = |cause: &Cause| matches!(cause, Cause::Endless(_));
    for s in ["repeat(id)", "innermost(try(add-zero))", "normalize(all(add-zero))", "repeat(add-zero <+ id)"] {
        wrong(&format!("strategy a = {s}"), s, is_endless);
    }
    wrong("strategy a = add-zero ; repeat(mu x. try(one(x)))", "repeat(mu x. try(one(x)))", is_endless);
    for s in [
        "repeat(add-zero)",
        "repeat(add-zero ; id)",
        "repeat(topDown(laws(add-zero, zero-add)))",
        "repeat(mu x. add-zero <+ one(x))",
        "repeat(fail)",
        "repeat(then(add-zero) <+ else(add-zero))",
        "fuel(3, innermost(add-zero))",
    ] {
        assert_eq!(mistakes(&format!("strategy a = {s}")), [], "{s}");
    }
}

#[test]
fn recursions_without_steps_are_refused() {
    let is_unguarded = |cause: &Cause| matches!(cause, Cause::Unguarded(_));
    for s in ["mu x. x", "mu x. try(x)", "mu x. all(x) ; x", "mu x. add-zero <+ x", "mu x. topDown(x)", "mu x. mu y. x"]
    {
        wrong(&format!("strategy a = {s}"), s, is_unguarded);
    }
    for s in
        ["mu x. try(add-zero ; x)", "mu x. all(x)", "mu x. one(x) ; x", "mu x. add-zero <+ one(x)", "mu x. fail ; x"]
    {
        assert_eq!(mistakes(&format!("strategy a = {s}")), [], "{s}");
    }
    // A parameter with the name of a variable is another one.
    assert_eq!(mistakes("strategy f(s) = mu x. try(add-zero ; all(s) ; x) strategy a = mu x. add-zero ; f(x)"), []);
}

#[test]
fn passes_are_of_whole_definitions() {
    let is_inside = |cause: &Cause| matches!(cause, Cause::PassInside(_));
    wrong("strategy a = one(pass(cse))", "pass(cse)", is_inside);
    wrong("strategy a = repeat(add-zero ; pass(cse))", "pass(cse)", is_inside);
    wrong("strategy a = mu x. try(add-zero ; stage(\"A\", add-zero) ; x)", "stage(\"A\", add-zero)", is_inside);
    wrong("strategy term = add-zero ; pass(cse)", "pass(cse)", is_inside);
    wrong("strategy b = pass(cse) strategy term = b", "pass(cse)", is_inside);
    assert_eq!(mistakes("strategy whole = try(stage(\"A\", add-zero ; pass(cse)) <+ pass(dce))"), []);
}

/// Any text is read without a panic.
#[test]
fn noise_is_refused() {
    let words = [
        "strategy", "group", "a", "(", ")", ",", ";", "<+", "=", "mu", ".", "id", "laws", "7", "\"s\"", "#", "\n", "λ",
        "é\"", "\\",
    ];
    let mut draw = Draw(SplitMix::new(2));
    for _ in 0..2_000 {
        let text: Vec<&str> = (0..draw.below(12)).map(|_| words[draw.below(words.len())]).collect();
        let text = text.join(" ");
        for mistake in mistakes(&text) {
            assert!(mistake.span.end as usize <= text.len() && mistake.span.start <= mistake.span.end, "{text}");
        }
    }
}
