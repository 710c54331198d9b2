//! Reads the printed form back, for tests of passes. A local has the type of the statement that sets it. Calls of
//! external functions and `$BENCH` are not read; errors have no place.

use super::{
    ALL_FAILURES, ALL_OPS, Block, For, FunId, Function, Local, LocalInfo, Memory, Module, Op, Operand, Scalar, Stmt,
    Ty, Vectors,
};
use lm::term::{FunName, Span};

/// Returns the module of a text. Panics where it is none.
pub fn parse(text: &str) -> Module {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';')).collect();
    let headers: Vec<&str> = lines.iter().filter_map(|line| line.strip_suffix(" {")).filter(|h| is_header(h)).collect();
    let names = headers.iter().map(|header| parts(header).0).collect();
    let results = headers.iter().map(|header| list(parts(header).2).map(ty).collect()).collect();
    let mut reader = Reader { lines: lines.into_iter(), names, results, locals: vec![] };
    let functions = headers.iter().enumerate().map(|(i, header)| reader.read_function(i, header)).collect();
    let vectors = Vectors { floats: 4, lanes: None };
    let mut module = Module { functions, exported: vec![FunId(0)], vectors, ..Module::default() };
    module.mark();
    module
}

fn is_header(line: &str) -> bool {
    line.starts_with("fun ") || line.starts_with("recursive fun ")
}

/// Name, parameters and results of a header.
fn parts(header: &str) -> (&str, &str, &str) {
    let header = header.strip_prefix("recursive ").unwrap_or(header).strip_prefix("fun ").expect("a header");
    let (left, results) = header.strip_suffix(')').and_then(|h| h.rsplit_once(") -> (")).expect("a header");
    let (name, params) = left.rsplit_once('(').expect("a header");
    (name, params, results)
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(", ").filter(|part| !part.is_empty())
}

fn ty(text: &str) -> Ty {
    if let Some(element) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return ty(element).buffer();
    }
    let scalars = [Scalar::Float, Scalar::Integer, Scalar::Bool, Scalar::Text, Scalar::Mark];
    scalars.into_iter().find(|scalar| scalar.to_string() == text).unwrap_or_else(|| panic!("no type: {text}")).ty()
}

struct Reader<'a> {
    lines: std::vec::IntoIter<&'a str>,
    /// The names of the functions, and the types of their results.
    names: Vec<&'a str>,
    results: Vec<Vec<Ty>>,
    /// The locals of the function at hand.
    locals: Vec<LocalInfo>,
}

impl Reader<'_> {
    fn read_function(&mut self, i: usize, header: &str) -> Function {
        self.lines.next();
        let (name, params, _) = parts(header);
        let params = list(params).map(|param| self.read_param(param)).collect();
        let body = self.read_block();
        assert_eq!(self.lines.next(), Some("}"), "a function ends");
        let locals = std::mem::take(&mut self.locals);
        let function = Function::new(FunName::base(name), params, locals, body, Span::default());
        Function { results: self.results[i].clone(), ..function }
    }

    fn read_param(&mut self, text: &str) -> Local {
        let (x, name) = text.split_once(": ").expect("a parameter has a type");
        self.set(x, ty(name))
    }

    fn read_block(&mut self) -> Block {
        let mut stmts = Vec::new();
        loop {
            let line = self.lines.next().expect("a block ends");
            if let Some(results) = line.strip_prefix("yield") {
                return Block { stmts, results: self.read_operands(results.trim()) };
            }
            stmts.push(self.read_stmt(line));
        }
    }

    fn read_stmt(&mut self, line: &str) -> Stmt {
        let (targets, right) = line.split_once(" = ").unwrap_or(("", line));
        let is_target = |x: &str| x.rsplit_once(['%', '#']).is_some_and(|(_, i)| i.parse::<u32>().is_ok());
        if !targets.is_empty() && !list(targets).all(is_target) {
            return self.read_effect(line);
        }
        let words: Vec<&str> = right.split(' ').collect();
        match words[0] {
            "for" => self.read_loop(targets, right),
            "if" => {
                let condition = self.read_operand(words[1]);
                let then = self.read_block();
                assert_eq!(self.lines.next(), Some("} else {"));
                let other = self.read_block();
                assert_eq!(self.lines.next(), Some("}"));
                let types: Vec<Ty> = then.results.iter().map(|a| a.ty(&self.locals)).collect();
                Stmt::If(self.set_all(targets, &types), condition, then, other)
            }
            "call" => {
                let (name, args) =
                    right["call ".len()..].strip_suffix(')').expect("a call").rsplit_once('(').expect("a call");
                let callee = self.names.iter().position(|known| *known == name).expect("a function of the module");
                let args = self.read_operands(args);
                let types = self.results[callee].clone();
                Stmt::Call(self.set_all(targets, &types), FunId(callee), args)
            }
            _ if targets.is_empty() => self.read_effect(line),
            word => match ALL_OPS.iter().find(|op| op.name() == word) {
                Some(op) => self.read_operation(targets, *op, &right[word.len() + 1..]),
                None => Stmt::Memory(self.read_memory(targets, right, &words)),
            },
        }
    }

    fn read_operation(&mut self, target: &str, op: Op, args: &str) -> Stmt {
        let args = self.read_operands(args);
        Stmt::Let(self.set(target, op.result().ty()), op, args)
    }

    fn read_loop(&mut self, targets: &str, text: &str) -> Stmt {
        let text = text["for ".len()..].strip_suffix(" {").expect("a loop begins");
        let (range, carried) = text.strip_suffix(')').and_then(|t| t.split_once(" carrying (")).unwrap_or((text, ""));
        let (index, range) = range.split_once(" in ").expect("a loop has a range");
        let (range, on_threads) = range.strip_suffix(" on threads").map_or((range, false), |range| (range, true));
        let (range, jam) = range.split_once(" jam ").unwrap_or((range, "1"));
        let (range, lanes) = range.split_once(" lanes ").unwrap_or((range, "1"));
        let [lanes, jam] = [lanes, jam].map(|n| n.parse().expect("iterations are counted"));
        let (from, to) = range.split_once("..").expect("a range has two ends");
        let [from, to] = [from, to].map(|a| self.read_operand(a));
        let carried: Vec<(&str, Operand)> = list(carried)
            .map(|pair| pair.split_once(" = ").expect("what is carried starts with something"))
            .map(|(x, init)| (x, self.read_operand(init)))
            .collect();
        let types: Vec<Ty> = carried.iter().map(|(_, init)| init.ty(&self.locals)).collect();
        let index = self.set(index, Scalar::Integer.ty());
        let carried = carried.into_iter().zip(&types).map(|((x, init), ty)| (self.set(x, *ty), init)).collect();
        let body = self.read_block();
        assert_eq!(self.lines.next(), Some("}"));
        let results = self.set_all(targets, &types);
        Stmt::For(Box::new(For { results, index, from, to, carried, body, lanes, jam, on_threads }))
    }

    /// A statement that sets nothing.
    fn read_effect(&mut self, line: &str) -> Stmt {
        let (word, rest) = line.split_once(' ').expect("a statement");
        match word {
            "check" => {
                let (condition, rest) = rest.split_once(" else ").expect("a check has a failure");
                let (failure, numbers) = rest.strip_suffix(')').and_then(|r| r.split_once('(')).expect("a failure");
                let failure = ALL_FAILURES.iter().find(|known| format!("{known:?}") == failure);
                let (condition, numbers) = (self.read_operand(condition), self.read_operands(numbers));
                Stmt::Check { condition, failure: *failure.expect("a failure"), numbers, span: Span::default() }
            }
            "write" => Stmt::Write(self.read_operand(rest)),
            "release" => Stmt::Memory(Memory::Release(self.read_operand(rest))),
            "zero" => {
                let (b, n) = range(rest);
                Stmt::Memory(Memory::Zero(self.read_operand(b), self.read_operand(n)))
            }
            "move" => {
                let (to, from) = rest.split_once(" <- ").expect("a move goes somewhere");
                let ((to, count), (from, _)) = (range(to), range(from));
                let [to, from, count] = [to, from, count].map(|a| self.read_operand(a));
                Stmt::Memory(Memory::Move { to, from, count })
            }
            "store" | "add" => {
                let (cell, a) = rest.split_once(if word == "add" { " += " } else { " = " }).expect("a value");
                let ((b, i), a) = (self.read_cell(cell), self.read_operand(a));
                Stmt::Memory(if word == "add" { Memory::Add(b, i, a) } else { Memory::Store(b, i, a) })
            }
            other => panic!("no statement: {other}"),
        }
    }

    fn read_memory(&mut self, target: &str, text: &str, words: &[&str]) -> Memory {
        let [boolean, mark] = [Scalar::Bool, Scalar::Mark].map(Scalar::ty);
        match words {
            ["alloc", element, count] => {
                let count = self.read_operand(count);
                Memory::Alloc { buffer: self.set(target, ty(element)), count, span: Span::default() }
            }
            ["stack", element, count] => {
                let count = self.read_operand(count);
                Memory::Stack(self.set(target, ty(element)), count)
            }
            ["mark"] => Memory::Mark(self.set(target, mark)),
            ["load", ..] => {
                let (b, i) = self.read_cell(&text["load ".len()..]);
                let element = b.ty(&self.locals).element().expect("a buffer");
                Memory::Load(self.set(target, element), b, i)
            }
            [b, "above", m] => {
                let [b, m] = [b, m].map(|a| self.read_operand(a));
                Memory::Above(self.set(target, boolean), b, m)
            }
            [b, "before", c] => {
                let [b, c] = [b, c].map(|a| self.read_operand(a));
                Memory::Before(self.set(target, boolean), b, c)
            }
            [b, "as", element] => {
                let b = self.read_operand(b);
                Memory::Cast(self.set(target, ty(element)), b)
            }
            ["slide", piece, "to", m] => {
                let [piece, m] = [piece, m].map(|a| self.read_operand(a));
                Memory::Slide(self.set(target, Scalar::Integer.ty()), piece, m)
            }
            [b, "after", "slide", piece, "by", distance] => {
                let [buffer, piece, distance] = [b, piece, distance].map(|a| self.read_operand(a));
                let target = self.set(target, buffer.ty(&self.locals));
                Memory::Slid { target, buffer, piece, distance }
            }
            _ => {
                let (b, i) = text.strip_suffix("..]").and_then(|t| t.split_once('[')).expect("a statement on memory");
                let [b, i] = [b, i].map(|a| self.read_operand(a));
                Memory::View(self.set(target, b.ty(&self.locals)), b, i)
            }
        }
    }

    fn read_cell(&self, text: &str) -> (Operand, Operand) {
        let (b, i) = text.strip_suffix(']').and_then(|text| text.split_once('[')).expect("an element");
        (self.read_operand(b), self.read_operand(i))
    }

    fn set_all(&mut self, targets: &str, types: &[Ty]) -> Vec<Local> {
        list(targets).zip(types).map(|(x, ty)| self.set(x, *ty)).collect()
    }

    fn set(&mut self, x: &str, ty: Ty) -> Local {
        let (name, i) = x.rsplit_once(['%', '#']).expect("a local");
        let i: u32 = i.parse().expect("a local has a number");
        let none = || LocalInfo::unnamed(Scalar::Bool.ty());
        self.locals.resize_with(self.locals.len().max(i as usize + 1), none);
        let name = (!name.is_empty()).then(|| name.into());
        self.locals[i as usize] = LocalInfo { name, is_size: x.contains('#'), ..LocalInfo::unnamed(ty) };
        Local(i)
    }

    fn read_operands(&self, text: &str) -> Vec<Operand> {
        list(text).map(|a| self.read_operand(a)).collect()
    }

    fn read_operand(&self, text: &str) -> Operand {
        if let Some(i) = text.rsplit_once(['%', '#']).and_then(|(_, i)| i.parse().ok()) {
            return Operand::Local(Local(i));
        }
        if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return Operand::Text(text.into());
        }
        let number = || text.parse().map(Operand::Integer).or_else(|_| text.parse().map(Operand::Float));
        text.parse().map(Operand::Bool).ok().or_else(|| number().ok()).unwrap_or_else(|| panic!("no operand: {text}"))
    }
}

/// `b[0..n]`.
fn range(text: &str) -> (&str, &str) {
    text.strip_suffix(']').and_then(|text| text.split_once("[0..")).expect("a range of elements")
}
