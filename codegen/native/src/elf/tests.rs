//! Objects that LLVM makes of a few lines each, joined and run.

use super::join_objects;
use crate::llvm::Linked;
use crate::target::Target;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;

fn object(text: &str) -> Vec<u8> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
    let module = context.create_module_from_ir(buffer).expect("the text is a module");
    let target = Target::new(None, 1).expect("there is a code generator");
    module.set_triple(&target.machine().get_triple());
    let written = target.machine().write_to_memory_buffer(&module, FileType::Object);
    written.expect("LLVM writes an object").as_slice().to_vec()
}

fn call(linked: &Linked, name: &str, x: i64) -> i64 {
    let address = linked.address(name).expect("it is there");
    // SAFETY: the text gives the function of that name this type.
    let function = unsafe { std::mem::transmute::<usize, extern "C" fn(i64) -> i64>(address) };
    function(x)
}

/// Constants of several sizes, a constant with an address in it, zeros, and a function that only this object sees.
const FIRST: &str = "
@count = internal global i64 0
@small = private constant [3 x i64] [i64 5, i64 7, i64 11]
@place = internal constant ptr getelementptr ([3 x i64], ptr @small, i64 0, i64 2)
declare hidden i64 @second(i64)
define internal i64 @own(i64 %x) noinline {
  %y = mul i64 %x, 10
  ret i64 %y
}
define i64 @first(i64 %x) {
  %place = load volatile ptr, ptr @place
  %eleven = load i64, ptr %place
  %n = load i64, ptr @count
  %m = add i64 %n, 1
  store i64 %m, ptr @count
  %a = call i64 @second(i64 %x)
  %b = call i64 @own(i64 %a)
  %c = add i64 %b, %eleven
  %d = add i64 %c, %m
  ret i64 %d
}";

/// The same names for other things.
const SECOND: &str = "
@count = internal global i64 0
@table = private constant [4 x double] [double 1.5, double 2.5, double 4.5, double 8.5]
define internal i64 @own(i64 %x) noinline {
  %n = load i64, ptr @count
  %m = add i64 %n, 100
  store i64 %m, ptr @count
  %y = add i64 %x, %m
  ret i64 %y
}
define hidden i64 @second(i64 %x) {
  %place = getelementptr [4 x double], ptr @table, i64 0, i64 %x
  %number = load double, ptr %place
  %twice = fmul double %number, 2.0
  %whole = fptosi double %twice to i64
  %y = call i64 @own(i64 %whole)
  ret i64 %y
}
define i64 @also(i64 %x) {
  %y = call i64 @own(i64 %x)
  ret i64 %y
}";

#[test]
fn a_name_is_found_in_the_other_object_and_what_is_internal_stays_apart() {
    for objects in [[FIRST, SECOND], [SECOND, FIRST]] {
        let linked = Linked::new(&join_objects(&objects.map(object))).expect("it links");
        // (8.5 2 + 100) 10 + 11 + 1, then with counts of 200 and 2.
        assert_eq!(call(&linked, "first", 3), 1182);
        assert_eq!(call(&linked, "first", 0), (3 + 200) * 10 + 11 + 2);
        assert_eq!(call(&linked, "also", 1), 301);
    }
}

#[test]
fn what_is_hidden_is_seen_by_nobody_else() {
    let linked = Linked::new(&join_objects(&[FIRST, SECOND].map(object))).expect("it links");
    assert!(linked.address("second").is_err() && linked.address("own").is_err());
    assert!(linked.address("first").is_ok());
}

#[test]
fn one_object_stays_what_it_is() {
    let linked = Linked::new(&join_objects(&[object(SECOND)])).expect("it links");
    assert_eq!(call(&linked, "also", 1), 101);
}

#[test]
fn a_name_that_no_object_has_stays_open() {
    let linked = Linked::new(&join_objects(&[object(FIRST)])).expect("objects may be incomplete");
    assert!(linked.address("first").is_err(), "nobody has `second`");
}

#[test]
#[should_panic(expected = "has one place")]
fn a_name_with_two_places_is_a_bug() {
    join_objects(&[object(SECOND), object(SECOND)]);
}
