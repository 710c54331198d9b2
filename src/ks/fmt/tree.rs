//! S-expressions as written: with their comments, and the line feeds that matter.
//!
//! Comments between two items belong to the first as far as they end its line, else to the second. See
//! Note [Whose comment].

use crate::ks::lexer::{Lexer, Token};
use lm::lines::line_ends;
use lm::term::Span;

/// The number of line feeds between two pieces of text. More than 2 count as 2.
pub type Gap = usize;

/// An empty line.
pub const BLANK: Gap = 2;

/// A comment with its marks, without blanks at its end.
#[derive(Debug)]
pub struct Comment<'a> {
    /// An atom, as written.
    pub text: &'a str,
    /// The gap before it.
    pub gap: Gap,
}

/// An s-expression and its comments.
#[derive(Debug)]
pub struct Node<'a> {
    /// The comments that lead to it.
    pub before: Vec<Comment<'a>>,
    /// The gap before it and after these.
    pub gap: Gap,
    /// The shape.
    pub shape: Shape<'a>,
    /// The comments that end its line.
    pub after: Vec<Comment<'a>>,
}

/// The shape of an s-expression.
#[derive(Debug)]
pub enum Shape<'a> {
    /// A name or literal, as written.
    Atom(&'a str),
    /// A list in parentheses or brackets.
    List(List<'a>),
}

/// The items of a list, or of a text.
#[derive(Debug)]
pub struct List<'a> {
    /// `(` or `[`; empty for a text.
    pub open: &'a str,
    /// Its partner.
    pub close: &'a str,
    /// The items.
    pub items: Vec<Node<'a>>,
    /// The comments before the end that belong to no item.
    pub end: Vec<Comment<'a>>,
}

impl Comment<'_> {
    /// Returns whether the comment ends at the end of its line.
    pub fn ends_line(&self) -> bool {
        self.text.starts_with(';')
    }
}

impl Node<'_> {
    /// Returns the gap before the node and the comments that lead to it.
    pub fn first_gap(&self) -> Gap {
        self.before.first().map_or(self.gap, |comment| comment.gap)
    }

    /// Returns whether comments on lines of their own lead to the node.
    pub fn has_comment_lines(&self) -> bool {
        let between = self.before.iter().skip(1).map(|comment| comment.gap).chain([self.gap]);
        !self.before.is_empty() && between.max() > Some(0)
    }
}

/// Returns the items of a text that the reader finds no fault with.
pub fn tree(text: &str) -> List<'_> {
    let mut lexer = Lexer::new(text);
    let mut open = vec![List { open: "", close: "", items: Vec::new(), end: Vec::new() }];
    let mut last_end = 0;
    loop {
        let comments = comments(text, &mut lexer, &mut last_end);
        let (token, span) = lexer.next_token();
        let gap = gap(text, last_end, span);
        last_end = span.end as usize;
        let here = open.last_mut().expect("closing parentheses have partners");
        let is_end = matches!(token, Token::Close(_) | Token::End);
        let (after, before) = divide(comments, gap, !here.items.is_empty(), is_end);
        if let Some(last) = here.items.last_mut() {
            last.after = after;
        }
        let word = &text[span.start as usize..span.end as usize];
        match token {
            Token::Atom(_) => here.items.push(Node { before, gap, shape: Shape::Atom(word), after: Vec::new() }),
            Token::Open(bracket) => {
                let close = if bracket == '(' { ")" } else { "]" };
                let list = List { open: word, close, items: Vec::new(), end: Vec::new() };
                // A place for the list, which is put there when its end is seen.
                here.items.push(Node { before, gap, shape: Shape::Atom(""), after: Vec::new() });
                open.push(list);
            }
            Token::Close(_) => {
                here.end = before;
                let list = open.pop().expect("it was the last");
                let place = open.last_mut().and_then(|outer| outer.items.last_mut());
                place.expect("made when the list opened").shape = Shape::List(list);
            }
            Token::End => {
                here.end = before;
                return open.swap_remove(0);
            }
            Token::Wrong(error, _) => panic!("the reader let this pass: {error:?}"),
        }
    }
}

/// Returns the comments up to the next token.
fn comments<'a>(text: &'a str, lexer: &mut Lexer, last_end: &mut usize) -> Vec<Comment<'a>> {
    let mut comments = Vec::new();
    while let Some(comment) = lexer.next_comment() {
        let span = comment.expect("the reader refuses a comment without end");
        let written = text[span.start as usize..span.end as usize].trim_end();
        comments.push(Comment { text: written, gap: gap(text, *last_end, span) });
        *last_end = span.end as usize;
    }
    comments
}

fn gap(text: &str, last_end: usize, next: Span) -> Gap {
    line_ends(&text[last_end..next.start as usize]).count().min(BLANK)
}

/// Comments that belong to the item before them, and those that do not. See Note [Whose comment].
fn divide(mut comments: Vec<Comment>, gap: Gap, has_item: bool, is_end: bool) -> (Vec<Comment>, Vec<Comment>) {
    let mut gaps = comments.iter().map(|comment| comment.gap).chain([gap]);
    let count = match gaps.position(|gap| gap > 0) {
        _ if !has_item => 0,
        Some(first_line) => first_line,
        None if is_end => comments.len(),
        None => 0,
    };
    let rest = comments.split_off(count);
    (comments, rest)
}

// Note [Whose comment]
//
//   (f a #| of b |# b ; of b, too
//      ; of c
//      c)
//
// Comments that are followed by a line feed belong to the item whose line they are on. Others, and those on lines
// of their own, lead to the next item; when there is none, the last item keeps those of its line. Layout keeps
// each comment on the side of the line feed where it was, so that it is divided again in the same way.
