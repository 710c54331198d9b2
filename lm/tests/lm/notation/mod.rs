//! How terms are written.

mod ks;
mod names;
