//! How modules are divided, and that it changes nothing.

use super::{Effort, ModulePart, divided_by};
use crate::elf::join_objects;
use crate::llvm::Linked;
use crate::llvm_codegen::objects;
use crate::options::Options;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use rustc_hash::FxHashSet;

/// Returns a function of so many instructions, which calls others first.
fn function(head: &str, length: usize, callees: &[&str]) -> String {
    let mut text = format!("define {head} {{\n  %v0 = add i64 %x, 0\n");
    let mut last = 0;
    for callee in callees {
        text += &format!("  %c{last} = call i64 @{callee}(i64 %v{last})\n");
        text += &format!("  %v{} = add i64 %c{last}, {last}\n", last + 1);
        last += 1;
    }
    for _ in 0..length {
        let op = if last % 2 == 0 { "mul" } else { "xor" };
        text += &format!("  %v{} = {op} i64 %v{last}, {}\n", last + 1, 2 * last + 3);
        last += 1;
    }
    text + &format!("  ret i64 %v{last}\n}}\n")
}

/// Returns a program with two entries. Both call the same long functions. Another long one is called once, and one
/// calls itself through another function, and one is not to be optimised. Other functions are short.
fn program() -> String {
    [
        function("i64 @f(i64 %x)", 900, &["a", "b", "once", "short"]),
        function("i64 @g(i64 %x)", 900, &["a", "b", "ring", "slice"]),
        function("internal i64 @a(i64 %x)", 2_600, &["short"]),
        function("internal i64 @b(i64 %x)", 2_500, &["short", "short"]),
        function("internal i64 @once(i64 %x)", 1_500, &[]),
        function("internal i64 @short(i64 %x)", 5, &["shorter"]),
        function("internal i64 @shorter(i64 %x)", 3, &[]),
        function("internal i64 @slice(i64 %x) noinline optnone", 200, &["short"]),
        function("i64 @between(i64 %x) \"lmc.between\"", 100, &["a"]),
        function("internal i64 @ring(i64 %x)", 1_200, &["bent"]),
        "define internal i64 @bent(i64 %x) noinline {
           %small = and i64 %x, 1
           %on = icmp ne i64 %small, 0
           br i1 %on, label %again, label %done
         again:
           %next = lshr i64 %x, 1
           %y = call i64 @ring(i64 %next)
           ret i64 %y
         done:
           ret i64 %x
         }\n"
        .into(),
    ]
    .concat()
}

fn read<'ctx>(context: &'ctx Context, text: &str) -> Module<'ctx> {
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
    context.create_module_from_ir(buffer).expect("the text is a module")
}

fn parts_of(text: &str) -> Vec<ModulePart> {
    divided_by(&read(&Context::create(), text), 2_500)
}

fn compile_parts(text: &str, parts: &[ModulePart], threads: usize) -> Vec<u8> {
    let context = Context::create();
    let bitcode = read(&context, text).write_bitcode_to_memory();
    join_objects(&objects(bitcode.as_slice(), parts, threads, &Options::default()).expect("LLVM makes objects"))
}

fn results(object: &[u8]) -> Vec<i64> {
    let linked = Linked::new(object).expect("it links");
    let call = |(name, x): (&str, i64)| {
        let address = linked.address(name).expect("it is there");
        // SAFETY: the text gives the function of that name this type.
        let function = unsafe { std::mem::transmute::<usize, extern "C" fn(i64) -> i64>(address) };
        function(x)
    };
    ["f", "g"].into_iter().flat_map(|name| (0..5).map(move |x| (name, x))).map(call).collect()
}

fn with<'a>(parts: &'a [ModulePart], name: &str) -> &'a ModulePart {
    parts.iter().find(|part| part.defined.contains(name)).expect("some part defines it")
}

#[test]
fn every_function_has_one_place_or_is_copied() {
    let parts = parts_of(&program());
    assert!(parts.len() > 2, "{parts:?}");
    let defined: Vec<&String> = parts.iter().flat_map(|part| &part.defined).collect();
    assert_eq!(defined.len(), defined.iter().collect::<FxHashSet<_>>().len());
    assert_eq!(defined.len(), 9, "all but the short ones: {parts:?}");
    for part in &parts {
        let uses_short = ["f", "a", "b", "slice"].iter().any(|name| part.defined.contains(*name));
        assert_eq!(part.copied.contains("short"), uses_short);
        assert_eq!(part.copied.contains("shorter"), uses_short);
    }
}

#[test]
fn what_llvm_would_look_at_together_stays_together() {
    let parts = parts_of(&program());
    assert_eq!(with(&parts, "f"), with(&parts, "once"));
    assert_eq!(with(&parts, "ring"), with(&parts, "bent"));
    assert_ne!(with(&parts, "f"), with(&parts, "g"));
    let shared = |name: &str| with(&parts, name).shared.contains(name);
    assert!(shared("a") && shared("b") && !shared("once") && !shared("bent"));
}

#[test]
fn parts_are_of_functions_that_are_worth_the_same() {
    let parts = parts_of(&program());
    let efforts = ["slice", "between", "f", "ring"].map(|name| with(&parts, name).effort());
    assert_eq!(efforts, [Effort::Least, Effort::Between, Effort::Full, Effort::Full]);
    assert!(with(&parts, "slice").shared.contains("slice") && with(&parts, "a").shared.contains("a"));
    let alone = parts.iter().filter(|part| part.effort() != Effort::Full).map(|part| part.defined.len());
    assert_eq!(alone.collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn short_modules_are_of_one_part() {
    assert_eq!(parts_of(&function("i64 @f(i64 %x)", 2_000, &[])).len(), 1);
}

#[test]
fn parts_compute_what_the_whole_does() {
    let text = program();
    let parts = parts_of(&text);
    let all = parts.iter().flat_map(|part| part.defined.iter().chain(&part.copied)).cloned().collect();
    let whole = ModulePart { defined: all, ..ModulePart::default() };
    assert_eq!(results(&compile_parts(&text, &parts, 2)), results(&compile_parts(&text, &[whole], 1)));
}

#[test]
fn the_object_does_not_depend_on_how_many_threads_there_are() {
    let text = program();
    let parts = parts_of(&text);
    let one = compile_parts(&text, &parts, 1);
    assert!([2, 3, 16].iter().all(|threads| compile_parts(&text, &parts, *threads) == one));
}
