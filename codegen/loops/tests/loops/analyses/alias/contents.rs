//! What lies in roots of memory, few and very many.

use loops::analyses::alias::contents::Contents;
use loops::analyses::roots::{Root, Roots};
use loops::ir::Local;

fn set(locals: impl IntoIterator<Item = u32>) -> Roots {
    let mut set = Roots::new();
    locals.into_iter().for_each(|x| set.extend(&Roots::single(Root::Made(Local(x)))));
    set
}

#[test]
fn what_lies_in_few_is_told_apart() {
    let mut contents = Contents::default();
    assert!(contents.hold(&set([1, 2]), &set([3])) && contents.hold(&set([2]), &set([4])));
    assert!(!contents.hold(&set([1]), &set([3])));
    assert_eq!((contents.inside(&set([1])), contents.inside(&set([2, 5]))), (set([3]), set([3, 4])));
}

#[test]
fn what_lies_in_very_many_lies_in_each() {
    let mut contents = Contents::default();
    contents.hold(&set([1]), &set([200]));
    contents.hold(&set([2]), &set([201]));
    assert!(contents.hold(&set(0..100), &set([202])) && !contents.hold(&set(0..100), &set([202])));
    assert_eq!(contents.inside(&set([50])), set([200, 201, 202]));
    assert_eq!(contents.inside(&set([150])), set([]));
    assert!(contents.hold(&set([70]), &set([203])));
    assert_eq!(contents.inside(&set([71, 150])), set([200, 201, 202, 203]));
}

#[test]
fn roots_are_reached_through_roots() {
    let mut contents = Contents::default();
    contents.hold(&set([300]), &set([5]));
    contents.hold(&set(0..100), &set([200]));
    contents.hold(&set([200]), &set([201, 300]));
    assert_eq!(contents.reached_from(&set([300])), set([5, 200, 201, 300]));
    assert_eq!(contents.reached_from(&set([200])), set([5, 200, 201, 300]));
    assert_eq!(contents.reached_from(&set([201])), set([201]));
}
