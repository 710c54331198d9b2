//! Facts about functions, which passes and the emission ask for. An analysis changes nothing.

pub mod alias;
pub mod balance;
pub mod counts;
pub mod effects;
pub mod independence;
pub mod jam;
pub mod ranges;
pub mod refusal;
pub mod roots;
pub mod slices;
pub mod spread;
pub mod verify;
