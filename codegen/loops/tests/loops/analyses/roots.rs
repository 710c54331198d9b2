//! Sets of roots, against what was added.

use loops::analyses::roots::{Root, Roots};
use loops::ir::Local;

/// Returns the root of a number: of two for a local, the even one for what is made for it.
fn root(number: u64) -> Root {
    let x = Local(u32::try_from(number / 2).expect("it is the number of a root"));
    if number.is_multiple_of(2) { Root::Made(x) } else { Root::Inside(x) }
}

fn number(root: Root) -> u64 {
    match root {
        Root::Made(Local(x)) => 2 * u64::from(x),
        Root::Inside(Local(x)) => 2 * u64::from(x) + 1,
    }
}

fn set(numbers: &[u64]) -> Roots {
    let mut set = Roots::new();
    numbers.iter().for_each(|number| set.extend(&Roots::single(root(*number))));
    set
}

#[test]
fn a_set_has_what_was_added() {
    let numbers = [7, 500, 3, 63, 64, 7, 4_000_000_001];
    let all = set(&numbers);
    let listed: Vec<u64> = all.iter().map(number).collect();
    assert_eq!(listed, [3, 7, 63, 64, 500, 4_000_000_001]);
    assert!(numbers.iter().all(|number| all.contains(&root(*number))));
    assert!(![2, 65, 501].iter().any(|number| all.contains(&root(*number))));
    assert_eq!(all.filtered(|root| number(*root).is_multiple_of(2)), set(&[64, 500]));
    assert_eq!(all.without(&set(&[1, 7, 64, 501])), set(&[3, 63, 500, 4_000_000_001]));
    assert!(all.filtered(|_| false).is_empty() && Roots::new().is_empty() && !all.is_empty());
}

#[test]
fn adding_tells_whether_anything_is_new() {
    let mut all = set(&[1, 200]);
    assert!(!all.clone().add(&set(&[200])) && !all.clone().add(&Roots::new()));
    assert!(all.add(&set(&[100, 200, 300])));
    assert_eq!(all, set(&[1, 100, 200, 300]));
}

#[test]
fn what_is_new_is_what_was_not_there() {
    let mut all = set(&[1, 64, 200, 900]);
    assert_eq!(all.add_new(&set(&[2, 64, 130, 900, 901, 5_000])), set(&[2, 130, 901, 5_000]));
    assert_eq!(all, set(&[1, 2, 64, 130, 200, 900, 901, 5_000]));
    assert!(all.add_new(&set(&[2, 901])).is_empty() && all.add_new(&Roots::new()).is_empty());
}

#[test]
fn sets_are_disjoint_unless_one_is_in_both() {
    let (few, many) = (set(&[70, 900]), set(&[1, 71, 200, 901, 2_000]));
    assert!(few.is_disjoint(&many) && many.is_disjoint(&few) && few.is_disjoint(&Roots::new()));
    let more = set(&[900, 5_000]);
    assert!(!few.is_disjoint(&more) && !more.is_disjoint(&few) && !few.is_disjoint(&few));
}
