//! Parts of arrays, and arrays of parts.

use super::types::list;
use super::{Printer, Ty, Val, operands, signature};
use crate::emit::line;
use crate::ir::{Id, Op};

impl Printer<'_> {
    pub(super) fn spread(&mut self, id: Id, axes: &[usize], ty: Ty) -> Val {
        if let (Op::Iota, [axis]) = (&self.function.node(id).op, axes) {
            return self.assign(format!("stablehlo.iota dim = {axis} : {ty}"), ty);
        }
        let of = self.value(id);
        self.broadcast(&of, axes, ty)
    }

    pub(super) fn broadcast(&mut self, of: &Val, axes: &[usize], ty: Ty) -> Val {
        self.typed(format!("stablehlo.broadcast_in_dim {}, dims = {}", of.name, list(axes)), &[of], ty)
    }

    /// Returns an array whose axis k is axis `axes[k]` of the given one.
    pub(super) fn transposed(&mut self, of: &Val, axes: &[usize]) -> Val {
        if axes.is_sorted() {
            return of.clone();
        }
        let ty = of.ty.sized(axes.iter().map(|&axis| of.ty.dims[axis]).collect());
        self.typed(format!("stablehlo.transpose {}, dims = {}", of.name, list(axes)), &[of], ty)
    }

    pub(super) fn reshaped(&mut self, of: &Val, dims: Vec<i64>) -> Val {
        if of.ty.dims == dims {
            return of.clone();
        }
        let ty = of.ty.sized(dims);
        self.typed(format!("stablehlo.reshape {}", of.name), &[of], ty)
    }

    /// Returns part of an array from some places on; `None` is place 0.
    pub(super) fn sliced(&mut self, of: &Val, starts: &[Option<Id>], ty: Ty) -> Val {
        if of.ty.dims.iter().zip(&ty.dims).any(|(all, part)| part > all) {
            return self.zeros(&ty);
        }
        let known: Option<Vec<i64>> =
            starts.iter().map(|start| start.map_or(Some(0), |start| self.plan.integer(start))).collect();
        match known {
            Some(known) => {
                let ends: Vec<i64> = known.iter().zip(&ty.dims).map(|(start, n)| start.saturating_add(*n)).collect();
                let is_inside = |(k, &end): (usize, &i64)| known[k] >= 0 && end <= of.ty.dims[k];
                if !ends.iter().enumerate().all(is_inside) {
                    return self.zeros(&ty);
                }
                let ranges = known.iter().zip(&ends).map(|(start, end)| format!("{start}:{end}"));
                self.typed(format!("stablehlo.slice {} {}", of.name, list(ranges)), &[of], ty)
            }
            None => {
                let starts = self.starts(starts);
                let args: Vec<&Val> = std::iter::once(of).chain(&starts).collect();
                let text = format!("stablehlo.dynamic_slice {}, sizes = {}", operands(&args), list(&ty.dims));
                self.typed(text, &args, ty)
            }
        }
    }

    pub(super) fn starts(&mut self, starts: &[Option<Id>]) -> Vec<Val> {
        let place = |start: &Option<Id>| match start {
            Some(start) => self.value(*start),
            None => self.integer(0),
        };
        starts.iter().map(place).collect()
    }

    /// Returns an array with a part replaced.
    pub(super) fn updated(&mut self, of: &Val, part: &Val, starts: &[&Val]) -> Val {
        let args: Vec<&Val> = [of, part].into_iter().chain(starts.iter().copied()).collect();
        self.typed(format!("stablehlo.dynamic_update_slice {}", operands(&args)), &args, of.ty.clone())
    }

    pub(super) fn slice(&mut self, id: Id, axis: usize, start: Id, ty: Ty) -> Val {
        let of = self.value(id);
        let mut starts = vec![None; ty.dims.len()];
        starts[axis] = Some(start);
        self.sliced(&of, &starts, ty)
    }

    pub(super) fn at(&mut self, id: Id, axis: usize, place: Id, ty: Ty) -> Val {
        let of = self.value(id);
        if let Some(part) = self.masked_at(&of, axis, place) {
            return part;
        }
        let mut dims = of.ty.dims.clone();
        dims[axis] = 1;
        let mut starts = vec![None; dims.len()];
        starts[axis] = Some(place);
        let row = self.sliced(&of, &starts, of.ty.sized(dims));
        self.reshaped(&row, ty.dims)
    }

    /// Returns indices as `gather` and `scatter` take them: along a last axis.
    pub(super) fn indices(&mut self, places: &[Id]) -> Val {
        let columns: Vec<Val> = places
            .iter()
            .map(|&place| {
                let value = self.value(place);
                let dims = [value.ty.dims.clone(), vec![1]].concat();
                self.reshaped(&value, dims)
            })
            .collect();
        let last = columns[0].ty.dims.len() - 1;
        let mut dims = columns[0].ty.dims.clone();
        dims[last] = places.len() as i64;
        let ty = columns[0].ty.sized(dims);
        self.concat(&columns.iter().collect::<Vec<_>>(), last, ty)
    }

    /// Returns which indices run along a whole axis of theirs: place and axis. Each axis is taken once.
    pub(super) fn whole_lines(&self, places: &[Id], sizes: &[i64]) -> Vec<(usize, usize)> {
        let mut lines: Vec<(usize, usize)> = Vec::new();
        for (k, &place) in places.iter().enumerate() {
            let Some(line::Line { axis: Some(axis), start: None }) = line::of(self.function, place) else { continue };
            let is_taken = lines.iter().any(|&(_, other)| other == axis);
            if self.plan.sizes(place)[axis] == sizes[k] && !is_taken {
                lines.push((k, axis));
            }
        }
        lines
    }

    pub(super) fn gather(&mut self, id: Id, axis: usize, places: &[Id], ty: Ty) -> Val {
        let of = self.value(id);
        let (count, batch) = (places.len(), self.plan.sizes(places[0]).len());
        if of.ty.dims[axis..axis + count].contains(&0) {
            return self.zeros(&ty);
        }
        let lines = self.whole_lines(places, &of.ty.dims[axis..]);
        let lines = if lines.len() == count { vec![] } else { lines };
        let given: Vec<usize> = (0..count).filter(|k| lines.iter().all(|(line, _)| line != k)).collect();
        let indices = self.indices(&given.iter().map(|&k| places[k]).collect::<Vec<_>>());
        let offset = (0..ty.dims.len()).filter(|k| !(axis..axis + batch).contains(k));
        let taken: Vec<usize> = given.iter().map(|k| axis + k).collect();
        let mut numbers =
            vec![format!("offset_dims = {}", list(offset)), format!("collapsed_slice_dims = {}", list(&taken))];
        if !lines.is_empty() {
            numbers.push(format!("operand_batching_dims = {}", list(lines.iter().map(|(k, _)| axis + k))));
            numbers.push(format!("start_indices_batching_dims = {}", list(lines.iter().map(|(_, axis)| axis))));
        }
        numbers.push(format!("start_index_map = {}", list(&taken)));
        numbers.push(format!("index_vector_dim = {batch}"));
        let mut sizes = of.ty.dims.clone();
        sizes[axis..axis + count].fill(1);
        let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<{}>, slice_sizes = array<i64: {}>}}> : {}",
            of.name,
            indices.name,
            numbers.join(", "),
            sizes.join(", "),
            signature(&[&of, &indices], &ty),
        );
        self.assign(text, ty)
    }

    pub(super) fn stack(&mut self, args: &[Id], axis: usize, ty: Ty) -> Val {
        let mut dims = ty.dims.clone();
        dims[axis] = 1;
        let rows: Vec<Val> = args
            .iter()
            .map(|&arg| {
                let row = self.value(arg);
                self.reshaped(&row, dims.clone())
            })
            .collect();
        self.concat(&rows.iter().collect::<Vec<_>>(), axis, ty)
    }

    pub(super) fn concat(&mut self, parts: &[&Val], axis: usize, ty: Ty) -> Val {
        match parts {
            [one] => (*one).clone(),
            _ => self.typed(format!("stablehlo.concatenate {}, dim = {axis}", operands(parts)), parts, ty),
        }
    }
}
