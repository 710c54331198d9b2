//! From the tree to text.
//!
//! A list that fits stands on one line. If not,
//!
//!   (def f Float ((x : Float)       (if c        (add a        [rev f]    (print a b c
//!                 (y : Float))          a             b)                         d)
//!     (let ((a b)                       b)
//!           (c d))
//!       body))
//!
//! A body always starts a line; so does each of several bindings, and what follows them.

use super::tree::{BLANK, Comment, Gap, List, Node, Shape};
use pretty::{Arena, DocAllocator, DocBuilder};

type Doc<'a> = DocBuilder<'a, Arena<'a>>;

/// Lists nested deeper than this are indented no further, so that no text grows with its depth squared.
const MAX_INDENTED: usize = 40;

/// Arguments are aligned below the first one, unless it starts right of this column.
const MAX_ALIGNED: usize = 60;

/// The text of a tree.
pub fn layout(file: &List, width: usize) -> String {
    let arena = Arena::new();
    let mut text = String::new();
    let doc = Layout { arena: &arena }.file(file);
    doc.render_fmt(width, &mut text).expect("writing to a string does not fail");
    if text.trim().is_empty() { String::new() } else { text + "\n" }
}

/// What stands between two items.
#[derive(Clone, Copy, PartialEq)]
enum Break {
    /// A blank.
    Space,
    /// A line feed where this one item does not fit.
    Fill,
    /// That, but before a string that says what follows, a line feed when the list does not fit.
    Label,
    /// A line feed when the list does not fit.
    Line,
    /// A line feed.
    Hard,
    /// A line feed, or an empty line when there was one.
    Paragraph,
}

/// How a list is broken.
enum Style {
    /// The word and `beside` items on one line, then each of the rest on a line of its own, indented.
    Form { beside: usize, rest: Break, indent: isize },
    /// The items below each other, or below the second one when the first is an operator.
    Items { operator: bool, between: Break },
}

struct Layout<'a> {
    arena: &'a Arena<'a>,
}

impl<'a> Layout<'a> {
    fn file(&self, file: &List<'a>) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (i, node) in file.items.iter().enumerate() {
            let gap = match i.checked_sub(1).map(|last| &file.items[last]) {
                None => None,
                // A list of requests may stand together.
                Some(last) if is_request(last) && is_request(node) => Some(node.first_gap().max(1)),
                Some(_) => Some(BLANK),
            };
            doc = doc.append(gap.map(|gap| self.gap(gap))).append(self.node(node, Style::of(node), 0));
        }
        let has_items = !file.items.is_empty();
        doc.append(self.comments_at_end(file, has_items))
    }

    fn node(&self, node: &Node<'a>, style: Style, depth: usize) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (i, comment) in node.before.iter().enumerate() {
            let gap = (i > 0).then(|| self.gap(comment.gap));
            doc = doc.append(gap).append(self.verbatim(comment.text));
        }
        if !node.before.is_empty() {
            doc = doc.append(self.gap(node.gap));
        }
        doc = doc.append(match &node.shape {
            Shape::Atom(text) => self.verbatim(text),
            Shape::List(list) => self.list(list, style, depth),
        });
        node.after.iter().fold(doc, |doc, comment| doc.append(" ").append(self.verbatim(comment.text)))
    }

    fn list(&self, list: &List<'a>, style: Style, depth: usize) -> Doc<'a> {
        let inner = match style {
            Style::Form { beside, rest, indent } => {
                let between = |i| if i <= beside { Break::Space } else { rest };
                self.items(list, 0, between, depth).nest(self.indent(indent, depth))
            }
            Style::Items { operator: false, between } => {
                let items = self.items(list, 0, |_| between, depth);
                self.aligned(items, depth)
            }
            Style::Items { operator: true, between } => self.operation(list, between, depth),
        };
        let is_open = list.end.is_empty()
            && !list.items.last().is_some_and(|last| last.after.last().is_some_and(Comment::ends_line));
        let end = self.comments_at_end(list, !list.items.is_empty()).nest(self.indent(2, depth));
        let closing = if is_open { self.arena.nil() } else { self.arena.hardline() };
        let doc = self.arena.text(list.open).append(inner).append(end).append(closing).append(list.close);
        self.aligned(doc.group(), depth)
    }

    /// An operator and its arguments, below each other beside it, or below it where that is too far to the right.
    fn operation(&self, list: &List<'a>, between: Break, depth: usize) -> Doc<'a> {
        let [operator, first, ..] = list.items.as_slice() else { return self.items(list, 0, |_| between, depth) };
        let head = self.aligned(self.node(operator, Style::of(operator), depth + 1), depth);
        let arguments = self.items(list, 1, |_| between, depth);
        let below = self.between(operator, first, Break::Line).append(arguments.clone());
        let below = below.nest(self.indent(2, depth));
        if !operator.after.is_empty() || first.has_comment_lines() {
            return head.append(below);
        }
        let beside = self.arena.space().append(self.aligned(arguments, depth));
        let choice = self.arena.column(move |column| {
            let doc = if column < MAX_ALIGNED { beside.clone() } else { below.clone() };
            doc.into_doc()
        });
        head.append(choice)
    }

    /// The items from the one with number `from` on; `between` says what stands before the one of a number.
    fn items(&self, list: &List<'a>, from: usize, between: impl Fn(usize) -> Break, depth: usize) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (i, node) in list.items.iter().enumerate().skip(from) {
            let item = self.node(node, Style::of_item(list, i), depth + 1);
            // Comments before the first item are not to bring it back to the column of the parenthesis.
            let item = if i == 0 { self.aligned(item, depth) } else { item };
            doc = match between(i) {
                _ if i == from => item,
                Break::Label if labels(list, i) => {
                    doc.append(self.between(&list.items[i - 1], node, Break::Line)).append(item)
                }
                Break::Fill | Break::Label => {
                    doc.append(self.between(&list.items[i - 1], node, Break::Line).append(item).group())
                }
                wanted => doc.append(self.between(&list.items[i - 1], node, wanted)).append(item),
            };
        }
        doc
    }

    /// Comments may ask for a line feed where otherwise there need be none.
    fn between(&self, last: &Node, next: &Node, wanted: Break) -> Doc<'a> {
        if !last.after.is_empty() || next.has_comment_lines() {
            return self.gap(next.first_gap().max(1));
        }
        match wanted {
            Break::Space => self.arena.space(),
            Break::Line | Break::Fill | Break::Label => self.arena.line(),
            Break::Hard => self.arena.hardline(),
            Break::Paragraph => self.gap(next.first_gap().max(1)),
        }
    }

    fn comments_at_end(&self, list: &List<'a>, has_items: bool) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (i, comment) in list.end.iter().enumerate() {
            let gap = if i == 0 { comment.gap.max(1) } else { comment.gap };
            let gap = (i > 0 || has_items).then(|| self.gap(gap));
            doc = doc.append(gap).append(self.verbatim(comment.text));
        }
        doc
    }

    fn gap(&self, gap: Gap) -> Doc<'a> {
        match gap {
            0 => self.arena.space(),
            1 => self.arena.hardline(),
            _ => self.arena.text("\n").append(self.arena.hardline()),
        }
    }

    /// Text that may have line feeds of its own, after which it is not indented. Its last line is not empty.
    fn verbatim(&self, text: &'a str) -> Doc<'a> {
        let mut lines = text.split('\n');
        let first = self.arena.text(lines.next().unwrap_or(text));
        lines.fold(first, |doc, line| doc.append(self.unindented(line)))
    }

    /// A line feed and text at the start of the line.
    fn unindented(&self, line: &'a str) -> Doc<'a> {
        let arena = self.arena;
        if line.is_empty() {
            return arena.text("\n");
        }
        arena.nesting(move |level| arena.hardline().append(arena.text(line)).nest(-(level as isize)).into_doc())
    }

    fn aligned(&self, doc: Doc<'a>, depth: usize) -> Doc<'a> {
        if depth < MAX_INDENTED { doc.align() } else { doc }
    }

    fn indent(&self, by: isize, depth: usize) -> isize {
        if depth < MAX_INDENTED { by } else { 0 }
    }
}

impl Style {
    fn of(node: &Node) -> Style {
        let Shape::List(list) = &node.shape else { return Style::Items { operator: false, between: Break::Space } };
        let form = |beside, rest, indent| Style::Form { beside, rest, indent };
        match list.items.first().map(|first| &first.shape) {
            _ if list.open == "[" => Style::Items { operator: false, between: Break::Fill },
            Some(Shape::Atom("def")) => form(3, Break::Hard, 2),
            Some(Shape::Atom("rule")) => form(2, Break::Hard, 2),
            Some(Shape::Atom("let")) => form(1, if binds_one(list) { Break::Line } else { Break::Hard }, 2),
            Some(Shape::Atom("lam")) => form(1, Break::Line, 2),
            // A chain of assertions reads as a list.
            Some(Shape::Atom("assert")) => {
                form(1, Break::Line, if list.items.last().is_some_and(is_assertion) { 0 } else { 2 })
            }
            Some(Shape::Atom("if")) => form(1, Break::Line, 4),
            Some(Shape::Atom("print")) => Style::Items { operator: true, between: Break::Label },
            Some(Shape::Atom("Tuple" | "Tensor" | "Vec" | "LM" | "Lam")) => {
                Style::Items { operator: true, between: Break::Fill }
            }
            Some(Shape::Atom(_)) if list.items.iter().all(is_atom) || is_parameter(list) => {
                Style::Items { operator: true, between: Break::Fill }
            }
            Some(Shape::List(first)) if first.open == "(" => Style::Items { operator: false, between: Break::Line },
            Some(Shape::Atom(_) | Shape::List(_)) | None => Style::Items { operator: true, between: Break::Line },
        }
    }

    /// The style of the i-th item of a list, which for bindings depends on where they stand.
    fn of_item(list: &List, i: usize) -> Style {
        let is_let = matches!(list.items.first(), Some(Node { shape: Shape::Atom("let"), .. }));
        match i {
            1 if is_let && binds_one(list) => Style::Items { operator: true, between: Break::Line },
            1 if is_let => Style::Items { operator: false, between: Break::Paragraph },
            _ => Style::of(&list.items[i]),
        }
    }
}

/// Whether a let has one binding, as far as can be seen: `((a b) (f x))` might be two.
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

/// Whether the i-th item is a string, and something else comes after it.
fn labels(list: &List, i: usize) -> bool {
    let is_string = |node: &Node| matches!(node.shape, Shape::Atom(text) if text.starts_with('"'));
    is_string(&list.items[i]) && list.items.get(i + 1).is_some_and(|next| !is_string(next))
}

/// `(x : T)`, where the parentheses of T may be left out.
fn is_parameter(list: &List) -> bool {
    matches!(list.items.as_slice(), [_, Node { shape: Shape::Atom(":"), .. }, ..])
}

fn is_request(node: &Node) -> bool {
    begins_with(node, "gdef")
}

fn is_assertion(node: &Node) -> bool {
    begins_with(node, "assert")
}

fn begins_with(node: &Node, word: &str) -> bool {
    let Shape::List(list) = &node.shape else { return false };
    matches!(list.items.first(), Some(Node { shape: Shape::Atom(first), .. }) if *first == word)
}

fn is_atom(node: &Node) -> bool {
    matches!(node.shape, Shape::Atom(_))
}

fn is_name(node: &Node) -> bool {
    matches!(node.shape, Shape::Atom(text) if text.starts_with(crate::lexer::starts_name) && text.parse::<f64>().is_err())
}
