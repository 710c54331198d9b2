//! Folds whose step changes a part of the state, or all of it (`tests/cases/in_place`): the bytes that loops load and
//! store, and the memory of the reverse derivative, are as they should be to the byte. The derivative does not depend
//! on the states that it keeps. Where steps change few elements, so do derivatives, however a program says so.

use common::files;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName, Program};
use lm::timing::Timings;
use lm::value::Value;
use lmc::derive::Checkpoint;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{Random, distance};
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Lanes, Options, SourceInfo};
use std::collections::BTreeSet;
use std::path::Path;

const SIZES: [i64; 2] = [8, 16];

type Make = fn(&Program, &[FunName], &SourceInfo, &Options) -> Result<Jit, native::Error>;

/// A program with its function, the reverse derivative, and an argument for each size.
struct Case {
    text: String,
    pipeline: Pipeline,
    entries: [FunName; 3],
}

impl Case {
    fn new(name: &str, checkpoint: Checkpoint) -> Case {
        Case::of_file(&format!("in_place/{name}"), checkpoint, Derivative::Rev)
    }

    fn of_file(name: &str, checkpoint: Checkpoint, derivative: Derivative) -> Case {
        let text = files::text(Path::new(&format!("tests/cases/{name}.ks")));
        let choices = Choices { checkpoint, ..Choices::default() };
        let checked = front::load_for(&Source::new("case.ks", &text), choices, &Timings::default());
        let mut pipeline = Pipeline::new(checked.unwrap_or_else(|errors| panic!("{name}: {errors:?}")));
        let f = FunName::base("f");
        let entries = [f.clone(), f.derived(derivative), FunName::base("argument")];
        entries.iter().for_each(|entry| pipeline.require(entry).expect("it derives"));
        Case { text, pipeline, entries }
    }

    /// Sums in any order: the reverse sweep is updated in place then. The width of lanes would be the machine's.
    fn jit(&self, make: Make) -> Jit {
        let options = Options { opt_level: 0, lanes: Lanes::Off, ..Options::default() };
        let info = SourceInfo::new("case.ks", &self.text);
        make(self.pipeline.program(), &self.entries, &info, &options).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The argument of the function, and those of the reverse derivative: the cotangent of an array is its value.
fn arguments(jit: &Jit, n: i64) -> [Vec<Value>; 2] {
    let point = jit.call(&FunName::base("argument"), &[Value::Integer(n)]).expect("there is an argument");
    let parts = if let Value::Tuple(parts) = &point { parts.to_vec() } else { vec![point.clone()] };
    let cotangent = match jit.call(&FunName::base("f"), &parts) {
        Ok(Value::Float(_)) | Err(_) => Value::Float(1.0),
        Ok(value) => value,
    };
    [parts, vec![point, cotangent]]
}

/// The bytes that the function and its reverse derivative load and store.
fn bytes(name: &str, checkpoint: Checkpoint) -> [[u64; 2]; 2] {
    let case = Case::new(name, checkpoint);
    let (jit, plain) = (case.jit(Jit::counting), case.jit(Jit::new));
    SIZES.map(|n| {
        let [point, pair] = arguments(&plain, n);
        let count = |name: &FunName, args: &[Value]| jit.prepare(name, args).counts().expect("it goes well").bytes();
        [count(&case.entries[0], &point), count(&case.entries[1], &pair)]
    })
}

/// The memory that the reverse derivative takes, as the query tells it and as the call does.
fn peaks(name: &str, checkpoint: Checkpoint) -> [u64; 2] {
    let case = Case::new(name, checkpoint);
    let (jit, plain) = (case.jit(Jit::asking), case.jit(Jit::new));
    SIZES.map(|n| {
        let [_, pair] = arguments(&plain, n);
        let told = jit.workspace(&case.entries[1], &pair).expect("it has a slice");
        jit.call(&case.entries[1], &pair).expect("it goes well");
        assert_eq!(told, Ok(jit.peak()), "{name}, n = {n}");
        jit.peak()
    })
}

/// What a program loads and stores, and what its reverse derivative does and takes of memory, for both sizes.
struct Row {
    name: &'static str,
    checkpoint: Checkpoint,
    value: [u64; 2],
    reverse: [u64; 2],
    memory: [u64; 2],
}

const fn row(name: &'static str, checkpoint: Checkpoint, numbers: [[u64; 2]; 3]) -> Row {
    let [value, reverse, memory] = numbers;
    Row { name, checkpoint, value, reverse, memory }
}

const ROWS: [Row; 24] = [
    row("sine", Checkpoint::None, [[528, 2064], [9728, 71680], [592, 2192]]),
    row("sine", Checkpoint::Sqrt, [[528, 2064], [12800, 88064], [576, 2128]]),
    row("square", Checkpoint::None, [[4624, 34832], [26192, 202896], [672, 2336]]),
    row("square", Checkpoint::Sqrt, [[4624, 34832], [31824, 251896], [656, 4304]]),
    row("mirrored", Checkpoint::None, [[13888, 104576], [54472, 429448], [5280, 37152]]),
    row("mirrored", Checkpoint::Sqrt, [[13888, 104576], [63264, 519720], [3728, 18656]]),
    row("right_looking", Checkpoint::None, [[6656, 37344], [20672, 106368], [2256, 8592]]),
    row("right_looking", Checkpoint::Auto, [[6656, 37344], [20688, 106384], [2272, 8608]]),
    row("right_looking", Checkpoint::Sqrt, [[6656, 37344], [28984, 155336], [3152, 13664]]),
    row("by_conditions", Checkpoint::None, [[6720, 37472], [21280, 110656], [2256, 8592]]),
    row("by_conditions", Checkpoint::Auto, [[6720, 37472], [22416, 120592], [2272, 8608]]),
    row("eliminated", Checkpoint::None, [[4736, 35072], [14832, 101840], [2128, 8336]]),
    row("eliminated", Checkpoint::Sqrt, [[4736, 35072], [22888, 155840], [3008, 13392]]),
    row("one_side", Checkpoint::None, [[6464, 36480], [19872, 104768], [1744, 6544]]),
    row("one_side", Checkpoint::Sqrt, [[6464, 36480], [28904, 159280], [2960, 13152]]),
    row("left_looking", Checkpoint::None, [[4032, 21376], [18432, 99328], [2288, 8624]]),
    row("left_looking", Checkpoint::Auto, [[4032, 21376], [19472, 103440], [2816, 10688]]),
    row("left_looking", Checkpoint::Sqrt, [[4032, 21376], [25328, 142056], [3936, 17136]]),
    row("reduced", Checkpoint::Auto, [[7648, 52672], [23024, 146896], [2208, 8480]]),
    row("reduced", Checkpoint::Sqrt, [[7648, 52672], [34336, 224968], [3088, 13536]]),
    row("factor", Checkpoint::Auto, [[2432, 15104], [15056, 86416], [2656, 10400]]),
    row("factor", Checkpoint::Sqrt, [[2432, 15104], [20360, 122376], [3776, 16848]]),
    row("two_elements", Checkpoint::None, [[512, 1024], [1800, 3592], [416, 800]]),
    row("two_elements", Checkpoint::Sqrt, [[512, 1024], [2664, 6112], [480, 960]]),
];

#[test]
fn steps_load_and_store_so_much() {
    with_large_stack(|| {
        let found = ROWS.map(|row| {
            let [small, large] = bytes(row.name, row.checkpoint);
            let numbers = [[small[0], large[0]], [small[1], large[1]], peaks(row.name, row.checkpoint)];
            (row.name, row.checkpoint, numbers)
        });
        let expected = ROWS.map(|row| (row.name, row.checkpoint, [row.value, row.reverse, row.memory]));
        assert_eq!(found, expected);
    });
}

#[test]
fn the_derivative_is_the_same_however_few_states_it_keeps() {
    with_large_stack(|| {
        let names = ROWS.map(|row| row.name).into_iter().collect::<BTreeSet<_>>();
        for name in names {
            let derivative = |checkpoint| {
                let case = Case::new(name, checkpoint);
                let jit = case.jit(Jit::new);
                let [_, pair] = arguments(&jit, 11);
                jit.call(&case.entries[1], &pair).expect("it goes well")
            };
            let all = derivative(Checkpoint::None);
            for checkpoint in [Checkpoint::Sqrt, Checkpoint::States(2)] {
                let distance = distance(&derivative(checkpoint), &all);
                assert!(distance <= 1e-12, "{name}, {checkpoint:?}: {distance}");
            }
        }
    });
}

/// Each step of these programs (`tests/cases/few_elements`) changes a few elements of a state, in a way of its own. `work`
/// is what the function does more of for four times the size, at most.
const FEW_ELEMENTS: [(&str, u64); 32] = [
    ("cleared", 4),
    ("columns", 16),
    ("edit_distance", 16),
    ("either", 4),
    ("filtered", 4),
    ("filters", 4),
    ("first_row", 4),
    ("gauss_seidel", 4),
    ("gibbs", 4),
    ("graph", 4),
    ("guarded", 4),
    ("histogram", 4),
    ("kalman", 4),
    ("momentum", 4),
    ("moved", 4),
    ("orbit", 4),
    ("pairs", 4),
    ("points", 4),
    ("prefix_sums", 4),
    ("queue", 4),
    ("relaxed", 4),
    ("rows_eliminated", 4),
    ("rows_factor", 64),
    ("rows_walked", 4),
    ("running_sums", 4),
    ("servers", 4),
    ("smoothed", 4),
    ("sorted", 4),
    ("squares", 4),
    ("string", 4),
    ("thomas", 4),
    ("two_vectors", 4),
];

#[test]
fn derivatives_change_few_elements_where_steps_do() {
    with_large_stack(|| {
        for (name, work) in FEW_ELEMENTS {
            for (checkpoint, derivative) in [
                (Checkpoint::Auto, Derivative::Rev),
                (Checkpoint::None, Derivative::Rev),
                (Checkpoint::Auto, Derivative::Vjp),
                (Checkpoint::Auto, Derivative::Fwd),
            ] {
                let is_forward = derivative == Derivative::Fwd;
                let case = Case::of_file(&format!("few_elements/{name}"), checkpoint, derivative.clone());
                let (jit, plain) = (case.jit(Jit::counting), case.jit(Jit::new));
                let calls = |n: i64| {
                    let [point, pair] = arguments(&plain, n);
                    let pair = if is_forward { along(&point) } else { pair };
                    [(&case.entries[0], point), (&case.entries[1], pair)]
                };
                let bytes = |n: i64| {
                    calls(n).map(|(name, args)| jit.prepare(name, &args).counts().expect("it goes well").bytes())
                };
                let (small, large) = (bytes(16), bytes(64));
                let place = format!("{name}, {checkpoint}, {derivative:?}: {small:?}, {large:?}");
                assert!(large[0] <= (work + 1) * small[0], "the function: {place}");
                assert!(large[1] <= (work + 1) * small[1] && large[1] <= 16 * large[0], "its derivative: {place}");
                for n in [0, 1, 2, 9] {
                    let [_, (name, args)] = calls(n);
                    let wanted = Interpreter::new(case.pipeline.program()).call(name, &args);
                    match (plain.call(name, &args), wanted) {
                        (Ok(found), Ok(wanted)) => {
                            let apart = distance(&found, &wanted);
                            assert!(apart <= 1e-12, "{place}, n = {n}: {apart}");
                        }
                        (found, wanted) => assert!(n < 2 && found.is_err() && wanted.is_err(), "{place}, n = {n}"),
                    }
                }
            }
        }
    });
}

/// The arguments of a forward derivative at a point.
fn along(point: &[Value]) -> Vec<Value> {
    let whole = if let [one] = point { one.clone() } else { Value::Tuple(point.to_vec()) };
    let tangent = Random::new(7).direction(&whole);
    vec![whole, tangent]
}

/// Above the budget, states are kept between segments, and a log within each of them.
#[test]
fn the_derivative_is_the_same_above_the_budget() {
    with_large_stack(|| {
        for (name, n) in [("servers", 6_000), ("graph", 6_000), ("rows_walked", 6_000), ("rows_eliminated", 6_000)] {
            let [all, few] = [Checkpoint::None, Checkpoint::Auto].map(|checkpoint| {
                let case = Case::of_file(&format!("few_elements/{name}"), checkpoint, Derivative::Rev);
                let jit = case.jit(Jit::asking);
                let [_, pair] = arguments(&jit, n);
                let value = jit.call(&case.entries[1], &pair).expect("it goes well");
                (value, jit.peak())
            });
            assert!(distance(&all.0, &few.0) <= 1e-12, "{name}");
            assert!(few.1 < 64 << 20, "{name}: {} bytes", few.1);
        }
    });
}
