//! The printed form of `--emit loops`.

use super::{Block, Function, Local, Module, Operand, Scalar, Stmt};
use std::fmt::{self, Display, Formatter};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.functions.iter().enumerate().try_for_each(|(i, function)| {
            let gap = if i == 0 { "" } else { "\n" };
            write!(f, "{gap}")?;
            Printer { module: self, function }.function(f)
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
        })
    }
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
}

impl Printer<'_> {
    fn function(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let param = |x: &Local| format!("{}: {}", self.local(*x), self.function.ty(&Operand::Local(*x)));
        let params: Vec<String> = self.function.params.iter().map(param).collect();
        let results: Vec<String> = self.function.results.iter().map(Scalar::to_string).collect();
        let recursive = if self.function.recursive { "recursive " } else { "" };
        let Function { name, .. } = self.function;
        writeln!(f, "{recursive}fun {name}({}) -> ({}) {{", params.join(", "), results.join(", "))?;
        self.block(f, &self.function.body, 1)?;
        writeln!(f, "}}")
    }

    fn block(&self, f: &mut Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        block.stmts.iter().try_for_each(|stmt| self.stmt(f, stmt, depth))?;
        writeln!(f, "{}yield {}", "  ".repeat(depth), self.operands(&block.results))
    }

    fn stmt(&self, f: &mut Formatter<'_>, stmt: &Stmt, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        match stmt {
            Stmt::Let(x, op, args) => {
                writeln!(f, "{indent}{} = {} {}", self.local(*x), op.name(), self.operands(args))
            }
            Stmt::Call(xs, callee, args) => {
                let name = &self.module.functions[callee.0].name;
                writeln!(f, "{indent}{}call {name}({})", self.targets(xs), self.operands(args))
            }
            Stmt::If(xs, condition, then, other) => {
                writeln!(f, "{indent}{}if {} {{", self.targets(xs), self.operand(condition))?;
                self.block(f, then, depth + 1)?;
                writeln!(f, "{indent}}} else {{")?;
                self.block(f, other, depth + 1)?;
                writeln!(f, "{indent}}}")
            }
            Stmt::Check { condition, failure, numbers, .. } => {
                let condition = self.operand(condition);
                writeln!(f, "{indent}check {condition} else {failure:?}({})", self.operands(numbers))
            }
            Stmt::Write(value) => writeln!(f, "{indent}write {}", self.operand(value)),
        }
    }

    fn targets(&self, xs: &[Local]) -> String {
        let names: Vec<String> = xs.iter().map(|x| self.local(*x)).collect();
        if names.is_empty() { String::new() } else { format!("{} = ", names.join(", ")) }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        operands.iter().map(|a| self.operand(a)).collect::<Vec<_>>().join(", ")
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Local(x) => self.local(*x),
            Operand::Float(x) => format!("{x:?}"),
            Operand::Integer(i) => i.to_string(),
            Operand::Bool(b) => b.to_string(),
            Operand::Text(s) => format!("{s:?}"),
        }
    }

    fn local(&self, Local(i): Local) -> String {
        match &self.function.locals[i as usize].name {
            Some(name) => format!("{name}%{i}"),
            None => format!("%{i}"),
        }
    }
}
