//! Shares programs, points and comparisons among the tests, the campaign and the benches.
//!
//! Random programs: [`generate`], [`generate_arrays`], [`generate_scaled`], [`nests`], [`selections`]; [`shrink`] makes a failing one
//! small. Programs that grow with a number: [`shapes`]. Comparisons: [`agreement`] of derivatives, [`native`] code with
//! the interpreter in [`all_ways`] to compile, [`category`] terms with their origin, [`cost`] by exact counts;
//! [`rounding`] tells where they say nothing. In a campaign, [`compile_time`] has a limit.

pub mod agreement;
pub mod all_ways;
pub mod bulk;
pub mod category;
pub mod compile_time;
pub mod cost;
pub mod draw;
pub mod families;
pub mod files;
pub mod generate;
pub mod generate_arrays;
pub mod generate_scaled;
pub mod loops_agree;
pub mod native;
pub mod nests;
pub mod oracle;
pub mod page;
pub mod random;
pub mod rounding;
pub mod selections;
pub mod shapes;
pub mod shrink;
pub mod table;
pub mod trace;
pub mod ways;
