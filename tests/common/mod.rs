//! What several tests share.

#[allow(dead_code)] // each test binary uses a part
pub mod agreement;
#[allow(dead_code)]
pub mod category;
pub mod cost;
#[allow(dead_code)]
pub mod families;
#[allow(dead_code)]
pub mod generate;
#[allow(dead_code)]
pub mod generate_arrays;
#[allow(dead_code)]
pub mod generate_scaled;
#[allow(dead_code)]
pub mod native;
#[allow(dead_code)]
pub mod nests;
#[allow(dead_code)]
pub mod page;
#[allow(dead_code)]
pub mod random;
#[allow(dead_code)]
pub mod shrink;
#[allow(dead_code)]
pub mod table;
#[allow(dead_code)]
pub mod ways;
