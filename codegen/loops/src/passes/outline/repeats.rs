//! Finds what is repeated in a sequence of numbers: runs that occur in two places or more, and are no part of longer
//! ones that occur in as many.
//!
//! Suffixes are sorted by doubling, and those that begin alike are neighbours then. The time is n (log n)^2.

use std::ops::Range;

/// Holds the starts of the suffixes of a sequence, sorted, and what neighbours have in common.
pub(super) struct Repeats {
    order: Vec<usize>,
    /// The length of each repeated run, with the part of `order` that has its starts.
    pub(super) runs: Vec<(usize, Range<usize>)>,
}

impl Repeats {
    pub(super) fn of(sequence: &[usize]) -> Repeats {
        let (order, rank) = sorted_suffixes(sequence);
        let runs = intervals(&common_prefixes(sequence, &order, &rank));
        Repeats { order, runs }
    }

    /// Returns one of the places where a run starts.
    pub(super) fn first(&self, run: &Range<usize>) -> usize {
        self.order[run.start]
    }

    /// Returns where a run starts, in order.
    pub(super) fn starts(&self, run: &Range<usize>) -> Vec<usize> {
        let mut starts = self.order[run.clone()].to_vec();
        starts.sort_unstable();
        starts
    }
}

/// Returns the starts of the suffixes in order, and the place of each in it.
fn sorted_suffixes(sequence: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let n = sequence.len();
    let mut rank = sequence.to_vec();
    let mut order: Vec<usize> = (0..n).collect();
    let mut length = 1;
    loop {
        let key = |i: usize| (rank[i], rank.get(i + length).map(|r| r + 1));
        order.sort_unstable_by_key(|i| key(*i));
        let mut new = vec![0; n];
        for pair in order.windows(2) {
            new[pair[1]] = new[pair[0]] + usize::from(key(pair[0]) != key(pair[1]));
        }
        rank = new;
        if order.last().is_none_or(|last| rank[*last] + 1 == n) {
            return (order, rank);
        }
        length *= 2;
    }
}

/// Returns how long what each suffix has in common with the one before it is (Kasai et al., 2001).
fn common_prefixes(sequence: &[usize], order: &[usize], rank: &[usize]) -> Vec<usize> {
    let mut common = vec![0; order.len()];
    let mut length: usize = 0;
    for (start, place) in rank.iter().enumerate() {
        if *place == 0 {
            length = 0;
            continue;
        }
        let other = order[place - 1];
        let rest = sequence[start + length..].iter().zip(&sequence[other + length..]);
        length += rest.take_while(|(a, b)| a == b).count();
        common[*place] = length;
        length = length.saturating_sub(1);
    }
    common
}

/// Returns the longest ranges of suffixes with so long a beginning in common, for each length that is one of a range.
fn intervals(common: &[usize]) -> Vec<(usize, Range<usize>)> {
    let mut found = vec![];
    let mut open: Vec<(usize, usize)> = vec![];
    for i in 1..=common.len() {
        let length = common.get(i).copied().unwrap_or(0);
        let mut from = i - 1;
        while let Some((longer, start)) = open.pop_if(|(longer, _)| *longer > length) {
            found.push((longer, start..i));
            from = start;
        }
        if length > 0 && open.last().is_none_or(|(other, _)| *other < length) {
            open.push((length, from));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Repeats;

    fn repeats(text: &str) -> Vec<(String, Vec<usize>)> {
        let sequence: Vec<usize> = text.bytes().map(usize::from).collect();
        let found = Repeats::of(&sequence);
        let mut named: Vec<(String, Vec<usize>)> = found
            .runs
            .iter()
            .map(|(length, range)| {
                let starts = found.starts(range);
                (text[starts[0]..starts[0] + length].to_string(), starts)
            })
            .collect();
        named.sort();
        named
    }

    #[test]
    fn repeated_runs_are_found_with_all_their_places() {
        let expected = [("a", vec![1, 3, 5]), ("ana", vec![1, 3]), ("na", vec![2, 4])];
        assert_eq!(repeats("banana"), expected.map(|(run, places)| (run.to_string(), places)));
    }

    #[test]
    fn nothing_is_repeated_in_a_sequence_of_different_numbers() {
        assert_eq!(repeats("abcdef"), vec![]);
        assert_eq!(repeats(""), vec![]);
        assert_eq!(repeats("a"), vec![]);
    }

    /// The same by comparing all pairs of places.
    #[test]
    fn random_sequences_have_the_runs_that_comparing_finds() {
        let mut seed: u32 = 7;
        for length in 0..40 {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed >> 30
            };
            let text: String = (0..length).map(|_| char::from(b'a' + next() as u8)).collect();
            let found = repeats(&text);
            for (run, places) in &found {
                let all: Vec<usize> = (0..text.len()).filter(|i| text[*i..].starts_with(run.as_str())).collect();
                assert_eq!(places, &all, "{run} in {text}");
            }
            for (i, j) in (0..text.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let common = text[i..].bytes().zip(text[j..].bytes()).take_while(|(a, b)| a == b).count();
                let run = &text[i..i + common];
                assert!(common == 0 || found.iter().any(|(other, _)| other == run), "{run} in {text}");
            }
        }
    }
}
