//! Sums into arrays.
//!
//! ```text
//! scatter a x (i + k)   =  a + pad x k         k known: x lies in a row
//! scatter a x (i + k)   =  a, and the part from k on replaced by itself + x
//! scatter a x e         =  scatter, with a region that adds
//! ```

use super::types::list;
use super::{Printer, Ty, Val, signature};
use crate::emit::line::{self, Line};
use crate::ir::Id;

impl Printer<'_> {
    pub(super) fn scatter(&mut self, args: &[Id]) -> Val {
        let places = &args[2..];
        let lines: Option<Vec<Line>> = places.iter().map(|&place| line::of(self.function, place)).collect();
        let batch = self.plan.sizes(places[0]).len();
        match lines.filter(|lines| are_distinct(lines, batch)) {
            Some(lines) => self.add_to_part(args[0], args[1], &lines, batch),
            None => self.scatter_any(args[0], args[1], places, batch),
        }
    }

    /// Adds x to a part of an array that lies in a row.
    fn add_to_part(&mut self, base: Id, x: Id, lines: &[Line], batch: usize) -> Val {
        let (whole, x) = (self.value(base), self.value(x));
        // The axes of x in the order of those of the array. An index that runs along none has an axis of size 1.
        let order: Vec<usize> = lines.iter().filter_map(|line| line.axis).chain(batch..x.ty.dims.len()).collect();
        let x = self.transposed(&x, &order);
        let along = lines.iter().map(|line| line.axis.is_some());
        let mut own = x.ty.dims.clone().into_iter();
        let mut dims: Vec<i64> = along.map(|runs| if runs { own.next().expect("an axis of x") } else { 1 }).collect();
        dims.extend(own);
        if dims.iter().zip(&whole.ty.dims).any(|(part, all)| part > all) {
            return whole;
        }
        let x = self.reshaped(&x, dims);
        let rest = lines.len()..whole.ty.dims.len();
        let starts: Vec<Option<Id>> = lines.iter().map(|line| line.start).chain(rest.map(|_| None)).collect();
        let known: Option<Vec<i64>> =
            starts.iter().map(|start| start.map_or(Some(0), |start| self.plan.integer(start))).collect();
        match known {
            Some(known) => {
                let room = |k: usize| whole.ty.dims[k] - x.ty.dims[k] - known[k];
                let high: Vec<i64> = (0..known.len()).map(room).collect();
                if known.iter().chain(&high).any(|&n| n < 0) {
                    return whole;
                }
                let x = self.padded(&x, &known, &high);
                if self.is_zero(base) { x } else { self.alike("stablehlo.add", &[&whole, &x]) }
            }
            None => {
                if let Some(sum) = self.masked_add(&whole, &x, &starts) {
                    return sum;
                }
                let part = match self.is_zero(base) {
                    true => x,
                    false => {
                        let part = self.sliced(&whole, &starts, x.ty.clone());
                        self.alike("stablehlo.add", &[&part, &x])
                    }
                };
                let starts = self.starts(&starts);
                self.updated(&whole, &part, &starts.iter().collect::<Vec<_>>())
            }
        }
    }

    /// Returns as long a part of an array as the type says; the padding is below 0 where elements are left out.
    pub(super) fn window(&mut self, id: Id, axis: usize, start: Id, ty: &Ty) -> Val {
        let of = self.value(id);
        let start = self.plan.integer(start).expect("sizes are known, and say where it starts");
        let (mut low, mut high) = (vec![0; ty.dims.len()], vec![0; ty.dims.len()]);
        (low[axis], high[axis]) = (-start, start + ty.dims[axis] - of.ty.dims[axis]);
        self.padded(&of, &low, &high)
    }

    fn padded(&mut self, x: &Val, low: &[i64], high: &[i64]) -> Val {
        if low.iter().chain(high).all(|&n| n == 0) {
            return x.clone();
        }
        let zero = self.zeros(&x.ty.sized(vec![]));
        let dims = (0..low.len()).map(|k| low[k] + x.ty.dims[k] + high[k]).collect();
        let interior = list(low.iter().map(|_| 0));
        let text = format!(
            "stablehlo.pad {}, {}, low = {}, high = {}, interior = {interior}",
            x.name,
            zero.name,
            list(low),
            list(high)
        );
        self.typed(text, &[x, &zero], x.ty.sized(dims))
    }

    fn scatter_any(&mut self, base: Id, x: Id, places: &[Id], batch: usize) -> Val {
        let (whole, x) = (self.value(base), self.value(x));
        let count = places.len();
        if whole.ty.dims[..count].contains(&0) {
            return whole;
        }
        let lines = self.whole_lines(places, &whole.ty.dims);
        let lines = if lines.len() == count { vec![] } else { lines };
        let given: Vec<usize> = (0..count).filter(|k| lines.iter().all(|(line, _)| line != k)).collect();
        let indices = self.indices(&given.iter().map(|&k| places[k]).collect::<Vec<_>>());
        let mut numbers = vec![
            format!("update_window_dims = {}", list(batch..x.ty.dims.len())),
            format!("inserted_window_dims = {}", list(&given)),
        ];
        if !lines.is_empty() {
            numbers.push(format!("input_batching_dims = {}", list(lines.iter().map(|(k, _)| k))));
            numbers.push(format!("scatter_indices_batching_dims = {}", list(lines.iter().map(|(_, axis)| axis))));
        }
        numbers.push(format!("scatter_dims_to_operand_dims = {}", list(&given)));
        numbers.push(format!("index_vector_dim = {batch}"));
        let (name, ty) = (self.names.fresh(&self.hint), whole.ty.clone());
        self.line(format!(
            "{name} = \"stablehlo.scatter\"({}, {}, {}) <{{scatter_dimension_numbers = #stablehlo.scatter<{}>}}> ({{",
            whole.name,
            indices.name,
            x.name,
            numbers.join(", ")
        ));
        let one = ty.sized(vec![]);
        self.line(format!("^bb0(%in.old: {one}, %in.new: {one}):"));
        self.line(format!("  %in.sum = stablehlo.add %in.old, %in.new : {one}"));
        self.line(format!("  stablehlo.return %in.sum : {one}"));
        self.line(format!("}}) : {}", signature(&[&whole, &indices, &x], &ty)));
        Val { name, ty }
    }
}

/// Returns whether indices run along all axes of theirs, each along one of its own.
fn are_distinct(lines: &[Line], batch: usize) -> bool {
    let mut axes: Vec<usize> = lines.iter().filter_map(|line| line.axis).collect();
    axes.sort_unstable();
    axes == (0..batch).collect::<Vec<_>>()
}
