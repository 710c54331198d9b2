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
use crate::ir::{Block, For, FunId, Function, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::term::Version;
use rustc_hash::{FxHashMap, FxHashSet};

/// Longer functions get no second version: statements.
const MOST_STATEMENTS: usize = 2_000;

/// A size may be made of so many numbers and operations.
const MOST_OPERATIONS: usize = 16;

pub(super) fn run(cx: &mut ModuleCx) {
    let summaries = cx.analyses.summaries(cx.module);
    let module = &mut *cx.module;
    for i in 0..module.functions.len() {
        let function = &module.functions[i];
        if function.c_wrapper || function.cold || function.body.len() > MOST_STATEMENTS {
            continue;
        }
        let rows = rows(function, &cx.analyses.aliases(FunId(i), function, &summaries), &summaries);
        let mut alike = vec![];
        if function.carries_buffers() {
            let tangents = function.alike.iter().map(|[size, other]| Alike { size: *size, other: Size::Param(*other) });
            alike.extend(tangents.chain(sizes_of_states(function)));
        }
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

/// The sizes of the rows of a parameter, and how many there are.
struct Rows {
    sizes: Local,
    count: Local,
    /// The rows.
    rows: Vec<Local>,
}

/// Returns the parameters for which it is worth to ask whether their rows are of one size.
fn rows(function: &Function, aliases: &Aliases, summaries: &[Summary]) -> Vec<Rows> {
    let is_changed = |b: Local| {
        let mut changed = false;
        function.body.visit(&mut |stmt| changed |= aliases.changes(stmt, b, summaries));
        changed
    };
    let mut rows = vectors_of_rows(function);
    rows.retain(|rows| looks_at_all(function, rows) && !is_changed(rows.sizes));
    rows
}

/// Returns the parameters that have the form of vectors with the sizes of rows in them: one size, then buffers.
fn vectors_of_rows(function: &Function) -> Vec<Rows> {
    let info = |x: &Local| &function.locals[x.0 as usize];
    let runs = function.params.chunk_by(|x, y| info(x).ty.as_scalar().is_some() || info(y).ty.as_scalar().is_none());
    let mut found = Vec::new();
    for run in runs {
        let (scalars, buffers) = run.split_at(run.partition_point(|x| info(x).ty.as_scalar().is_some()));
        let sizes: Vec<Local> = scalars.iter().rev().take_while(|x| info(x).is_size).copied().collect();
        // Two sizes may be those of a matrix.
        let [count] = sizes[..] else { continue };
        for (i, b) in buffers.iter().enumerate().filter(|(_, b)| info(b).ty == Scalar::Integer.ty().buffer()) {
            let is_row = |x: &&Local| info(x).ty.element().is_some_and(|ty| ty.as_scalar().is_none());
            // Behind several sizes are rows of several dimensions: one size does not tell how long they are.
            let is_only_size = i == 0 || info(&buffers[i - 1]).ty != info(b).ty;
            let rows = buffers[i + 1..].iter().take_while(is_row).filter(|_| is_only_size).copied().collect();
            found.push(Rows { sizes: *b, count, rows });
        }
    }
    found
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

/// A size among the parameters, and what it has to be so that all states of a loop have one size.
#[derive(Clone)]
struct Alike {
    size: Local,
    other: Size,
}

/// A size that is known when a function is entered.
#[derive(Clone, PartialEq, Eq)]
enum Size {
    Param(Local),
    Number(i64),
    Made(Op, Vec<Size>),
}

impl Size {
    fn param(&self) -> Option<Local> {
        if let Size::Param(x) = self { Some(*x) } else { None }
    }

    fn compute(&self, known: &FxHashMap<Local, Operand>, asker: &mut Asker) -> Operand {
        match self {
            Size::Param(x) => resolved(&Operand::Local(*x), known),
            Size::Number(n) => Operand::Integer(*n),
            Size::Made(op, args) => {
                if let Some((_, done)) = asker.made.iter().find(|(size, _)| size == self) {
                    return done.clone();
                }
                let args: Vec<Operand> = args.iter().map(|arg| arg.compute(known, asker)).collect();
                let value = asker.op(*op, args);
                asker.made.push((self.clone(), value.clone()));
                value
            }
        }
    }
}

/// Returns what has to be equal so that all states of a loop have one size: sides of matrices, and sizes of a cotangent
/// with those of what it is the cotangent of.
fn sizes_of_states(function: &Function) -> Vec<Alike> {
    let sources = Sources::of(function);
    let is_of_cotangent = |size: &Size| size.param().is_some_and(|x| function.of_cotangents.contains(&x));
    let is_of_param = |size: &Size| size.param().is_some_and(|x| function.locals[x.0 as usize].is_size);
    let mut found = Vec::new();
    function.body.visit(&mut |stmt| {
        let Stmt::For(looped) = stmt else { return };
        let sizes: Vec<Vec<Size>> = looped.carried.iter().map(|(x, _)| sources.sizes(*x)).collect();
        let is_side = |i: usize| sizes.get(i).is_some_and(|all| !all.is_empty() && all.iter().all(is_of_param));
        for (i, all) in sizes.iter().enumerate() {
            let (cotangents, others): (Vec<&Size>, Vec<&Size>) = all.iter().partition(|size| is_of_cotangent(size));
            let is_matrix = is_side(i) && (is_side(i + 1) || i > 0 && is_side(i - 1));
            let [first, rest @ ..] = &others[..] else { continue };
            if rest.iter().any(|size| !is_of_param(size)) || !is_matrix && cotangents.is_empty() {
                continue;
            }
            let sizes = rest.iter().chain(&cotangents).filter_map(|size| size.param());
            found.extend(sizes.map(|size| Alike { size, other: (*first).clone() }));
        }
    });
    found
}

/// What a local may be, by what it is made of.
struct Sources<'a> {
    function: &'a Function,
    /// What loops and conditionals make of others.
    made: FxHashMap<Local, Vec<&'a Operand>>,
    /// What operations make of others.
    computed: FxHashMap<Local, (Op, &'a [Operand])>,
    /// The buffers that some are loaded from, and what is stored in buffers.
    loaded: FxHashMap<Local, Local>,
    stored: FxHashMap<Local, Vec<&'a Operand>>,
}

impl<'a> Sources<'a> {
    fn of(function: &'a Function) -> Sources<'a> {
        let (made, computed, loaded, stored) = Default::default();
        let mut sources = Sources { function, made, computed, loaded, stored };
        sources.see(&function.body);
        sources
    }

    fn see(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Let(x, op, args) => drop(self.computed.insert(*x, (*op, args))),
                Stmt::For(looped) => {
                    for (i, (x, init)) in looped.carried.iter().enumerate() {
                        let sources = vec![init, &looped.body.results[i]];
                        self.made.insert(looped.results[i], sources.clone());
                        self.made.insert(*x, sources);
                    }
                }
                Stmt::If(xs, _, then, other) => {
                    let results = then.results.iter().zip(&other.results);
                    self.made.extend(xs.iter().zip(results).map(|(x, (a, b))| (*x, vec![a, b])));
                }
                Stmt::Memory(Memory::Load(x, b, _)) => self.loaded.extend(b.local().map(|b| (*x, b))),
                Stmt::Memory(Memory::Store(b, _, a)) => {
                    b.local().iter().for_each(|b| self.stored.entry(*b).or_default().push(a));
                }
                _ => {}
            }
            stmt.blocks().for_each(|block| self.see(block));
        }
    }

    /// Returns what a size that a loop carries may be, parameters first; nothing if it may be anything that is not known.
    fn sizes(&self, x: Local) -> Vec<Size> {
        if !self.function.locals[x.0 as usize].is_size {
            return vec![];
        }
        let (mut found, mut seen, mut waiting) = (Vec::new(), FxHashSet::default(), vec![Operand::Local(x)]);
        while let Some(a) = waiting.pop() {
            let sources = a.local().and_then(|x| {
                let stored = || self.loaded.get(&x).and_then(|b| self.stored.get(b));
                self.made.get(&x).or_else(stored)
            });
            match (a.local(), sources) {
                (Some(x), Some(sources)) => {
                    if seen.insert(x) {
                        waiting.extend(sources.iter().map(|a| (*a).clone()));
                    }
                }
                _ => match self.size(&a, &mut MOST_OPERATIONS.clone()) {
                    Some(size) if found.contains(&size) => {}
                    Some(size) => found.push(size),
                    None => return vec![],
                },
            }
        }
        found.sort_by_key(|size| size.param().map_or(u32::MAX, |x| x.0));
        found
    }

    /// Returns what a number is made of, if that is known when the function is entered.
    fn size(&self, a: &Operand, left: &mut usize) -> Option<Size> {
        *left = left.checked_sub(1)?;
        let x = match a {
            Operand::Integer(n) => return Some(Size::Number(*n)),
            a => a.local()?,
        };
        if self.function.params.contains(&x) {
            return (self.function.locals[x.0 as usize].ty == Scalar::Integer.ty()).then_some(Size::Param(x));
        }
        let (op @ (Op::AddI | Op::SubI | Op::MulI | Op::NegI), args) = self.computed.get(&x)? else { return None };
        let args = args.iter().map(|arg| self.size(arg, left)).collect::<Option<Vec<Size>>>()?;
        Some(Size::Made(*op, args))
    }
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
    let mut asker = Asker { locals: &mut function.locals, stmts: vec![], made: vec![] };
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
    for Alike { size, other } in alike {
        let size = resolved(&Operand::Local(*size), &known);
        let other = other.compute(&known, &mut asker);
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
    function.row_sizes = row_sizes;
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
    /// Sizes that are computed already, each one once: it is known by one name.
    made: Vec<(Size, Operand)>,
}

impl Asker<'_> {
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
