//! Checks once, before the loops over the rows of a parameter, that all rows have one size, that tangents have the sizes
//! of their primals and cotangents those of results, and that a matrix that is the first state of a loop has the sides of
//! the others.
//!
//! ```text
//! for k in 0..n { #m = load x[k]; s }       x: the sizes of n rows, a parameter
//!   =   #r = load x[0]; same = (for k in 0..n: load x[k] is #r);
//!       if likely same { for k in 0..n { s[#m := #r] } } else { call [jagged f](x) }
//!
//! for k in 0..n carrying (s = d_x, #m = #d) { t }     #d: the size of d_x, the tangent of x, which has #0
//!   =   if likely #d is #0 { for k in 0..n carrying (s = d_x, #m = #0) { t } } else { call [jagged f](x, d_x) }
//!
//! for k in 0..n carrying (s = dr, #m = #r) { t; yield s', #0 }      #r: the size of dr, a cotangent of the result
//!   =   if likely #r is #0 { for k in 0..n carrying (s = dr, #m = #0) { t } } else { call [jagged f](x, dr) }
//!
//! for k in 0..n carrying (s = x, #r = #0, #c = #1) { t; yield s', #0, #0 }       #0, #1: the sizes of x
//!   =   if likely #1 is #0 { for k in 0..n carrying (s = x, #r = #0, #c = #0) { t } } else { call [jagged f](x) }
//! ```
//!
//! A vector of vectors may be jagged, and hardly ever is. If all rows have one size, each loop over a row has the same
//! bounds. Then much can be done before the loop over the rows, and rows can run in lanes side by side. The original
//! function becomes a function of its own, which hardly ever runs. The test costs little, since it is made only for
//! functions that load the sizes of all rows anyway. A loop that carries a tangent can be updated in place if each of its
//! states has one size, the first one among them. So can one that carries a matrix, of which a program may look at one
//! side only, or two matrices, of which it looks at the sides of one.

use super::pass::ModuleCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::tables::{Computed, Rows, Size, Start, Tables, vectors_of_rows};
use crate::ir::{Block, Builder, For, FunId, Function, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::term::Version;
use rustc_hash::{FxHashMap, FxHashSet};

/// Longer functions get no second version: statements.
const MOST_STATEMENTS: usize = 2_000;

pub(super) fn run(cx: &mut ModuleCx) {
    let summaries = cx.analyses.summaries(cx.module);
    let module = &mut *cx.module;
    for i in 0..module.functions.len() {
        let function = &module.functions[i];
        if function.c_wrapper || function.cold || function.body.len() > MOST_STATEMENTS {
            continue;
        }
        let aliases = cx.analyses.aliases(FunId(i), function, &summaries);
        let all = unchanged_rows(function, &aliases, &summaries);
        let mut alike = vec![];
        let mut wanted = FxHashSet::default();
        if function.carries_buffers() {
            let known = |[size, other]: &[Local; 2]| Alike { size: Size::Known(*size), other: Size::Known(*other) };
            alike.extend(function.alike.iter().map(known));
            let start = start(function, &all);
            let tables = Tables::of(function, &[], &function.body, &start);
            alike.extend(sizes_of_states(function, &tables));
            alike.extend(sizes_of_tables(function, &tables, &mut wanted));
            alike.iter().flat_map(|Alike { size, other }| [size, other]).for_each(|size| see_rows(size, &mut wanted));
        }
        let is_wanted = |rows: &Rows| wanted.contains(&rows.sizes) || looks_at_all(function, rows);
        let rows: Vec<Rows> = all.into_iter().filter(is_wanted).collect();
        if !rows.is_empty() || !alike.is_empty() {
            let slow = FunId(module.functions.len());
            let function = &mut module.functions[i];
            let name = function.name.version(Version::Jagged);
            let copy = Function { name, cold: true, ..function.clone() };
            two_versions(function, &rows, &alike, slow);
            module.functions.push(copy);
        }
    }
}

/// Returns the parameters that are vectors of vectors, and of which the function changes no size.
fn unchanged_rows(function: &Function, aliases: &Aliases, summaries: &[Summary]) -> Vec<Rows> {
    let is_changed = |b: Local| {
        let mut changed = false;
        function.body.visit(&mut |stmt| changed |= aliases.changes(stmt, b, summaries));
        changed
    };
    let mut rows = vectors_of_rows(function);
    rows.retain(|rows| !is_changed(rows.sizes));
    rows
}

/// Returns what is known at the start: rows have one size, if that is asked.
fn start(function: &Function, all: &[Rows]) -> Start {
    let mut start = Start::of(function);
    for Rows { count, sizes, rows } in all {
        start.loads.insert(*sizes, Size::OfRows(*sizes));
        start.tables.extend(rows.iter().map(|x| (*x, [Size::Known(*count), Size::OfRows(*sizes)])));
    }
    start
}

/// Returns whether the function has a loop of its own over all rows, at least on some condition, in which there is a
/// load of the size of each, however deep.
fn looks_at_all(function: &Function, rows: &Rows) -> bool {
    let is_size = |x: &Local| function.locals[x.0 as usize].is_size;
    let is_whole = |looped: &&For| matches!(looped.from, Operand::Integer(0)) && looped.to.local() == Some(rows.count);
    outermost_loops(&function.body).into_iter().filter(is_whole).any(|looped| {
        let mut loads = false;
        looped.body.visit(&mut |stmt| {
            loads |= matches!(stmt, Stmt::Memory(Memory::Load(x, b, i)) if is_size(x)
                && b.local() == Some(rows.sizes) && i.local() == Some(looped.index));
        });
        loads
    })
}

/// Two sizes that have to be equal so that all states of a loop have one size.
#[derive(Clone)]
struct Alike {
    size: Size,
    other: Size,
}

/// Returns what has to be equal so that all states of a loop have one size: sides of matrices, and sizes of a cotangent
/// with those of what it is the cotangent of.
fn sizes_of_states(function: &Function, tables: &Tables) -> Vec<Alike> {
    let is_of_cotangent = |size: &Size| param(size).is_some_and(|x| function.of_cotangents.contains(&x));
    let is_of_param = |size: &Size| param(size).is_some_and(|x| function.locals[x.0 as usize].is_size);
    let sizes = |x: Local| {
        let is_size = function.locals[x.0 as usize].is_size;
        let mut sizes = tables.sizes(&x.into()).filter(|_| is_size).unwrap_or_default();
        sizes.sort_by_key(order);
        sizes
    };
    let mut found = Vec::new();
    function.body.visit(&mut |stmt| {
        let Stmt::For(looped) = stmt else { return };
        let sizes: Vec<Vec<Size>> = looped.carried.iter().map(|(x, _)| sizes(*x)).collect();
        let is_side = |i: usize| sizes.get(i).is_some_and(|all| !all.is_empty() && all.iter().all(is_of_param));
        for (i, all) in sizes.iter().enumerate() {
            let (cotangents, others): (Vec<&Size>, Vec<&Size>) = all.iter().partition(|size| is_of_cotangent(size));
            let is_matrix = is_side(i) && (is_side(i + 1) || i > 0 && is_side(i - 1));
            let [first, rest @ ..] = &others[..] else { continue };
            if rest.iter().any(|size| !is_of_param(size)) || !is_matrix && cotangents.is_empty() {
                continue;
            }
            let sizes = rest.iter().chain(&cotangents);
            found.extend(sizes.map(|size| Alike { size: (*size).clone(), other: (*first).clone() }));
        }
    });
    found
}

/// Returns what has to be equal so that a table that a loop makes anew is a matrix; notes the parameters whose rows have
/// to have one size.
fn sizes_of_tables(function: &Function, tables: &Tables, wanted: &mut FxHashSet<Local>) -> Vec<Alike> {
    let mut found = Vec::new();
    for (id, class) in tables.classes() {
        let Some(sides) = tables.matrix(id).filter(|_| class.is_made_anew) else { continue };
        let is_asked = |size: &Size| match size {
            Size::OfRows(_) => true,
            size => param(size).is_some_and(|x| function.locals[x.0 as usize].is_size),
        };
        let sides = sides.map(|mut sizes| {
            // A number, or a size that is computed, comes first: the others may have to be that.
            sizes.sort_by_key(|size| (is_asked(size), order(size)));
            sizes
        });
        if sides.iter().any(|sizes| !sizes[1..].iter().all(is_asked)) {
            continue;
        }
        sides.iter().flatten().for_each(|size| see_rows(size, wanted));
        let alike = |sizes: &Vec<Size>| -> Vec<Alike> {
            sizes[1..].iter().map(|size| Alike { size: size.clone(), other: sizes[0].clone() }).collect()
        };
        found.extend(sides.iter().flat_map(alike));
    }
    found
}

/// Notes the buffers of sizes of rows that a size is made of.
fn see_rows(size: &Size, wanted: &mut FxHashSet<Local>) {
    match size {
        Size::OfRows(sizes) => drop(wanted.insert(*sizes)),
        Size::Made(_, args) => args.iter().for_each(|arg| see_rows(arg, wanted)),
        Size::Known(_) | Size::Number(_) => {}
    }
}

/// Returns the parameter that a size is.
fn param(size: &Size) -> Option<Local> {
    if let Size::Known(x) = size { Some(*x) } else { None }
}

/// Parameters come first.
fn order(size: &Size) -> u32 {
    param(size).map_or(u32::MAX, |x| x.0)
}

/// Returns the loops that are in no other loop.
fn outermost_loops(block: &Block) -> Vec<&For> {
    let mut found = Vec::new();
    for stmt in &block.stmts {
        match stmt {
            Stmt::For(looped) => found.push(&**looped),
            stmt => found.extend(stmt.blocks().flat_map(outermost_loops)),
        }
    }
    found
}

fn two_versions(function: &mut Function, rows: &[Rows], alike: &[Alike], slow: FunId) {
    let mut fast = std::mem::take(&mut function.body);
    let mut asker = Asker {
        locals: &mut function.locals,
        stmts: vec![],
        computed: Computed::default(),
        rows: FxHashMap::default(),
    };
    let mut all = Operand::Bool(true);
    let mut sizes = FxHashMap::default();
    let mut row_sizes = Vec::new();
    for Rows { sizes: buffer, count, rows } in rows {
        let first = asker.first(*buffer, *count);
        let same = asker.same(*buffer, *count, &first);
        all = asker.both(all, same);
        row_sizes.extend(rows.iter().map(|x| (*x, first.clone())));
        sizes.insert(*buffer, first);
    }
    let mut known = FxHashMap::default();
    asker.rows = sizes.clone();
    for Alike { size, other } in alike {
        let [size, other] = [size, other].map(|size| asker.compute(size, &known));
        if let Operand::Local(x) = size
            && !size.same(&other)
        {
            let same = asker.op(Op::EqI, [size, other.clone()]);
            all = asker.both(all, same);
            known.insert(x, other);
        }
    }
    let likely = asker.op(Op::Likely, [all]);
    let mut stmts = asker.stmts;
    drop_loads(&mut fast, &sizes, &mut known);
    let replace = &mut |a: &mut Operand| *a = resolved(a, &known);
    fast.change_operands(replace);
    function.extents.iter_mut().flat_map(|(_, sizes)| sizes).for_each(replace);
    function.row_sizes = row_sizes.into_iter().map(|(x, size)| (x, resolved(&size, &known))).collect();
    let mut results = || -> Vec<Local> {
        let types = function.results.iter();
        types.map(|ty| new(&mut function.locals, LocalInfo::unnamed(*ty))).collect()
    };
    let [results, given] = [results(), results()];
    let args = function.params.iter().map(|x| Operand::Local(*x)).collect();
    let call = Stmt::Call(given.clone(), slow, args);
    let slow = Block { stmts: vec![call], results: given.into_iter().map(Operand::Local).collect() };
    stmts.push(Stmt::If(results.clone(), likely, fast, slow));
    function.body = Block { stmts, results: results.into_iter().map(Operand::Local).collect() };
}

/// Returns what an operand is, given what some locals are known to be.
fn resolved(a: &Operand, known: &FxHashMap<Local, Operand>) -> Operand {
    let mut a = a;
    while let Some(other) = a.local().and_then(|x| known.get(&x)) {
        a = other;
    }
    a.clone()
}

/// Drops the loads of sizes that are known, and notes what they are.
fn drop_loads(block: &mut Block, sizes: &FxHashMap<Local, Operand>, known: &mut FxHashMap<Local, Operand>) {
    block.stmts.retain_mut(|stmt| {
        stmt.blocks_mut().for_each(|block| drop_loads(block, sizes, known));
        let Stmt::Memory(Memory::Load(x, b, _)) = stmt else { return true };
        let size = b.local().and_then(|b| sizes.get(&b));
        known.extend(size.map(|size| (*x, size.clone())));
        size.is_none()
    });
}

fn new(locals: &mut Vec<LocalInfo>, info: LocalInfo) -> Local {
    locals.push(info);
    Local(u32::try_from(locals.len() - 1).expect("a function has fewer locals"))
}

/// Writes the question.
struct Asker<'a> {
    locals: &'a mut Vec<LocalInfo>,
    stmts: Vec<Stmt>,
    computed: Computed,
    /// The size of the rows, by the buffers of their sizes.
    rows: FxHashMap<Local, Operand>,
}

impl Asker<'_> {
    fn compute(&mut self, size: &Size, known: &FxHashMap<Local, Operand>) -> Operand {
        let Asker { locals, stmts, computed, rows } = self;
        let given = |size: &Size| match size {
            Size::Known(x) => resolved(&Operand::Local(*x), known),
            Size::OfRows(sizes) => resolved(&rows[sizes], known),
            size => panic!("{size:?} is computed"),
        };
        let mut builder = Builder { locals };
        computed.operand(size, &given, &mut |op, args| builder.op(op, args, stmts))
    }

    fn local(&mut self, scalar: Scalar, is_size: bool) -> Local {
        new(self.locals, LocalInfo { is_size, ..LocalInfo::unnamed(scalar.ty()) })
    }

    fn op(&mut self, op: Op, args: impl Into<Vec<Operand>>) -> Operand {
        let x = self.local(op.result(), false);
        self.stmts.push(Stmt::Let(x, op, args.into()));
        Operand::Local(x)
    }

    fn both(&mut self, a: Operand, b: Operand) -> Operand {
        if matches!(a, Operand::Bool(true)) { b } else { self.op(Op::And, [a, b]) }
    }

    /// The first element; 0 of none.
    fn first(&mut self, buffer: Local, count: Local) -> Operand {
        let some = self.op(Op::LtI, [Operand::Integer(0), Operand::Local(count)]);
        let [x, first] = [(); 2].map(|()| self.local(Scalar::Integer, true));
        let load = Stmt::Memory(Memory::Load(x, Operand::Local(buffer), Operand::Integer(0)));
        let then = Block { stmts: vec![load], results: vec![Operand::Local(x)] };
        let other = Block { stmts: vec![], results: vec![Operand::Integer(0)] };
        self.stmts.push(Stmt::If(vec![first], some, then, other));
        Operand::Local(first)
    }

    /// Returns whether all elements are the same.
    fn same(&mut self, buffer: Local, count: Local, first: &Operand) -> Operand {
        let [i, x] = [false, true].map(|is_size| self.local(Scalar::Integer, is_size));
        let [so_far, equal, next, same] = [(); 4].map(|()| self.local(Scalar::Bool, false));
        let stmts = vec![
            Stmt::Memory(Memory::Load(x, Operand::Local(buffer), Operand::Local(i))),
            Stmt::Let(equal, Op::EqI, vec![Operand::Local(x), first.clone()]),
            Stmt::Let(next, Op::And, vec![Operand::Local(so_far), Operand::Local(equal)]),
        ];
        self.stmts.push(Stmt::For(Box::new(For {
            results: vec![same],
            index: i,
            from: Operand::Integer(0),
            to: Operand::Local(count),
            carried: vec![(so_far, Operand::Bool(true))],
            body: Block { stmts, results: vec![Operand::Local(next)] },
            lanes: 1,
            jam: 1,
            on_threads: false,
        })));
        Operand::Local(same)
    }
}
