//! Reading elements, and adding to them.
//!
//! An index that runs along a loop takes a part of the array, and its dimension becomes the axis of that loop. Any other
//! index gathers.

use super::Lowering;
use super::value::{Array, Axis, Value};
use crate::builder::Line;
use crate::ir::{Failure, Fun, Id, Op, Reduction};
use crate::rules::Rule;

/// A way to read along one dimension.
#[derive(Clone, Copy)]
enum Way {
    /// One place, the same in all iterations.
    Place(Id),
    /// From `start` on, forwards or backwards, along a loop. What is outside is not used.
    Run { axis: Axis, start: Id, backwards: bool, is_inside: bool },
}

impl Lowering<'_> {
    /// Returns the element of a tensor at an index.
    pub(super) fn element(&mut self, index: &Value, v: &Value) -> Value {
        let (sizes, element) = v.tensor();
        let places = index.numbers();
        places.iter().zip(sizes).for_each(|(place, &size)| self.check_index(place, size));
        self.read(&places, sizes, element)
    }

    /// Returns the element at an index that is known to be inside.
    pub(super) fn read(&mut self, places: &[Array], sizes: &[Id], element: &Value) -> Value {
        element.map(&mut |array| match self.ways(places, sizes, array) {
            Some(ways) => self.part(array, &ways),
            None => self.gathered(array, places, sizes),
        })
    }

    /// Checks that a place is inside, unless it is known to be.
    pub(super) fn check_index(&mut self, place: &Array, size: Id) {
        if self.is_place_of(place, size) || self.is_always_inside(place, size) {
            return;
        }
        let ends = self.b.line(place.id).filter(|line| line.step.abs() <= 1).map(|line| self.ends(place, &line));
        // Under a mask, each place counts for itself.
        let Some((lowest, highest)) = ends.filter(|_| self.mask.is_none()) else {
            let inside = self.inside(place, &Array::fixed(size), place);
            return self.check(&inside, Failure::Index);
        };
        let inside = self.inside(&Array::fixed(lowest), &Array::fixed(size), &Array::fixed(highest));
        // Without iterations there is no index: `check` sees to that.
        self.check(&inside, Failure::Index);
    }

    /// Returns whether an index is a place of the largest element along a dimension of this size.
    fn is_place_of(&self, place: &Array, size: Id) -> bool {
        let node = self.b.node(place.id);
        match node.op {
            Op::Reduce(Reduction::Argmax, axis) => {
                self.b.size(self.b.node(node.args[0]).dims[axis]) == self.b.size(size)
            }
            _ => false,
        }
    }

    /// Returns whether 0 is at most `lowest`, and `highest` below the size.
    fn inside(&mut self, lowest: &Array, size: &Array, highest: &Array) -> Array {
        let zero = Array::fixed(self.b.integer(0));
        let low = self.each(Fun::Lte, &[zero, lowest.clone()]);
        let high = self.each(Fun::Lt, &[highest.clone(), size.clone()]);
        self.each(Fun::And, &[low, high])
    }

    /// Returns the lowest and the highest value of an index that runs along a loop, or along none.
    fn ends(&mut self, place: &Array, line: &Line) -> (Id, Id) {
        let Some(axis) = line.axis else { return (line.offset, line.offset) };
        let (count, one) = (self.b.node(place.id).dims[axis], self.b.integer(1));
        let last = self.b.each(Fun::Sub, &[count, one]);
        let (lowest, highest) = match line.step > 0 {
            true => (line.offset, self.b.each(Fun::Add, &[line.offset, last])),
            false => (self.b.each(Fun::Sub, &[line.offset, last]), line.offset),
        };
        (self.b.folded(lowest), self.b.folded(highest))
    }

    /// Returns how to read the part of an array that an index of several numbers goes over, if it is a part.
    fn ways(&mut self, places: &[Array], sizes: &[Id], array: &Array) -> Option<Vec<Way>> {
        let mut ways = Vec::new();
        let mut taken: Vec<Axis> = array.axes.clone();
        for (place, &size) in places.iter().zip(sizes) {
            let line = self.b.line(place.id)?;
            let (start, _) = self.ends(place, &line);
            let way = match line.axis {
                None => Way::Place(start),
                Some(k) if line.step.abs() == 1 && !taken.contains(&place.axes[k]) => {
                    taken.push(place.axes[k]);
                    Way::Run { axis: place.axes[k], start, backwards: line.step < 0, is_inside: true }
                }
                Some(_) => return None,
            };
            // Under a mask the index may be outside where nothing is used.
            ways.push(match way {
                _ if self.mask.is_none() || self.is_within(&way, size) => way,
                // Derivatives do not see checks, but they do see what is read.
                Way::Run { axis, start, backwards, .. } if self.b.is_of_sizes(start) && !self.b.for_derivation => {
                    Way::Run { axis, start, backwards, is_inside: false }
                }
                _ => return None,
            });
        }
        Some(ways)
    }

    /// Returns whether all that is read is known to be there.
    fn is_within(&mut self, way: &Way, size: Id) -> bool {
        let (start, count) = match *way {
            Way::Place(e) => (e, self.b.integer(1)),
            Way::Run { axis, start, .. } => (start, self.sizes[axis]),
        };
        let room = self.b.each(Fun::Sub, &[size, start]);
        let room = self.b.each(Fun::Sub, &[room, count]);
        self.b.is_natural(start) && self.b.is_natural(room)
    }

    fn part(&mut self, array: &Array, ways: &[Way]) -> Array {
        // The dimensions of the array: those of its axes, then one for each way, then the rest.
        let mut id = array.id;
        let mut axis = array.axes.len();
        let mut loops: Vec<Axis> = array.axes.clone();
        for way in ways {
            match *way {
                Way::Place(e) => {
                    if !array.axes.is_empty() {
                        self.b.by(Rule::IndexAxis);
                    }
                    id = self.b.at(id, axis, e);
                }
                Way::Run { axis: along, start, backwards, is_inside } => {
                    let n = self.sizes[along];
                    self.b.by(if is_inside { Rule::IndexRun } else { Rule::IndexWindow });
                    id = match is_inside {
                        true => self.b.slice(id, axis, start, n),
                        false => self.b.window(id, axis, start, n).expect("sizes say where it starts"),
                    };
                    if backwards {
                        id = self.b.reverse(id, axis);
                    }
                    loops.push(along);
                    axis += 1;
                }
            }
        }
        self.sorted(id, &loops)
    }

    /// Returns an array whose first dimensions are those of some loops, with these in order.
    fn sorted(&mut self, id: Id, loops: &[Axis]) -> Array {
        let mut order: Vec<usize> = (0..loops.len()).collect();
        order.sort_by_key(|&k| loops[k]);
        let rest = loops.len()..self.b.rank(id);
        let id = self.b.permute(id, &order.iter().copied().chain(rest).collect::<Vec<_>>());
        Array { id, axes: order.into_iter().map(|k| loops[k]).collect() }
    }

    fn gathered(&mut self, array: &Array, places: &[Array], sizes: &[Id]) -> Array {
        let places: Vec<Array> = places.iter().zip(sizes).map(|(place, &size)| self.safe(place, size)).collect();
        // The axes of the array before the first that an index depends on stay as they are.
        let is_used = |axis: &Axis| places.iter().any(|place| place.axes.contains(axis));
        let free = array.axes.iter().position(is_used).unwrap_or(array.axes.len());
        let (before, shared) = array.axes.split_at(free);
        let shared = Array { id: array.id, axes: shared.to_vec() };
        let batch = Self::union(&[&[&shared], places.iter().collect::<Vec<_>>().as_slice()].concat());
        self.b.by(if array.axes.is_empty() { Rule::BulkIndexOut } else { Rule::BulkIndex });
        let running: Vec<Id> = shared.axes.iter().map(|&axis| self.running(axis, &batch)).collect();
        let given: Vec<Id> = places.iter().map(|place| self.align_to(place, &batch, &[])).collect();
        let id = self.b.gather(array.id, free, &[running, given].concat());
        self.sorted(id, &[before, &batch].concat())
    }

    /// Returns the index that runs along one of the axes.
    fn running(&mut self, axis: Axis, axes: &[Axis]) -> Id {
        let iota = self.b.iota(self.sizes[axis]);
        self.align_to(&Array { id: iota, axes: vec![axis] }, axes, &[])
    }

    /// Returns a place that is inside also where the mask says that its element is not used.
    fn safe(&mut self, place: &Array, size: Id) -> Array {
        let Some(mask) = self.mask.clone().filter(|_| !self.is_always_inside(place, size)) else {
            return place.clone();
        };
        if self.b.for_derivation {
            return self.each(Fun::Used, &[mask, place.clone()]);
        }
        let zero = Array::fixed(self.b.integer(0));
        self.each(Fun::Select, &[mask, place.clone(), zero])
    }

    /// Returns whether a place is known to be inside, whatever the mask says.
    fn is_always_inside(&mut self, place: &Array, size: Id) -> bool {
        let Some(line) = self.b.line(place.id).filter(|line| line.step.abs() <= 1) else { return false };
        let (lowest, highest) = self.ends(place, &line);
        let one = self.b.integer(1);
        let room = self.b.each(Fun::Sub, &[size, highest]);
        let room = self.b.each(Fun::Sub, &[room, one]);
        self.b.is_natural(lowest) && self.b.is_natural(room)
    }

    /// Returns zeros like w, but x at an index.
    pub(super) fn one_hot(&mut self, w: &Value, index: &Value, x: &Value) -> Value {
        let Value::Tensor { sizes, element } = w else { return w.clone() };
        let places = index.numbers();
        places.iter().zip(sizes).for_each(|(place, &size)| self.check_index(place, size));
        let base = self.zero_of(element);
        self.added(sizes, &base, &places, x)
    }

    /// Returns a tensor with the elements of `base`, and x added at an index.
    pub(super) fn added(&mut self, sizes: &[Id], base: &Value, places: &[Array], x: &Value) -> Value {
        let (base, x) = self.alike(base, x);
        self.require_alike(&base, &x);
        let pairs: Vec<(Array, Array)> =
            base.leaves().into_iter().cloned().zip(x.leaves().into_iter().cloned()).collect();
        let arrays = pairs.iter().map(|(base, x)| self.add_at(sizes, base, places, x)).collect();
        Value::Tensor { sizes: sizes.to_vec(), element: Box::new(base.with(arrays)) }
    }

    /// Requires that the tensors in two values of one form have the same sizes.
    fn require_alike(&mut self, x: &Value, y: &Value) {
        match (x, y) {
            (Value::Tuple(a), Value::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| self.require_alike(a, b)),
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                for (&n, &m) in n.iter().zip(m) {
                    self.b.require_same(n, m);
                }
                self.require_alike(a, b);
            }
            _ => {}
        }
    }

    fn add_at(&mut self, sizes: &[Id], base: &Array, places: &[Array], x: &Array) -> Array {
        // Where the mask is false nothing is added.
        let x = match self.mask.clone() {
            None => x.clone(),
            Some(mask) => {
                let own = self.own(x);
                let zero = Array::fixed(self.b.zeros(self.b.node(x.id).scalar, &own));
                self.choose(&mask, x, &zero)
            }
        };
        let places: Vec<Array> = places.iter().zip(sizes).map(|(place, &size)| self.safe(place, size)).collect();
        let axes = Self::union(&[&[base, &x], places.iter().collect::<Vec<_>>().as_slice()].concat());
        if !axes.is_empty() {
            self.b.by(Rule::BulkScatter);
        }
        let own = self.own(base);
        let whole = self.align_to(base, &axes, &own);
        let mut all: Vec<Id> = axes.iter().map(|&axis| self.running(axis, &axes)).collect();
        all.extend(places.iter().map(|place| self.align_to(place, &axes, &[])).collect::<Vec<_>>());
        let x = self.align_to(&x, &axes, &own[sizes.len()..]);
        Array { id: self.b.scatter(whole, x, &all), axes }
    }
}
