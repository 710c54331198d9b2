//! The language of loops.

mod verify;
