//! What reaches C: shared and static libraries, headers, symbols; and that files are whole.

mod common;

use common::{Build, call, float, integer, tuple};
use lm::libm::Libm;
use lm::prim::Prim;
use lm::term::{Def, Derivative, Expr, FunName, Op, Span};
use lm::types::Type;
use native::{Kind, Module, Options, SourceInfo, abi, compile};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A directory for one test.
fn directory(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("native-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a temporary directory");
    path
}

/// User functions with the names of C functions that the code itself calls, and other odd names.
fn odd_names() -> Module {
    let mut b = Build::default();
    // sin(x) = sin(x) + 1: the inner one is the primitive.
    b.def("sin", &[("x", float())], |_, xs| {
        Expr::prim(Prim::Add, [Expr::prim(Prim::Libm(Libm::Sin), [xs[0].clone()]), Expr::float(1.0)])
    });
    b.def("main", &[], |_, _| call("malloc", integer(), vec![Expr::integer(20)]));
    b.def("malloc", &[("n", integer())], |_, xs| Expr::prim(Prim::Add, [xs[0].clone(), Expr::integer(22)]));
    b.def("llvm.sqrt", &[("x", float())], |_, xs| Expr::prim(Prim::Neg, [xs[0].clone()]));
    b.def("a.b/c*/", &[("x'", float()), ("int", float())], |_, xs| Expr::prim(Prim::Mul, xs.to_vec()));
    let pair = tuple(&[float(), tuple(&[Type::Bool, integer()])]);
    b.def("f2", &[("t", pair), ("ctx", Type::String)], |_, xs| {
        let t = &xs[0];
        let inner = Expr::get(2, t.clone());
        let unit = Expr::tuple([]);
        Expr::tuple([Expr::get(2, inner.clone()), unit, Expr::get(1, inner), Expr::get(1, t.clone()), xs[1].clone()])
    });
    let f2 = FunName::base("f2");
    for (name, result) in
        [(f2.derived(Derivative::Rev), 2.0), (f2.derived(Derivative::Rev).derived(Derivative::Fwd), 3.0)]
    {
        b.program.defs.insert(name.clone(), Def::new(name, vec![], Expr::float(result)));
    }
    let names: Vec<FunName> = b.program.defs.keys().cloned().collect();
    let source = SourceInfo::new("odd */ names.ks", "");
    compile(&b.program, &names, &source, &Options::default()).expect("compiles")
}

#[test]
fn names_of_c_are_no_danger() {
    let path = directory("names").join("odd.so");
    odd_names().write(Kind::So, &path).expect("links");
    // SAFETY: the library has no constructors, and the types are those of the functions.
    unsafe {
        let library = libloading::Library::new(&path).expect("loads");
        let unary = |name: &str, x: f64| {
            let f: libloading::Symbol<unsafe extern "C" fn(*mut abi::Context, f64, *mut f64) -> i32> =
                library.get(name.as_bytes()).expect("is exported");
            let mut out = f64::NAN;
            assert_eq!(f(std::ptr::null_mut(), x, &mut out), 0);
            out
        };
        assert_eq!(unary("lmc$sin", 0.5), 0.5f64.sin() + 1.0);
        assert_eq!(unary("lmc_sin", 0.5), 0.5f64.sin() + 1.0);
        assert_eq!(unary("lmc$llvm.sqrt", 4.0), -4.0);
        let main: libloading::Symbol<unsafe extern "C" fn(*mut abi::Context, *mut i64) -> i32> =
            library.get(b"lmc$main").expect("is exported");
        let mut out = 0;
        assert_eq!((main(std::ptr::null_mut(), &mut out), out), (0, 42));
        let rev: libloading::Symbol<unsafe extern "C" fn(*mut abi::Context, *mut f64) -> i32> =
            library.get(b"rev$f2").expect("is exported");
        let mut out = 0.0;
        assert_eq!((rev(std::ptr::null_mut(), &mut out), out), (0, 2.0));
    }
    let symbols = Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&path).output().expect("nm");
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    exported.sort();
    let expected = [
        "a.b/c*/",
        "a_b_c__",
        "f2",
        "fwd$rev$f2",
        "fwd_rev_f2",
        "lmc$llvm.sqrt",
        "lmc$main",
        "lmc$malloc",
        "lmc$sin",
        "lmc_context_free",
        "lmc_llvm_sqrt",
        "lmc_main",
        "lmc_malloc",
        "lmc_sin",
        "rev$f2",
        "rev_f2",
    ];
    assert_eq!(exported, expected);
}

/// Division and assertion in a called function, at a known place.
fn failing() -> Module {
    let mut b = Build::default();
    b.def("div", &[("a", integer()), ("b", integer())], |_, xs| {
        Expr::prim(Prim::Div, xs.to_vec()).at(Span { start: 7, end: 16 })
    });
    b.def("positive", &[("x", float())], |_, xs| {
        let positive = Expr::prim(Prim::Gt, [xs[0].clone(), Expr::float(0.0)]);
        Expr::app(Op::Assert, vec![positive, xs[0].clone()])
    });
    let source = SourceInfo::new("dir/errors.ks", "; λ\nλ(div a b)");
    compile(&b.program, &[FunName::base("div"), FunName::base("positive")], &source, &Options::default())
        .expect("compiles")
}

#[test]
fn errors_fill_the_context() {
    let path = directory("errors").join("failing.so");
    failing().write(Kind::So, &path).expect("links");
    // SAFETY: as above.
    unsafe {
        let library = libloading::Library::new(&path).expect("loads");
        let div: libloading::Symbol<unsafe extern "C" fn(*mut abi::Context, i64, i64, *mut i64) -> i32> =
            library.get(b"lmc$div").expect("is exported");
        let mut out = 5;
        assert_eq!(div(std::ptr::null_mut(), 1, 0, &mut out), 2);
        let mut ctx = abi::Context::new();
        assert_eq!(div(&mut ctx, -9, 0, &mut out), 2);
        assert_eq!(out, 5, "outputs of a failed call are untouched");
        let error = &ctx.error;
        let place = (error.code, error.line, error.column, error.start, error.end, error.count, error.number[0]);
        assert_eq!(place, (2, 2, 2, 7, 16, 1, -9));
        assert_eq!(CStr::from_ptr(error.message).to_str(), Ok("integer division by zero"));
        assert_eq!(CStr::from_ptr(error.file).to_str(), Ok("dir/errors.ks"));
        assert_eq!((div(&mut ctx, i64::MIN, -1, &mut out), out), (0, i64::MIN));
    }
}

/// `lmc_tensor_f64_1` of the header.
#[repr(C)]
struct Vector {
    data: *mut f64,
    size: [i64; 1],
}

impl Vector {
    fn of(data: &mut [f64]) -> Vector {
        Vector { data: data.as_mut_ptr(), size: [data.len() as i64] }
    }
}

type Scale = unsafe extern "C" fn(*mut abi::Context, f64, *const Vector, *mut Vector) -> i32;

#[test]
fn a_program_in_rust_passes_tensors() {
    let mut b = Build::default();
    b.def("scale", &[("k", float()), ("v", Type::vec(float()))], |_, xs| Expr::prim(Prim::Mul, xs.to_vec()));
    let module = compile(&b.program, &[FunName::base("scale")], &SourceInfo::default(), &Options::default());
    let path = directory("tensors").join("scale.so");
    module.expect("compiles").write(Kind::So, &path).expect("links");
    // SAFETY: as above; the structures hold as much as they say.
    unsafe {
        let library = libloading::Library::new(&path).expect("loads");
        let scale: libloading::Symbol<Scale> = library.get(b"scale").expect("is exported");
        let free: libloading::Symbol<unsafe extern "C" fn(*mut abi::Context)> =
            library.get(b"lmc_context_free").expect("is exported");
        let mut ctx = abi::Context::new();
        ctx.arena.bytes = 1 << 16;
        let (mut input, mut output) = ([1.0, -2.0, 0.5], [0.0; 3]);
        let v = Vector::of(&mut input);
        assert_eq!(scale(std::ptr::null_mut(), 2.0, &v, &mut Vector::of(&mut output)), 0);
        assert_eq!(output, [2.0, -4.0, 1.0]);
        let mut result = Vector { data: std::ptr::null_mut(), size: [0] };
        assert_eq!(scale(&mut ctx, 3.0, &v, &mut result), 0);
        assert_eq!(std::slice::from_raw_parts(result.data, result.size[0] as usize), [3.0, -6.0, 1.5]);
        assert_eq!(scale(&mut ctx, 3.0, &v, &mut Vector::of(&mut output[..2])), 11);
        assert_eq!(ctx.error.number[..3], [3, 3, 2]);
        assert_eq!(scale(&mut ctx, 3.0, std::ptr::null(), &mut result), 10);
        free(&mut ctx);
        assert!(ctx.arena.base.is_null());
    }
}

#[test]
fn what_has_no_form_in_c_is_refused() {
    let mut b = Build::default();
    let deep = Type::Tensor(2, Arc::new(Type::vec(float())));
    b.def("deep", &[("v", deep.clone())], |_, xs| xs[0].clone());
    let module = compile(&b.program, &[FunName::base("deep")], &SourceInfo::default(), &Options::default());
    let module = module.expect("compiles");
    for kind in [Kind::Obj, Kind::Header] {
        let error = module.output(kind).expect_err("is refused").to_string();
        assert!(error.starts_with(&format!("`deep` cannot be called from C: `{deep}` has no form there")), "{error}");
    }
    assert!(module.output(Kind::Loops).is_ok());
}

#[test]
fn the_header_is_c_and_cpp() {
    let directory = directory("header");
    odd_names().write(Kind::Header, &directory.join("odd.h")).expect("is written");
    failing().write(Kind::Header, &directory.join("failing.h")).expect("is written");
    let offset =
        |field: &str, value: usize| format!("static_assert(offsetof(lmc_context, {field}) == {value}, \"\");\n");
    let text = [
        "#include <stddef.h>\n#include <assert.h>\n#include \"odd.h\"\n#include \"failing.h\"\n#include \"lmc_pool.h\"\n".to_string(),
        offset("write", std::mem::offset_of!(abi::Context, write)),
        offset("stack_bytes", std::mem::offset_of!(abi::Context, stack_bytes)),
        offset("arena.peak", std::mem::offset_of!(abi::Context, arena.peak)),
        offset("threads", std::mem::offset_of!(abi::Context, threads)),
        offset("threads.workers", std::mem::offset_of!(abi::Context, threads.workers)),
        offset("error", std::mem::offset_of!(abi::Context, error)),
        offset("error.number", std::mem::offset_of!(abi::Context, error.number)),
        offset("error.file", std::mem::offset_of!(abi::Context, error.file)),
        format!("static_assert(sizeof(lmc_context) == {}, \"\");\n", size_of::<abi::Context>()),
        "int32_t use(lmc_context *ctx, double *out);\n\
         int32_t use(lmc_context *ctx, double *out) { return lmc_sin(ctx, 0.5, out) + fwd_rev_f2(ctx, out); }\n"
            .to_string(),
    ];
    let pool = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../pool/include");
    let warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-fsyntax-only", pool];
    for (compiler, standard, file) in [("cc", "-std=c11", "use.c"), ("c++", "-std=c++17", "use.cc")] {
        std::fs::write(directory.join(file), text.concat()).expect("is written");
        run(Command::new(compiler).arg(standard).args(warnings).arg(file).current_dir(&directory));
    }
    let dollar = ["-std=gnu11", "-DLMC_DOLLAR_NAMES", "-fsyntax-only", pool, "use.c"];
    run(Command::new("cc").args(dollar).current_dir(&directory));
}

#[test]
fn a_c_program_links_the_static_library() {
    let directory = directory("static");
    odd_names().write(Kind::A, &directory.join("libodd.a")).expect("is written");
    odd_names().write(Kind::Header, &directory.join("odd.h")).expect("is written");
    let program = "#include \"odd.h\"\n#include <math.h>\n#include <stdlib.h>\n\
        int main(void) { double out = 0; int64_t n = 0; void *p = malloc(8); free(p);\n\
        if (lmc_sin(0, 0.5, &out) || out != sin(0.5) + 1) return 1;\n\
        if (lmc_main(0, &n) || n != 42) return 2;\n\
        return 0; }\n";
    std::fs::write(directory.join("use.c"), program).expect("is written");
    run(Command::new("cc").args(["use.c", "-fno-builtin", "libodd.a", "-lm", "-o", "use"]).current_dir(&directory));
    run(&mut Command::new(directory.join("use")));
}

fn run(command: &mut Command) {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_same_bytes_each_time() {
    for &kind in Kind::ALL {
        let [first, second] = [(); 2].map(|()| odd_names().output(kind).expect("is made"));
        assert!(first == second, "{} differs", kind.name());
    }
}

#[test]
fn nothing_is_left_of_what_cannot_be_written() {
    let directory = directory("whole");
    let target = directory.join("is-a-directory");
    std::fs::create_dir_all(&target).expect("is made");
    let error = failing().write(Kind::Loops, &target).expect_err("cannot replace a directory");
    assert!(error.to_string().starts_with(&format!("cannot write `{}`", target.display())), "{error}");
    let missing = Path::new("/no/such/directory/out.o");
    assert!(failing().write(Kind::Obj, missing).is_err());
    let left: Vec<_> = std::fs::read_dir(&directory).expect("is there").collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn loops_are_readable() {
    let text = String::from_utf8(failing().output(Kind::Loops).expect("is made")).expect("UTF-8");
    let expected = "\
fun div(a%0: integer, b%1: integer) -> (integer) {
  %2 = eq.i b%1, 0
  %3 = not %2
  check %3 else DivisionByZero(a%0)
  %4 = div.i a%0, b%1
  yield %4
}

fun positive(x%0: float) -> (float) {
  %1 = lt.f 0.0, x%0
  check %1 else AssertFailed()
  yield x%0
}
";
    assert_eq!(text, expected);
}
