//! Terms and the names of functions.

mod derivative;
mod walk;
