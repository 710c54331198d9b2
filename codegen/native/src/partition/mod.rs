//! Divides long modules into parts, which LLVM compiles in parallel.
//!
//! LLVM uses one core for a module, so a long module is divided. Each part has its own context, and optimises and
//! generates the code of its functions. Then the objects are joined (`elf`). How it is divided depends on the code
//! alone, not on how many cores there are; so does the result.
//!
//! ```text
//! stays together   a function that is called once, with its caller, if LLVM would inline it; functions that call
//!                  each other
//! is copied        a short function, to each part that uses it: it is inlined, or as well known as before
//! is shared        any other: one part defines it, the others declare it, and it is hidden from other modules
//! ```
//!
//! The parts are filled with the longest functions first, each into the part that has least so far. What is not to be
//! optimised, slices, has parts of its own. These skip LLVM's passes, and registers are allocated at level 0.

use crate::llvm;
use indexmap::IndexMap;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage, Module};
use inkwell::values::{CallSiteValue, FunctionValue, GlobalValue, InstructionOpcode};
use inkwell::{GlobalVisibility, context::Context};
use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use petgraph::unionfind::UnionFind;
use std::collections::{HashMap, HashSet};

/// How many instructions are worth a part, and the most parts. LLVM takes some 0.6 s for so many instructions. A tenth
/// of that is overhead: reading the module, of which each part reads all, and compiling copies.
const WORTH: usize = 5_000;
const MOST: usize = 24;

/// The same of instructions that are not optimised.
const WORTH_PLAIN: usize = 20_000;

/// Instructions up to which a function is copied. LLVM inlines what is about as short.
const SHORT: usize = 40;

/// A part of a module: the names of the functions that it has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ModulePart {
    /// The functions that the part defines.
    defined: HashSet<String>,
    /// The defined functions that other parts call.
    shared: HashSet<String>,
    /// The functions of which the part has a copy.
    copied: HashSet<String>,
    /// How many instructions it has of its own.
    length: usize,
    /// Whether its functions are not optimised.
    plain: bool,
}

/// A function, as far as the division looks at it.
struct Node {
    name: String,
    length: usize,
    /// Whether only this module can call the function.
    internal: bool,
    /// Whether it may be inlined.
    inlines: bool,
    /// Whether it is not to be optimised.
    plain: bool,
    /// The functions that it names, each as often as it does, and whether that is a call that may be inlined.
    uses: Vec<(usize, bool)>,
}

/// Returns the parts of a module; one where it is short.
pub(crate) fn divided(module: &Module) -> Vec<ModulePart> {
    let nodes = nodes(module);
    let groups = groups(&nodes);
    let is_plain = |group: &Vec<usize>| group.iter().any(|i| nodes[*i].plain);
    let (plain, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_plain);
    let length = |groups: &[Vec<usize>]| groups.iter().flatten().map(|i| nodes[*i].length).sum::<usize>();
    let total = length(&plain) + length(&others);
    if total < 2 * WORTH {
        let all: Vec<Vec<usize>> = plain.into_iter().chain(others).collect();
        return filled(&nodes, &[(&all, 1, false)]);
    }
    let count = |groups: &[Vec<usize>], worth: usize| (length(groups) / worth).clamp(1, MOST);
    let [few, many] = [count(&plain, WORTH_PLAIN), count(&others, WORTH)];
    filled(&nodes, &[(&others, many, false), (&plain, few, true)])
}

fn nodes(module: &Module) -> Vec<Node> {
    let functions: Vec<FunctionValue> =
        module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect();
    let numbers: HashMap<FunctionValue, usize> = functions.iter().enumerate().map(|(i, f)| (*f, i)).collect();
    functions.iter().map(|function| node(*function, &numbers)).collect()
}

fn node(function: FunctionValue, numbers: &HashMap<FunctionValue, usize>) -> Node {
    let [noinline, optnone] = ["noinline", "optnone"].map(Attribute::get_named_enum_kind_id);
    let mut node = Node {
        name: name_of(function),
        length: 0,
        internal: function.get_linkage() == Linkage::Internal,
        inlines: function.get_enum_attribute(AttributeLoc::Function, noinline).is_none(),
        plain: function.get_enum_attribute(AttributeLoc::Function, optnone).is_some(),
        uses: vec![],
    };
    for instruction in function.get_basic_block_iter().flat_map(|block| block.get_instructions()) {
        node.length += 1;
        let call =
            CallSiteValue::try_from(instruction).ok().filter(|_| instruction.get_opcode() == InstructionOpcode::Call);
        let callee = call.and_then(CallSiteValue::get_called_fn_value);
        let inlines = call.is_some_and(|call| call.get_enum_attribute(AttributeLoc::Function, noinline).is_none());
        for used in llvm::functions_in(instruction) {
            if let Some(number) = numbers.get(&used) {
                node.uses.push((*number, inlines && callee == Some(used)));
            }
        }
    }
    node
}

fn name_of(function: FunctionValue) -> String {
    function.get_name().to_string_lossy().into_owned()
}

/// Returns whether parts have copies of a function.
fn is_short(node: &Node) -> bool {
    node.internal && node.inlines && node.length <= SHORT
}

/// Returns the functions that are to stay together, by number, and in order.
fn groups(nodes: &[Node]) -> Vec<Vec<usize>> {
    let mut together = UnionFind::<usize>::new(nodes.len());
    let mut uses = vec![0; nodes.len()];
    nodes.iter().flat_map(|node| &node.uses).for_each(|(used, _)| uses[*used] += 1);
    let mut calls = DiGraph::<(), ()>::new();
    let numbers: Vec<_> = nodes.iter().map(|_| calls.add_node(())).collect();
    for (i, node) in nodes.iter().enumerate() {
        for (used, inlined) in &node.uses {
            calls.add_edge(numbers[i], numbers[*used], ());
            if *inlined && uses[*used] == 1 && nodes[*used].internal && nodes[*used].inlines {
                together.union(i, *used);
            }
        }
    }
    for cycle in tarjan_scc(&calls) {
        for pair in cycle.windows(2) {
            together.union(pair[0].index(), pair[1].index());
        }
    }
    let mut groups: IndexMap<usize, Vec<usize>> = IndexMap::new();
    for i in 0..nodes.len() {
        groups.entry(together.find(i)).or_default().push(i);
    }
    groups.into_values().collect()
}

/// Groups, how many parts they get, and whether these are not optimised.
type Share<'a> = (&'a [Vec<usize>], usize, bool);

/// Returns the parts, with the groups in them.
fn filled(nodes: &[Node], shares: &[Share]) -> Vec<ModulePart> {
    let length = |group: &[usize]| group.iter().map(|i| nodes[*i].length).sum::<usize>();
    let is_copied = |group: &[usize]| group.iter().all(|i| is_short(&nodes[*i]));
    let (mut parts, mut members): (Vec<ModulePart>, Vec<Vec<usize>>) = (vec![], vec![]);
    for (groups, count, plain) in shares {
        let first = parts.len();
        parts.extend((0..*count).map(|_| ModulePart { plain: *plain, ..ModulePart::default() }));
        members.resize(parts.len(), vec![]);
        let mut order: Vec<&Vec<usize>> = groups.iter().filter(|group| !is_copied(group)).collect();
        order.sort_by_key(|group| std::cmp::Reverse(length(group)));
        for group in order {
            let least = (first..parts.len()).min_by_key(|i| parts[*i].length).expect("there is a part");
            parts[least].length += length(group);
            members[least].extend(group);
        }
    }
    let mut home = vec![None; nodes.len()];
    members.iter().enumerate().for_each(|(part, members)| members.iter().for_each(|i| home[*i] = Some(part)));
    for part in 0..parts.len() {
        let mut to_do = members[part].clone();
        while let Some(i) = to_do.pop() {
            for (used, _) in &nodes[i].uses {
                let name = || nodes[*used].name.clone();
                match home[*used] {
                    Some(owner) if owner == part => {}
                    Some(owner) => {
                        parts[owner].shared.insert(name());
                    }
                    None if parts[part].copied.insert(name()) => to_do.push(*used),
                    None => {}
                }
            }
        }
        parts[part].defined = members[part].iter().map(|i| nodes[*i].name.clone()).collect();
    }
    parts.retain(|part| !part.defined.is_empty());
    parts
}

impl ModulePart {
    /// Returns whether its functions are not optimised.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Returns the part of a module, which is written as bitcode, in a context of its own.
    pub(crate) fn load<'ctx>(&self, module: &[u8], context: &'ctx Context) -> Module<'ctx> {
        let bitcode = MemoryBuffer::create_from_memory_range_copy(module, "lmc");
        let module = Module::parse_bitcode_from_buffer(&bitcode, context).expect("LLVM reads what it wrote");
        for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
            let name = name_of(function);
            if self.copied.contains(&name) || self.defined.contains(&name) && !self.shared.contains(&name) {
                continue;
            }
            let internal = function.get_linkage() == Linkage::Internal;
            if self.defined.contains(&name) {
                if internal {
                    publish(function.as_global_value(), Linkage::External);
                }
            } else if internal {
                publish(function.as_global_value(), Linkage::AvailableExternally);
            } else {
                function.set_linkage(Linkage::AvailableExternally);
            }
        }
        llvm::drop_aliases(&module, |aliased| !self.defined.contains(aliased));
        module
    }
}

/// Makes a function visible to the other parts, and hides it from other modules.
fn publish(function: GlobalValue, linkage: Linkage) {
    function.set_linkage(linkage);
    function.set_visibility(GlobalVisibility::Hidden);
}

/// The LLVM passes that first remove what a part does not define.
pub(crate) const TAKE_APART: &str = "globaldce,elim-avail-extern,globaldce";

#[cfg(test)]
mod tests;
