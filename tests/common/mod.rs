//! What several tests share.

#[allow(dead_code)] // each test binary uses a part
pub mod generate;
#[allow(dead_code)]
pub mod random;
