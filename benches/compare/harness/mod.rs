//! The harness of benches that compare programs: the same inputs, results compared first, turns, medians.
//!
//! A bench has a table of contenders, one of programs, and a report. Contenders take turns: in each round every one
//! computes each task for a while, so that other work on the machine affects all of them.

pub mod clock;
pub mod contender;
pub mod inputs;
pub mod machine;
pub mod options;
pub mod process;
pub mod program;
pub mod rounds;
pub mod run;
pub mod table;
#[path = "../../measure/units.rs"]
pub mod units;
