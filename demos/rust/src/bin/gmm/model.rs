//! gmm and rev$gmm of `demos/gmm.ks`, safe to call: a model has the sizes that its shape says.

use host::Context;
use std::ops::Range;

pub const ALPHAS: usize = 0;
pub const MEANS: usize = 1;
pub const ICF: usize = 2;
pub const X: usize = 3;
pub const GAMMA: usize = 4;

/// How many parts there are.
pub const PARTS: usize = 5;

/// The parameters for which there is a gradient, in the order of the file.
pub const NAMES: [&str; PARTS] = ["alphas", "means", "icf", "x", "gamma"];

/// The rows and columns of each part.
pub struct Shape {
    pub rows: [usize; PARTS],
    pub columns: [usize; PARTS],
}

impl Shape {
    /// For n points of dimension d, and k Gaussians.
    pub fn new(d: usize, k: usize, n: usize) -> Shape {
        Shape { rows: [k, k, k, n, 1], columns: [1, d, d * (d + 1) / 2, d, 1] }
    }

    fn count(&self, part: usize) -> usize {
        self.rows[part] * self.columns[part]
    }
}

/// A mixture model and its data. In points and gradients the parts stand one after the other.
pub struct Model {
    shape: Shape,
    /// Of the rows of each part.
    offsets: [Vec<i64>; PARTS],
    point: Vec<f64>,
    m: i64,
}

/// `lmc_tensor_f64_1` of the header.
#[repr(C)]
struct Vector {
    data: *mut f64,
    size: [i64; 1],
}

/// `lmc_jagged_f64` of the header.
#[repr(C)]
struct Rows {
    data: *mut f64,
    offsets: *mut i64,
    size: i64,
}

unsafe extern "C" {
    fn lmc_context_free(ctx: *mut Context);
    fn gmm(
        ctx: *mut Context,
        alphas: *const Vector,
        means: *const Rows,
        icf: *const Rows,
        x: *const Rows,
        gamma: f64,
        m: i64,
        out: *mut f64,
    ) -> i32;
    #[link_name = "rev$gmm"]
    fn rev_gmm(
        ctx: *mut Context,
        alphas: *const Vector,
        means: *const Rows,
        icf: *const Rows,
        x: *const Rows,
        gamma: f64,
        m: i64,
        dr: f64,
        to_alphas: *mut Vector,
        to_means: *mut Rows,
        to_icf: *mut Rows,
        to_x: *mut Rows,
        to_gamma: *mut f64,
    ) -> i32;
}

/// A context for calls, which gives back its memory in the end.
pub struct Calls(Context);

impl Calls {
    pub fn new() -> Calls {
        Calls(Context::new())
    }

    /// The result of the call, or why it failed.
    fn outcome<T>(&self, status: i32, result: T) -> Result<T, String> {
        if status == 0 { Ok(result) } else { Err(self.0.failure()) }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        // SAFETY: the context is ours, and nothing points into its memory: all results have storage of their own.
        unsafe { lmc_context_free(&mut self.0) }
    }
}

impl Model {
    /// Panics when the point does not have the numbers that the shape says.
    pub fn new(shape: Shape, point: Vec<f64>, m: i64) -> Model {
        assert_eq!(point.len(), (0..PARTS).map(|part| shape.count(part)).sum::<usize>(), "numbers of a point");
        let offsets = |part| (0..=shape.rows[part]).map(|i| (i * shape.columns[part]) as i64).collect();
        Model { offsets: std::array::from_fn(offsets), shape, point, m }
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Where points and gradients have a part.
    pub fn range(&self, part: usize) -> Range<usize> {
        let start = (0..part).map(|part| self.shape.count(part)).sum();
        start..start + self.shape.count(part)
    }

    /// The value at a point.
    pub fn value(&self, calls: &mut Calls, point: &[f64]) -> Result<f64, String> {
        assert_eq!(point.len(), self.point.len());
        let data = point.as_ptr().cast_mut();
        let (alphas, [means, icf, x]) = self.structures(data);
        let mut out = f64::NAN;
        // SAFETY: the structures are as large as they say; inputs are only read; the result is ours.
        let status =
            unsafe { gmm(&mut calls.0, &alphas, &means, &icf, &x, point[self.range(GAMMA).start], self.m, &mut out) };
        calls.outcome(status, out)
    }

    /// The gradient at the model's own point.
    pub fn gradient(&self, calls: &mut Calls) -> Result<Vec<f64>, String> {
        let mut out = vec![f64::NAN; self.point.len()];
        let gamma = self.range(GAMMA).start;
        let (alphas, [means, icf, x]) = self.structures(self.point.as_ptr().cast_mut());
        let data = out.as_mut_ptr();
        let (mut to_alphas, [mut to_means, mut to_icf, mut to_x]) = self.structures(data);
        // SAFETY: as above; the results are as large as their arguments, and in storage of their own.
        let status = unsafe {
            rev_gmm(
                &mut calls.0,
                &alphas,
                &means,
                &icf,
                &x,
                self.point[gamma],
                self.m,
                1.0,
                &mut to_alphas,
                &mut to_means,
                &mut to_icf,
                &mut to_x,
                data.add(gamma),
            )
        };
        calls.outcome(status, out)
    }

    /// The structures of the parts of a point or a gradient.
    fn structures(&self, data: *mut f64) -> (Vector, [Rows; 3]) {
        // `wrapping_add` only for safety's sake: the parts lie within the point.
        let start = |part| data.wrapping_add(self.range(part).start);
        let rows = |part: usize| Rows {
            data: start(part),
            // Offsets are only read: results that have storage keep the structures as they are.
            offsets: self.offsets[part].as_ptr().cast_mut(),
            size: self.shape.rows[part] as i64,
        };
        let alphas = Vector { data: start(ALPHAS), size: [self.shape.rows[ALPHAS] as i64] };
        (alphas, [rows(MEANS), rows(ICF), rows(X)])
    }
}
