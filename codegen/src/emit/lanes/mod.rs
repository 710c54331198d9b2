//! Loops in lanes: `docs/lanes.md`.

mod math;
mod vectors;
