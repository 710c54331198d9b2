//! Chooses the layout of each kind of list.

use super::tree::{List, Node, Shape};

/// The columns by which the body of a form is indented.
pub const BODY: isize = 2;
/// The columns by which the parameters of a definition are indented when they have a line of their own.
pub const PARAMETERS: isize = 5;

/// The separator of two items.
#[derive(Clone, Copy, PartialEq)]
pub enum Break {
    /// A blank.
    Space,
    /// A line feed where this one item does not fit.
    Fill,
    /// The same, the next line further to the right: for the parameters of a definition.
    Parameters,
    /// A line feed when the list does not fit.
    Line,
    /// A line feed.
    Hard,
    /// A line feed, or an empty line when there was one.
    Paragraph,
}

/// The way to break a list into lines.
pub enum Style {
    /// The word and `beside` items on one line, then each of the rest on a line of its own, indented.
    Form { beside: usize, rest: Break, indent: isize },
    /// `(assert c body)` as the body of another assert. Either all asserts of a chain are broken, or none is.
    Chained,
    /// The items below each other, or below the second one when the first is an operator.
    Items { operator: bool, between: Break },
    /// The arguments of `print`: on one line if they print one line; otherwise each label starts a line.
    Printed,
    /// The operator and its arguments, but for the body of the last of them, `(lam (x : T) body)`, on one line.
    WithFunction,
}

impl Style {
    /// Returns the style of an item by itself.
    pub fn of(node: &Node) -> Style {
        let Shape::List(list) = &node.shape else { return Style::Items { operator: false, between: Break::Space } };
        let form = |beside, rest, indent| Style::Form { beside, rest, indent };
        match list.items.first().map(|first| &first.shape) {
            _ if list.open == "[" => Style::Items { operator: false, between: Break::Fill },
            Some(Shape::Atom("def")) => form(3, Break::Hard, BODY),
            Some(Shape::Atom("rule")) => form(2, Break::Hard, BODY),
            Some(Shape::Atom("let")) => form(1, if binds_one(list) { Break::Line } else { Break::Hard }, BODY),
            Some(Shape::Atom("lam")) => form(1, Break::Line, BODY),
            // A chain of asserts reads as a list.
            Some(Shape::Atom("assert")) if list.items.last().is_some_and(is_assertion) => form(1, Break::Line, 0),
            Some(Shape::Atom("assert")) => form(1, Break::Line, BODY),
            Some(Shape::Atom("if")) => form(1, Break::Line, 4),
            Some(Shape::Atom("print")) => Style::Printed,
            Some(Shape::Atom("Vec_init" | "Tuple" | "Tensor" | "Vec" | "Fin" | "LM" | "Lam")) => {
                Style::Items { operator: true, between: Break::Fill }
            }
            Some(Shape::Atom(_)) if list.items.iter().all(is_atom) || is_parameter(list) => {
                Style::Items { operator: true, between: Break::Fill }
            }
            Some(Shape::Atom(_)) if ends_with_function(list) => Style::WithFunction,
            Some(Shape::List(first)) if first.open == "(" => Style::Items { operator: false, between: Break::Line },
            Some(Shape::Atom(_) | Shape::List(_)) | None => Style::Items { operator: true, between: Break::Line },
        }
    }

    /// Returns the style of the i-th item of a list. The style of bindings depends on their place in it.
    pub fn of_item(list: &List, i: usize) -> Style {
        let is_let = begins_with(list, "let");
        let is_list = matches!(&list.items[i].shape, Shape::List(item) if !is_parameter(item));
        match i {
            3 if begins_with(list, "def") && is_list => Style::Items { operator: false, between: Break::Fill },
            1 if is_let && binds_one(list) => Style::Items { operator: true, between: Break::Line },
            1 if is_let => Style::Items { operator: false, between: Break::Paragraph },
            2 if begins_with(list, "assert") && is_assertion(&list.items[i]) => Style::Chained,
            _ => Style::of(&list.items[i]),
        }
    }
}

/// Returns whether a let clearly has one binding: `((a b) (f x))` might be two.
fn binds_one(let_form: &List) -> bool {
    let Some(Node { shape: Shape::List(bindings), .. }) = let_form.items.get(1) else { return true };
    match bindings.items.as_slice() {
        [] => true,
        [pattern, _] => match &pattern.shape {
            Shape::Atom(_) => true,
            Shape::List(names) => names.items.iter().all(is_name),
        },
        [one] => is_atom(one),
        _ => false,
    }
}

/// Returns whether the i-th item is a string before an item that is no string.
pub fn labels(list: &List, i: usize) -> bool {
    is_string(&list.items[i]) && list.items.get(i + 1).is_some_and(|next| !is_string(next))
}

/// Returns whether the node is a string that ends a line when it is printed.
pub fn ends_line(node: &Node) -> bool {
    is_string(node) && matches!(node.shape, Shape::Atom(text) if text.ends_with("\\n\""))
}

fn is_string(node: &Node) -> bool {
    matches!(node.shape, Shape::Atom(text) if text.starts_with('"'))
}

/// The length up to which an operator and its arguments share a line with the function after them.
const BEFORE_FUNCTION: usize = 50;

/// Returns whether the last argument is a function, and all before its body is short and without comments.
fn ends_with_function(list: &List) -> bool {
    let Some((last, before)) = list.items.split_last() else { return false };
    let Shape::List(function) = &last.shape else { return false };
    let [lam, parameter, _] = function.items.as_slice() else { return false };
    if !begins_with(function, "lam") || !is_bare(last) {
        return false;
    }
    let parts = before.iter().chain([lam, parameter]);
    parts.map(length).try_fold(0, |sum, part| Some(sum + part? + 1)).is_some_and(|sum| sum <= BEFORE_FUNCTION)
}

/// Returns the length of an item on one line; none when comments or line feeds are in it, or when it is long.
fn length(node: &Node) -> Option<usize> {
    let length = match &node.shape {
        Shape::Atom(text) => text.chars().count(),
        Shape::List(list) if list.end.is_empty() => {
            list.items.iter().map(length).try_fold(1, |sum, item| Some(sum + item? + 1))?
        }
        Shape::List(_) => return None,
    };
    let is_one_line = !matches!(node.shape, Shape::Atom(text) if text.contains('\n'));
    (is_bare(node) && is_one_line && length <= BEFORE_FUNCTION).then_some(length)
}

/// Returns whether the node has no comments of its own.
fn is_bare(node: &Node) -> bool {
    node.before.is_empty() && node.after.is_empty()
}

/// Returns `(x : T)`, where the parentheses of T may be left out.
fn is_parameter(list: &List) -> bool {
    matches!(list.items.as_slice(), [_, Node { shape: Shape::Atom(":"), .. }, ..])
}

/// Returns whether the node is `(gdef ...)`.
pub fn is_request(node: &Node) -> bool {
    matches!(&node.shape, Shape::List(list) if begins_with(list, "gdef"))
}

fn is_assertion(node: &Node) -> bool {
    matches!(&node.shape, Shape::List(list) if begins_with(list, "assert"))
}

/// Returns whether the first item of a list is that word.
pub fn begins_with(list: &List, word: &str) -> bool {
    matches!(list.items.first(), Some(Node { shape: Shape::Atom(first), .. }) if *first == word)
}

fn is_atom(node: &Node) -> bool {
    matches!(node.shape, Shape::Atom(_))
}

fn is_name(node: &Node) -> bool {
    matches!(node.shape, Shape::Atom(text)
        if text.starts_with(crate::ks::lexer::starts_name) && text.parse::<f64>().is_err())
}
