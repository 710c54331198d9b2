//! The functions of the C library that Rust's `f64` lacks, so that the interpreter and native code
//! compute the same bits.

unsafe extern "C" {
    #[link_name = "erf"]
    safe fn c_erf(x: f64) -> f64;
    fn lgamma_r(x: f64, sign: *mut std::ffi::c_int) -> f64;
}

/// The error function. Dimensionless.
pub fn erf(x: f64) -> f64 {
    c_erf(x)
}

/// The logarithm of the absolute value of the gamma function. Dimensionless.
pub fn lgamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: `sign` is a valid place for the one integer that lgamma_r writes.
    unsafe { lgamma_r(x, &mut sign) }
}
