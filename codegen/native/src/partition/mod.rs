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
//! The parts are filled with the longest functions first, each into the part that has least so far. Parts differ
//! in the effort that their functions are worth ([`Effort`]).

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
use rustc_hash::{FxHashMap, FxHashSet};

/// How many instructions are worth a part, and the most parts. LLVM takes some 0.6 s for so many instructions. A tenth
/// of that is overhead: reading the module, of which each part reads all, and compiling copies.
const WORTH: usize = 5_000;
const MOST: usize = 24;

/// How much time of LLVM a function is worth, least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    /// A slice: it is not optimised, and its code is generated at level 0.
    Least,
    /// What stands between C and the rest: it goes through a few passes, and its code is generated at level 0. It passes
    /// on pointers and copies rows, which functions of C do.
    Between,
    /// What is not likely to run: it goes through a few passes.
    Little,
    /// Anything else.
    #[default]
    Full,
}

/// The efforts, and how many times as long their parts are, for as much time.
const EFFORTS: [(Effort, usize); 4] =
    [(Effort::Full, 1), (Effort::Little, 2), (Effort::Between, 4), (Effort::Least, 4)];

/// The attribute of functions between C and the rest.
pub(crate) const BETWEEN: &str = "lmc.between";

/// Instructions up to which a function is copied. LLVM inlines what is about as short.
const SHORT: usize = 40;

/// A part of a module: the names of the functions that it has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ModulePart {
    /// The functions that the part defines.
    defined: FxHashSet<String>,
    /// The defined functions that other parts call.
    shared: FxHashSet<String>,
    /// The functions of which the part has a copy.
    copied: FxHashSet<String>,
    /// How many instructions it has of its own.
    length: usize,
    /// What its functions are worth.
    effort: Effort,
}

/// A function, as far as the division looks at it.
struct Node {
    name: String,
    length: usize,
    /// Whether only this module can call the function.
    internal: bool,
    /// Whether it may be inlined.
    inlines: bool,
    /// What it is worth.
    effort: Effort,
    /// The functions that it names, each as often as it does, and whether that is a call that may be inlined.
    uses: Vec<(usize, bool)>,
}

/// Returns the parts of a module; one where it is short.
pub(crate) fn divided(module: &Module) -> Vec<ModulePart> {
    divided_by(module, WORTH)
}

/// The same, if so many instructions are worth a part.
fn divided_by(module: &Module, worth: usize) -> Vec<ModulePart> {
    let nodes = nodes(module);
    let groups = groups(&nodes);
    let length = |groups: &[Vec<usize>]| groups.iter().flatten().map(|i| nodes[*i].length).sum::<usize>();
    if length(&groups) < 2 * worth {
        return filled(&nodes, &[Share { groups, count: 1, effort: Effort::Full }]);
    }
    // What LLVM would inline is worth what it is inlined into.
    let effort_of = |group: &Vec<usize>| group.iter().map(|i| nodes[*i].effort).max();
    let shares = EFFORTS.map(|(effort, times)| {
        let groups: Vec<Vec<usize>> = groups.iter().filter(|group| effort_of(group) == Some(effort)).cloned().collect();
        let count = (length(&groups) / (times * worth)).clamp(1, MOST);
        Share { groups, count, effort }
    });
    filled(&nodes, &shares)
}

fn nodes(module: &Module) -> Vec<Node> {
    let functions: Vec<FunctionValue> =
        module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect();
    let numbers: FxHashMap<FunctionValue, usize> = functions.iter().enumerate().map(|(i, f)| (*f, i)).collect();
    functions.iter().map(|function| node(*function, &numbers)).collect()
}

fn node(function: FunctionValue, numbers: &FxHashMap<FunctionValue, usize>) -> Node {
    let noinline = Attribute::get_named_enum_kind_id("noinline");
    let mut node = Node {
        name: name_of(function),
        length: 0,
        internal: function.get_linkage() == Linkage::Internal,
        inlines: function.get_enum_attribute(AttributeLoc::Function, noinline).is_none(),
        effort: effort_of(function),
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

fn effort_of(function: FunctionValue) -> Effort {
    let has = |name| {
        let kind = Attribute::get_named_enum_kind_id(name);
        function.get_enum_attribute(AttributeLoc::Function, kind).is_some()
    };
    match () {
        () if has("optnone") => Effort::Least,
        () if function.get_string_attribute(AttributeLoc::Function, BETWEEN).is_some() => Effort::Between,
        () if has("minsize") => Effort::Little,
        () => Effort::Full,
    }
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

/// Groups of functions that are worth the same, and how many parts they get.
struct Share {
    groups: Vec<Vec<usize>>,
    count: usize,
    effort: Effort,
}

/// Returns the parts, with the groups in them.
fn filled(nodes: &[Node], shares: &[Share]) -> Vec<ModulePart> {
    let length = |group: &[usize]| group.iter().map(|i| nodes[*i].length).sum::<usize>();
    let is_copied = |group: &[usize]| group.iter().all(|i| is_short(&nodes[*i]));
    let (mut parts, mut members): (Vec<ModulePart>, Vec<Vec<usize>>) = (vec![], vec![]);
    for Share { groups, count, effort } in shares {
        let first = parts.len();
        parts.extend((0..*count).map(|_| ModulePart { effort: *effort, ..ModulePart::default() }));
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
    /// Returns what its functions are worth.
    pub(crate) fn effort(&self) -> Effort {
        self.effort
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
