//! Prints loops, as `--emit loops` shows them. A local is `%7`, or `#7` if it is a size, after the name of its
//! variable.

use super::{Argument, Block, For, Function, Local, Memory, Module, Operand, Returned, Scalar, Stmt, Ty};
use std::fmt::{self, Display, Formatter};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.functions.iter().enumerate().try_for_each(|(i, function)| {
            let gap = if i == 0 { "" } else { "\n" };
            write!(f, "{gap}")?;
            Printer { module: self, function }.print_function(f)
        })
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scalar::Float => "float",
            Scalar::Integer => "integer",
            Scalar::Bool => "bool",
            Scalar::Text => "text",
            Scalar::Mark => "mark",
        })
    }
}

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.element() {
            Some(element) => write!(f, "[{element}]"),
            None => write!(f, "{}", self.base()),
        }
    }
}

/// Returns the first line of a statement.
pub(crate) fn statement(module: &Module, function: &Function, stmt: &Stmt) -> String {
    struct Shown<'a>(Printer<'a>, &'a Stmt);
    impl Display for Shown<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            self.0.print_stmt(f, self.1, 0)
        }
    }
    let text = Shown(Printer { module, function }, stmt).to_string();
    text.lines().next().unwrap_or_default().to_string()
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
}

impl Printer<'_> {
    fn print_function(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let param = |x: &Local| format!("{}: {}", self.local_text(*x), self.function.ty(&Operand::Local(*x)));
        let params: Vec<String> = self.function.params.iter().map(param).collect();
        let results: Vec<String> = self.function.results.iter().map(Ty::to_string).collect();
        let recursive = if self.function.recursive { "recursive " } else { "" };
        let Function { name, .. } = self.function;
        writeln!(f, "{recursive}fun {name}({}) -> ({}) {{", params.join(", "), results.join(", "))?;
        self.print_block(f, &self.function.body, 1)?;
        writeln!(f, "}}")
    }

    fn print_block(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        block.stmts.iter().try_for_each(|stmt| self.print_stmt(f, stmt, depth))?;
        let results = self.operands_text(&block.results);
        let space = if results.is_empty() { "" } else { " " };
        writeln!(f, "{}yield{space}{results}", "  ".repeat(depth))
    }

    fn print_stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        match stmt {
            Stmt::Let(x, op, args) => {
                writeln!(f, "{indent}{} = {} {}", self.local_text(*x), op.name(), self.operands_text(args))
            }
            Stmt::Call(xs, callee, args) => {
                let name = &self.module.functions[callee.0].name;
                writeln!(f, "{indent}{}call {name}({})", self.targets_text(xs), self.operands_text(args))
            }
            Stmt::If(xs, condition, then, other) => {
                writeln!(f, "{indent}{}if {} {{", self.targets_text(xs), self.operand_text(condition))?;
                self.print_block(f, then, depth + 1)?;
                writeln!(f, "{indent}}} else {{")?;
                self.print_block(f, other, depth + 1)?;
                writeln!(f, "{indent}}}")
            }
            Stmt::For(looped) => self.print_loop(f, looped, depth),
            Stmt::Bench { seconds, given, body } => {
                let given: Vec<String> =
                    given.iter().map(|(x, a)| format!("{} = {}", self.local_text(*x), self.operand_text(a))).collect();
                writeln!(f, "{indent}{} = bench with ({}) {{", self.local_text(*seconds), given.join(", "))?;
                self.print_block(f, body, depth + 1)?;
                writeln!(f, "{indent}}}")
            }
            Stmt::Check { condition, failure, numbers, .. } => {
                let condition = self.operand_text(condition);
                writeln!(f, "{indent}check {condition} else {failure:?}({})", self.operands_text(numbers))
            }
            Stmt::External { results, symbol, args, .. } => {
                let arg = |arg: &Argument| match arg {
                    Argument::Scalar(a) => self.operand_text(a),
                    Argument::Tensor(data, sizes) => {
                        format!("{}[{}]", self.operand_text(data), self.operands_text(sizes))
                    }
                };
                let args: Vec<String> = args.iter().map(arg).collect();
                let results: Vec<Local> = results.iter().flat_map(Returned::locals).collect();
                writeln!(f, "{indent}{}external {symbol}({})", self.targets_text(&results), args.join(", "))
            }
            Stmt::Write(value) => writeln!(f, "{indent}write {}", self.operand_text(value)),
            Stmt::Memory(memory) => writeln!(f, "{indent}{}", self.memory_text(memory)),
        }
    }

    fn print_loop(&self, f: &mut Formatter<'_>, looped: &For, depth: usize) -> fmt::Result {
        let For { results, index, from, to, carried, body, lanes, jam, on_threads } = looped;
        let indent = "  ".repeat(depth);
        let range = format!("{} in {}..{}", self.local_text(*index), self.operand_text(from), self.operand_text(to));
        let carried: Vec<String> =
            carried.iter().map(|(x, init)| format!("{} = {}", self.local_text(*x), self.operand_text(init))).collect();
        let carrying = if carried.is_empty() { String::new() } else { format!(" carrying ({})", carried.join(", ")) };
        let lanes = if *lanes == 1 { String::new() } else { format!(" lanes {lanes}") };
        let jam = if *jam == 1 { String::new() } else { format!(" jam {jam}") };
        let threads = if *on_threads { " on threads" } else { "" };
        writeln!(f, "{indent}{}for {range}{lanes}{jam}{threads}{carrying} {{", self.targets_text(results))?;
        self.print_block(f, body, depth + 1)?;
        writeln!(f, "{indent}}}")
    }

    fn memory_text(&self, memory: &Memory) -> String {
        let x = |x: &Local| self.local_text(*x);
        let a = |a: &Operand| self.operand_text(a);
        match memory {
            Memory::Alloc { buffer, count, .. } => {
                let ty = self.function.ty(&Operand::Local(*buffer));
                format!("{} = alloc {ty} {}", x(buffer), a(count))
            }
            Memory::Stack(buffer, count) => {
                let ty = self.function.ty(&Operand::Local(*buffer));
                format!("{} = stack {ty} {}", x(buffer), a(count))
            }
            Memory::Zero(b, n) => format!("zero {}[0..{}]", a(b), a(n)),
            Memory::Load(target, b, i) => format!("{} = load {}[{}]", x(target), a(b), a(i)),
            Memory::View(target, b, i) => format!("{} = {}[{}..]", x(target), a(b), a(i)),
            Memory::Cast(target, b) => {
                format!("{} = {} as {}", x(target), a(b), self.function.ty(&Operand::Local(*target)))
            }
            Memory::Store(b, i, value) => format!("store {}[{}] = {}", a(b), a(i), a(value)),
            Memory::Add(b, i, value) => format!("add {}[{}] += {}", a(b), a(i), a(value)),
            Memory::Move { to, from, count } => format!("move {}[0..{n}] <- {}[0..{n}]", a(to), a(from), n = a(count)),
            Memory::Mark(m) => format!("{} = mark", x(m)),
            Memory::Release(m) => format!("release {}", a(m)),
            Memory::Above(target, b, m) => format!("{} = {} above {}", x(target), a(b), a(m)),
            Memory::Before(target, b, c) => format!("{} = {} before {}", x(target), a(b), a(c)),
            Memory::Slide(d, piece, m) => format!("{} = slide {} to {}", x(d), a(piece), a(m)),
            Memory::Slid { target, buffer, piece, distance } => {
                format!("{} = {} after slide {} by {}", x(target), a(buffer), a(piece), a(distance))
            }
        }
    }

    fn targets_text(&self, xs: &[Local]) -> String {
        let names: Vec<String> = xs.iter().map(|x| self.local_text(*x)).collect();
        if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) }
    }

    fn operands_text(&self, operands: &[Operand]) -> String {
        operands.iter().map(|a| self.operand_text(a)).collect::<Vec<_>>().join(", ")
    }

    fn operand_text(&self, operand: &Operand) -> String {
        match operand {
            Operand::Local(x) => self.local_text(*x),
            Operand::Float(x) => format!("{x:?}"),
            Operand::Integer(i) => i.to_string(),
            Operand::Bool(b) => b.to_string(),
            Operand::Text(s) => format!("{s:?}"),
        }
    }

    fn local_text(&self, Local(i): Local) -> String {
        let info = &self.function.locals[i as usize];
        let sign = if info.is_size { '#' } else { '%' };
        format!("{}{sign}{i}", info.name.as_deref().unwrap_or_default())
    }
}
