//! The front end: from the text of a `.ks` file to a checked, typed program.
//!
//! ```text
//!     source text                                 source
//!       |  tokens, s-expressions                  lexer, reader
//!       v
//!     forms                                       fmt prints them in the canonical layout
//!       |  names, types, shapes                   check  (with prelude.ks and arrays.ks)
//!       v
//!     typed program (lm::term::Program)           front drives all of this
//!
//!     mistakes on the way                         diagnostic -> render (for people, in a line, as JSON)
//!                                                 explain: each code at length
//! ```

mod category;
pub mod check;
pub mod diagnostic;
pub mod explain;
pub mod fmt;
pub mod front;
mod lexer;
pub mod reader;
pub mod render;
pub mod source;
mod syntax_error;
