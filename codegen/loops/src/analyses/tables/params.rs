//! Finds the parameters that are vectors of vectors.

use crate::ir::{Function, Local, Scalar};

/// A parameter that is a vector of vectors: how many there are, their sizes, and the rows.
pub struct Rows {
    /// The parameter that is the number of rows.
    pub count: Local,
    /// The parameter that has their sizes.
    pub sizes: Local,
    /// The parameters that have rows of these sizes.
    pub rows: Vec<Local>,
}

/// Returns the parameters that have the form of vectors with the sizes of rows in them: one size, then buffers.
pub fn vectors_of_rows(function: &Function) -> Vec<Rows> {
    let info = |x: &Local| &function.locals[x.0 as usize];
    let runs = function.params.chunk_by(|x, y| info(x).ty.as_scalar().is_some() || info(y).ty.as_scalar().is_none());
    let mut found = Vec::new();
    for run in runs {
        let (scalars, buffers) = run.split_at(run.partition_point(|x| info(x).ty.as_scalar().is_some()));
        let sizes: Vec<Local> = scalars.iter().rev().take_while(|x| info(x).is_size).copied().collect();
        // Two sizes may be those of a matrix.
        let [count] = sizes[..] else { continue };
        for (i, b) in buffers.iter().enumerate().filter(|(_, b)| info(b).ty == Scalar::Integer.ty().buffer()) {
            let is_row = |x: &&Local| info(x).ty.element().is_some_and(|ty| ty.as_scalar().is_none());
            // Behind several sizes are rows of several dimensions: one size does not tell how long they are.
            let is_only_size = i == 0 || info(&buffers[i - 1]).ty != info(b).ty;
            let rows = buffers[i + 1..].iter().take_while(is_row).filter(|_| is_only_size).copied().collect();
            found.push(Rows { sizes: *b, count, rows });
        }
    }
    found
}
