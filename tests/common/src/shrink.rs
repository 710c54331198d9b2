//! Shrinks a program that fails, whatever failing is: the smallest program found that fails still.
//!
//! A step removes a definition, a parameter with its arguments, or a binding, or puts one of its parts, a number or
//! `v` in place of a term. Programs that are not right do not fail, so no step needs to know types.

use lmc::ks::reader::{Sexp, Shape, read};
use std::rc::Rc;

/// A program is tried at most so often.
const MOST_TRIES: usize = 6_000;

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Atom(String),
    /// Between brackets of a kind.
    List([char; 2], Vec<Rc<Tree>>),
}

/// The smallest program found for which `fails` holds; the program itself, when it does not.
pub fn smallest(text: &str, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut best: Vec<Rc<Tree>> = read(text).forms.iter().map(|form| Rc::new(tree(form, text))).collect();
    if !fails(&print(&best)) {
        return text.to_string();
    }
    let mut tries = 0;
    loop {
        let before = best.clone();
        let (mut edits, mut next) = (edits_of_program(&best), 0);
        // After an edit that is made it goes on at the same place, and starts again when all were tried.
        while next < edits.len() {
            let edit = edits[next].clone();
            next += 1;
            if size_of_all(&edit) >= size_of_all(&best) {
                continue;
            }
            tries += 1;
            if tries > MOST_TRIES {
                return print(&best);
            }
            if fails(&print(&edit)) {
                best = edit;
                (edits, next) = (edits_of_program(&best), next - 1);
            }
        }
        if best == before {
            return print(&best);
        }
    }
}

fn tree(form: &Sexp, text: &str) -> Tree {
    let all = |items: &[Sexp]| items.iter().map(|item| Rc::new(tree(item, text))).collect();
    match &form.shape {
        Shape::List(items) => Tree::List(['(', ')'], all(items)),
        Shape::Bracket(items) => Tree::List(['[', ']'], all(items)),
        _ => Tree::Atom(text[form.span.start as usize..form.span.end as usize].to_string()),
    }
}

fn print(program: &[Rc<Tree>]) -> String {
    let text: String = program.iter().map(|form| form.text() + "\n\n").collect();
    lmc::ks::fmt::format(&text).unwrap_or(text)
}

fn size_of_all(program: &[Rc<Tree>]) -> (usize, usize) {
    program.iter().map(|form| form.size()).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Tree::Atom(text) => text.clone(),
            Tree::List([open, close], items) => {
                let items: Vec<String> = items.iter().map(|item| item.text()).collect();
                format!("{open}{}{close}", items.join(" "))
            }
        }
    }

    /// Nodes, then letters: names are worth less than numbers.
    fn size(&self) -> (usize, usize) {
        match self {
            Tree::Atom(text) if text == "1" || text == "1.0" => (1, 0),
            Tree::Atom(text) if text == "v" => (1, 1),
            Tree::Atom(text) => (1, 1 + text.len()),
            Tree::List(_, items) => {
                let (nodes, letters) = size_of_all(items);
                (nodes + 1, letters)
            }
        }
    }

    fn items(&self) -> &[Rc<Tree>] {
        match self {
            Tree::Atom(_) => &[],
            Tree::List(_, items) => items,
        }
    }

    fn is(&self, head: &str) -> bool {
        self.items().first().is_some_and(|first| **first == Tree::Atom(head.into()))
    }

    /// The same list of other items.
    fn of(&self, items: Vec<Rc<Tree>>) -> Tree {
        match self {
            Tree::List(brackets, _) => Tree::List(*brackets, items),
            Tree::Atom(_) => panic!("an atom has no items"),
        }
    }

    fn without(&self, i: usize) -> Tree {
        let mut items = self.items().to_vec();
        items.remove(i);
        self.of(items)
    }
}

/// Programs one step smaller.
fn edits_of_program(program: &[Rc<Tree>]) -> Vec<Vec<Rc<Tree>>> {
    let mut edits = Vec::new();
    for i in 0..program.len() {
        let mut fewer = program.to_vec();
        fewer.remove(i);
        edits.push(fewer);
    }
    for form in program.iter().filter(|form| form.is("def")) {
        let [_, name, _, params, ..] = form.items() else { continue };
        let count = params.items().iter().filter(|param| !param.items().is_empty()).count();
        edits.extend((0..count).map(|k| without_parameter(program, name, k)));
    }
    for (i, form) in program.iter().enumerate() {
        // Terms come last.
        let last = form.items().len().saturating_sub(1);
        for edit in form.items().last().map_or(vec![], edits_of) {
            let mut items = form.items().to_vec();
            items[last] = Rc::new(edit);
            let mut edited = program.to_vec();
            edited[i] = Rc::new(form.of(items));
            edits.push(edited);
        }
    }
    edits
}

/// The program with a parameter less, and an argument less in each call.
fn without_parameter(program: &[Rc<Tree>], name: &Rc<Tree>, k: usize) -> Vec<Rc<Tree>> {
    let define = |form: &Rc<Tree>| match form.items() {
        [def, defined, ty, params, body] if form.is("def") && defined == name => {
            let fewer = Rc::new(params.without(k));
            Rc::new(form.of(vec![def.clone(), defined.clone(), ty.clone(), fewer, fewer_arguments(body, name, k)]))
        }
        [init @ .., body] => Rc::new(form.of([init, &[fewer_arguments(body, name, k)]].concat())),
        [] => form.clone(),
    };
    program.iter().map(define).collect()
}

fn fewer_arguments(e: &Rc<Tree>, name: &Rc<Tree>, k: usize) -> Rc<Tree> {
    if e.items().is_empty() {
        return e.clone();
    }
    let items: Vec<Rc<Tree>> = e.items().iter().map(|item| fewer_arguments(item, name, k)).collect();
    let fewer = e.of(items);
    let is_call = fewer.items()[0] == *name && fewer.items().len() > k + 1;
    Rc::new(if is_call { fewer.without(k + 1) } else { fewer })
}

/// Terms one step smaller, the smallest first.
fn edits_of(e: &Rc<Tree>) -> Vec<Tree> {
    let mut edits: Vec<Tree> = ["1.0", "v", "1"].map(|atom| Tree::Atom(atom.into())).to_vec();
    let items = e.items();
    let parts = items.iter().skip(1);
    edits.extend(parts.clone().map(|part| (**part).clone()));
    edits.extend(parts.flat_map(|part| part.items().iter().skip(1)).map(|part| (**part).clone()));
    if e.is("let") && items.len() == 3 {
        edits.extend(inlined(&items[1], &items[2]));
    }
    let mut within = |i: usize, edit: Tree| {
        let mut edited = items.to_vec();
        edited[i] = Rc::new(edit);
        edits.push(e.of(edited));
    };
    if e.is("let") && items.len() == 3 {
        edits_of_bindings(&items[1]).into_iter().for_each(|edit| within(1, edit));
        edits_of(&items[2]).into_iter().for_each(|edit| within(2, edit));
        return edits;
    }
    // The first of a list is its operation, the second of a function its parameter.
    for i in (1..items.len()).filter(|i| *i > 1 || !e.is("lam")) {
        edits_of(&items[i]).into_iter().for_each(|edit| within(i, edit));
    }
    edits
}

/// The body of a let of one variable, with the term in its place.
fn inlined(bindings: &Rc<Tree>, body: &Rc<Tree>) -> Option<Tree> {
    let binding = if bindings.items().len() == 1 { &bindings.items()[0] } else { bindings };
    let [name, rhs] = binding.items() else { return None };
    matches!(**name, Tree::Atom(_)).then(|| replaced(body, name, rhs))
}

fn replaced(e: &Rc<Tree>, name: &Rc<Tree>, by: &Rc<Tree>) -> Tree {
    match &**e {
        _ if e == name => (**by).clone(),
        Tree::Atom(_) => (**e).clone(),
        Tree::List(_, items) => e.of(items.iter().map(|item| Rc::new(replaced(item, name, by))).collect()),
    }
}

/// `(x e)`, or a list of such.
fn edits_of_bindings(bindings: &Rc<Tree>) -> Vec<Tree> {
    let is_one = bindings.items().len() == 2 && matches!(*bindings.items()[0], Tree::Atom(_));
    if is_one {
        let [name, rhs] = bindings.items() else { unreachable!("it was matched") };
        return edits_of(rhs).into_iter().map(|edit| bindings.of(vec![name.clone(), Rc::new(edit)])).collect();
    }
    let many = bindings.items();
    let mut edits: Vec<Tree> = match many.len() {
        0 | 1 => vec![],
        n => (0..n).map(|i| bindings.without(i)).collect(),
    };
    for (i, binding) in many.iter().enumerate() {
        let [name, rhs] = binding.items() else { continue };
        for edit in edits_of(rhs) {
            let mut edited = many.to_vec();
            edited[i] = Rc::new(binding.of(vec![name.clone(), Rc::new(edit)]));
            edits.push(bindings.of(edited));
        }
    }
    edits
}
