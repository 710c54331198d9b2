//! From the tree to text.
//!
//! Puts a list on one line if it fits. Otherwise breaks it like this:
//!
//! ```text
//! (def f Float              (if c        (add a        (Vec_init a b c      (print "a: " a
//!      ((x : Float)             a             b)                 d e)              "b: " b)
//!       (y : Float))            b)
//!   (let ((a b)
//!         (c d))
//!     body))
//!
//! (build n (lam (i : Integer)
//!   (index i v)))
//! ```
//!
//! A body always starts a line; so does each of several bindings, and what follows them. Parameters, parts of types,
//! and lists of names and literals share lines.

use super::style::{BODY, Break, PARAMETERS, Style, begins_with, ends_line, is_request, labels};
use super::tree::{BLANK, Comment, Gap, List, Node, Shape};
use pretty::{Arena, DocAllocator, DocBuilder};

type Doc<'a> = DocBuilder<'a, Arena<'a>>;

/// Lists nested deeper than this are indented no further, so that no text grows with its depth squared.
const MAX_INDENTED: usize = 40;

/// Arguments are aligned below the first one, unless it starts right of this column.
const MAX_ALIGNED: usize = 60;

/// Returns the text of a tree.
pub fn layout(file: &List, width: usize) -> String {
    let arena = Arena::new();
    let mut text = String::new();
    let doc = Layout { arena: &arena }.file(file);
    doc.render_fmt(width, &mut text).expect("writing to a string does not fail");
    if text.trim().is_empty() { String::new() } else { text + "\n" }
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
                // Requests need no empty lines between them.
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
        let is_chained = matches!(style, Style::Chained);
        let inner = match style {
            Style::Form { beside, rest, indent } => {
                let is_definition = begins_with(list, "def");
                let between = |i| match i {
                    3 if is_definition => Break::Parameters,
                    i if i <= beside => Break::Space,
                    _ => rest,
                };
                self.items(list, 0, between, depth).nest(self.indent(indent, depth))
            }
            Style::Chained => self.items(list, 0, |i| if i == 1 { Break::Space } else { Break::Line }, depth),
            Style::Items { operator: false, between } => {
                let items = self.items(list, 0, |_| between, depth);
                self.aligned(items, depth)
            }
            Style::Items { operator: true, between } => {
                self.operation(list, self.items(list, 1, |_| between, depth), depth)
            }
            Style::Printed => self.operation(list, self.printed(list, depth), depth),
            Style::WithFunction => self.with_function(list, depth),
        };
        let whole = self.list_with(list, inner, depth);
        self.aligned(if is_chained { whole } else { whole.group() }, depth)
    }

    /// Returns a list with its parentheses, its items being `inner`.
    fn list_with(&self, list: &List<'a>, inner: Doc<'a>, depth: usize) -> Doc<'a> {
        let is_open = list.end.is_empty()
            && !list.items.last().is_some_and(|last| last.after.last().is_some_and(Comment::ends_line));
        let end = self.comments_at_end(list, !list.items.is_empty()).nest(self.indent(2, depth));
        let closing = if is_open { self.arena.nil() } else { self.arena.hardline() };
        self.arena.text(list.open).append(inner).append(end).append(closing).append(list.close)
    }

    /// Returns an operator and its arguments, below each other beside it, or below it where that is too far to the
    /// right.
    fn operation(&self, list: &List<'a>, arguments: Doc<'a>, depth: usize) -> Doc<'a> {
        let [operator, first, ..] = list.items.as_slice() else {
            return self.items(list, 0, |_| Break::Line, depth);
        };
        let head = self.aligned(self.node(operator, Style::of(operator), depth + 1), depth);
        let below = self.separator_before(operator, first, Break::Line).append(arguments.clone());
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

    /// Returns the arguments of `print`.
    fn printed(&self, list: &List<'a>, depth: usize) -> Doc<'a> {
        let (mut all, mut line) = (self.arena.nil(), self.arena.nil());
        for (i, node) in list.items.iter().enumerate().skip(1) {
            let item = self.node(node, Style::of(node), depth + 1);
            let last = &list.items[i - 1];
            let between = || self.separator_before(last, node, Break::Line);
            match i {
                1 => line = item,
                _ if ends_line(last) => {
                    all = all.append(line.group()).append(between());
                    line = item;
                }
                _ if labels(list, i) => line = line.append(between()).append(item),
                _ => line = line.append(between().append(item).group()),
            }
        }
        all.append(line.group())
    }

    /// Returns `(build n (lam (i : Integer)`, then the body.
    fn with_function(&self, list: &List<'a>, depth: usize) -> Doc<'a> {
        let (last, before) = list.items.split_last().expect("the style is of lists that end with a function");
        let Shape::List(function) = &last.shape else { panic!("the style is of lists that end with a function") };
        let item = |node: &Node<'a>| self.node(node, Style::of(node), depth + 1).append(" ");
        let before = self.arena.concat(before.iter().map(item));
        let between = |i| if i == 1 { Break::Space } else { Break::Line };
        let function = self.list_with(function, self.items(function, 0, between, depth), depth);
        before.append(function.nest(self.indent(BODY, depth)))
    }

    /// Returns the items from number `from` on; `between` gives the separator before each item.
    fn items(&self, list: &List<'a>, from: usize, between: impl Fn(usize) -> Break, depth: usize) -> Doc<'a> {
        let mut doc = self.arena.nil();
        for (i, node) in list.items.iter().enumerate().skip(from) {
            let item = self.node(node, Style::of_item(list, i), depth + 1);
            // Comments before the first item are not to bring it back to the column of the parenthesis.
            let item = if i == 0 { self.aligned(item, depth) } else { item };
            doc = match between(i) {
                _ if i == from => item,
                Break::Parameters => {
                    let next = self.separator_before(&list.items[i - 1], node, Break::Line).append(item).group();
                    doc.append(next.nest(self.indent(PARAMETERS - BODY, depth)))
                }
                Break::Fill => {
                    doc.append(self.separator_before(&list.items[i - 1], node, Break::Line).append(item).group())
                }
                wanted => doc.append(self.separator_before(&list.items[i - 1], node, wanted)).append(item),
            };
        }
        doc
    }

    /// Returns the separator between two items. Comments may force a line feed.
    fn separator_before(&self, last: &Node, next: &Node, wanted: Break) -> Doc<'a> {
        if !last.after.is_empty() || next.has_comment_lines() {
            return self.gap(next.first_gap().max(1));
        }
        match wanted {
            Break::Space => self.arena.space(),
            Break::Line | Break::Fill | Break::Parameters => self.arena.line(),
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

    /// Returns a line feed and text at the start of the line.
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
