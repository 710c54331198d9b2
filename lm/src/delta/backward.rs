//! Evaluates Delta terms backward: by IDs, each node once, or along paths, each node as often as there are paths to it.
//!
//! ```text
//! by IDs (Fig. 5):     the largest ID first; Scale k d at c gives d the cotangent k c, and cotangents of one ID add up
//! by paths (eval_3):   eval c (Share id d) = eval c d
//! ```
//!
//! Neither recurses: terms may be as deep as a run is long.

use super::trace::{Place, Trace};

/// A reverse pass by IDs: an iterator of the nodes it visits, from the largest ID.
#[derive(Debug)]
pub struct ReversePass<'a> {
    trace: &'a Trace,
    /// The cotangent of each node, by its ID less 1; none where nothing has reached it.
    cotangents: Vec<Option<f64>>,
    gradient: Vec<f64>,
    /// The nodes of larger IDs were visited.
    next: usize,
}

/// A visit of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The ID of the node.
    pub id: usize,
    /// The sum of the cotangents that reached it.
    pub cotangent: f64,
}

impl<'a> ReversePass<'a> {
    pub(super) fn new(trace: &'a Trace, seeds: Vec<(Place, f64)>) -> ReversePass<'a> {
        let (cotangents, gradient) = (vec![None; trace.len()], vec![0.0; trace.inputs()]);
        let mut pass = ReversePass { trace, cotangents, gradient, next: trace.len() };
        seeds.into_iter().for_each(|(place, c)| pass.add(place, c));
        pass
    }

    fn add(&mut self, place: Place, c: f64) {
        match place {
            Place::Input(k) => self.gradient[k as usize] += c,
            Place::Node(id) => {
                let sum = &mut self.cotangents[id as usize - 1];
                *sum = Some(sum.map_or(c, |sum| sum + c));
            }
        }
    }

    /// Returns the map of cotangents: those of the nodes that are still to be visited, from the smallest ID.
    pub fn waiting(&self) -> impl Iterator<Item = Visit> + '_ {
        let reached = self.cotangents[..self.next].iter().enumerate();
        reached.filter_map(|(i, cotangent)| Some(Visit { id: i + 1, cotangent: (*cotangent)? }))
    }

    /// Makes the visits that are left, and returns the cotangent of each input, in order.
    pub fn gradient(mut self) -> Vec<f64> {
        while self.next().is_some() {}
        self.gradient
    }
}

impl Iterator for ReversePass<'_> {
    type Item = Visit;

    fn next(&mut self) -> Option<Visit> {
        let at = self.cotangents[..self.next].iter().rposition(Option::is_some);
        let Some(at) = at else {
            self.next = 0;
            return None;
        };
        self.next = at;
        let (id, cotangent) = (at + 1, self.cotangents[at].expect("just found"));
        let trace = self.trace;
        trace.node(id).links.iter().for_each(|link| self.add(link.of, link.partial() * cotangent));
        Some(Visit { id, cotangent })
    }
}

/// The outcome of evaluating terms along paths.
#[derive(Clone, Debug)]
pub struct ByPaths {
    /// The cotangent of each input, in order.
    pub gradient: Vec<f64>,
    /// How often each node was visited, by its ID less 1.
    pub visits: Vec<u64>,
}

/// More paths than a caller wants to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyVisits {
    /// The number of visits that it would take; none beyond 2^128.
    pub visits: Option<u128>,
}

impl ByPaths {
    pub(super) fn new(trace: &Trace, seeds: &[(Place, f64)], limit: u64) -> Result<ByPaths, TooManyVisits> {
        let visits = paths(trace, seeds);
        if visits.is_none_or(|visits| visits > limit.into()) {
            return Err(TooManyVisits { visits });
        }
        let mut found = ByPaths { gradient: vec![0.0; trace.inputs()], visits: vec![0; trace.len()] };
        // The first of a node's terms is evaluated first.
        let mut waiting: Vec<(Place, f64)> = seeds.iter().rev().copied().collect();
        while let Some((place, c)) = waiting.pop() {
            match place {
                Place::Input(k) => found.gradient[k as usize] += c,
                Place::Node(id) => {
                    found.visits[id as usize - 1] += 1;
                    let links = trace.node(id as usize).links.iter().rev();
                    waiting.extend(links.map(|link| (link.of, c * link.partial())));
                }
            }
        }
        Ok(found)
    }
}

/// Returns the number of visits along all paths; none beyond 2^128.
pub(super) fn paths(trace: &Trace, seeds: &[(Place, f64)]) -> Option<u128> {
    let mut paths = vec![0u128; trace.len()];
    let mut sum = 0u128;
    for (place, _) in seeds {
        if let Place::Node(id) = place {
            paths[*id as usize - 1] += 1;
        }
    }
    for id in (1..=trace.len()).rev() {
        let here = paths[id - 1];
        sum = sum.checked_add(here)?;
        for link in trace.node(id).links {
            if let Place::Node(id) = link.of {
                let below = &mut paths[id as usize - 1];
                *below = below.checked_add(here)?;
            }
        }
    }
    Some(sum)
}
