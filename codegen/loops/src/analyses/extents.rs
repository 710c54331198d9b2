//! Finds how many elements buffers have.
//!
//! ```text
//! b = alloc n               n
//! b, a parameter            the product of its sizes
//! b, one of several         what all of them have
//! ```
//!
//! Products of the same numbers are the same, in any order.

use crate::analyses::alias::Aliases;
use crate::analyses::roots::{Root, Roots};
use crate::ir::{Block, Function, Local, Memory, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// What is known of the numbers of elements in a function.
pub struct Extents {
    aliases: Rc<Aliases>,
    /// The numbers of elements of buffers: of those that are allocated here, and of parameters.
    counts: FxHashMap<Local, Vec<Operand>>,
    /// How products are computed.
    products: FxHashMap<Local, Vec<Operand>>,
    /// The locals that a loop sets: another value in each iteration.
    varying: FxHashSet<Local>,
    /// The buffers of which there are parts that look like buffers.
    divided: Roots,
}

impl Extents {
    /// Returns what is known of a function.
    pub fn of(function: &Function, aliases: Rc<Aliases>) -> Extents {
        let mut extents = Extents {
            aliases,
            counts: function.extents.iter().cloned().collect(),
            products: FxHashMap::default(),
            varying: FxHashSet::default(),
            divided: Roots::new(),
        };
        extents.visit(&function.body, false);
        extents
    }

    fn visit(&mut self, block: &Block, is_repeated: bool) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Memory(Memory::Alloc { buffer, count, .. } | Memory::Stack(buffer, count)) => {
                    self.counts.insert(*buffer, vec![count.clone()]);
                }
                Stmt::Memory(Memory::View(_, b, _) | Memory::Cast(_, b)) => {
                    b.local().into_iter().for_each(|b| self.divided.extend(&self.aliases.roots_of(b)));
                }
                Stmt::Let(x, Op::Count, args) => {
                    self.products.insert(*x, args.clone());
                }
                _ => {}
            }
            if is_repeated {
                self.varying.extend(stmt.bound().into_iter().chain(stmt.targets()));
            }
            let is_repeated = is_repeated || matches!(stmt, Stmt::For(_));
            if let Stmt::For(_) = stmt {
                self.varying.extend(stmt.bound());
            }
            stmt.blocks().for_each(|inner| self.visit(inner, is_repeated));
        }
    }

    /// Notes a buffer that a pass made.
    pub fn note(&mut self, buffer: Local, count: &Operand) {
        self.counts.insert(buffer, vec![count.clone()]);
    }

    /// Returns whether a buffer is known to have so many elements, at a place where both are known.
    pub fn has(&self, buffer: Local, count: &Operand) -> bool {
        let wanted = self.factors(std::slice::from_ref(count));
        if let Some(own) = self.counts.get(&buffer) {
            return self.factors(own) == wanted;
        }
        let roots = self.aliases.roots_of(buffer);
        let is_fixed = wanted.iter().all(|a| a.local().is_none_or(|x| !self.varying.contains(&x)));
        let has = |root: Root| match root {
            Root::Made(made) => self.counts.get(&made).is_some_and(|own| self.factors(own) == wanted),
            Root::Inside(_) => false,
        };
        is_fixed && !roots.is_empty() && roots.is_disjoint(&self.divided) && roots.iter().all(has)
    }

    /// Returns the number of rows of a buffer that is allocated in the function or a parameter, in rows of these sizes.
    pub fn rows(&self, buffer: Local, sizes: &[Operand]) -> Option<Operand> {
        let mut factors = self.factors(self.counts.get(&buffer)?);
        for size in self.factors(sizes) {
            let at = factors.iter().position(|factor| factor.same(&size))?;
            factors.remove(at);
        }
        match &factors[..] {
            [] => Some(Operand::Integer(1)),
            [rows] => Some(rows.clone()),
            _ => None,
        }
    }

    /// Returns whether a number is the product of others.
    pub fn is_product(&self, count: &Operand, of: &[Operand]) -> bool {
        self.factors(std::slice::from_ref(count)) == self.factors(of)
    }

    /// Returns the numbers that a product is made of, in order.
    fn factors(&self, of: &[Operand]) -> Vec<Operand> {
        let mut factors = Vec::new();
        let mut waiting = of.to_vec();
        while let Some(a) = waiting.pop() {
            match a.local().and_then(|x| self.products.get(&x)) {
                Some(args) => waiting.extend(args.iter().cloned()),
                None if matches!(a, Operand::Integer(1)) => {}
                None => factors.push(a),
            }
        }
        let key = |a: &Operand| match a {
            Operand::Local(Local(x)) => (0, i64::from(*x)),
            Operand::Integer(i) => (1, *i),
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => panic!("no Integer: {a:?}"),
        };
        factors.sort_by_key(key);
        factors
    }
}
