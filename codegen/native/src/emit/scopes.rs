//! What LLVM is told about memory: in a loop, what is written through one buffer is not seen through others that do not
//! share memory with it (`loops::analyses::alias::Aliases`).
//!
//! The loops are those that leave the arena alone, with all loops in them: all buffers that they touch are in use
//! throughout. Beyond a loop nothing is said, since memory that is released may soon be another buffer's.

use super::frame::{Frame, Scopes};
use super::{Emitter, built};
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum, InstructionValue, MetadataValue};
use loops::ir::{Block, Local, Memory, Operand, Stmt};
use std::collections::BTreeSet;

impl<'ctx> Emitter<'ctx, '_> {
    /// Declares the scopes of a loop that is about to begin, when there is something to tell.
    pub(super) fn open_scopes(&mut self, frame: &Frame<'ctx, '_>, body: &Block) -> Option<Scopes<'ctx>> {
        let aliases = frame.aliases().filter(|_| leaves_arena(body))?;
        let (read, mut written) = buffers(body);
        let touched: BTreeSet<Local> = read.union(&written).copied().collect();
        written.retain(|x| touched.iter().any(|y| !aliases.may_share(*x, *y)));
        if written.is_empty() {
            return None;
        }
        Some(Scopes { written: written.into_iter().map(|x| (x, self.declare_scope())).collect() })
    }

    fn declare_scope(&mut self) -> MetadataValue<'ctx> {
        self.scopes += 1;
        let context = self.context;
        let domain = context.metadata_node(&[context.metadata_string("lmc").into()]);
        let name = context.metadata_string(&format!("lmc.{}", self.scopes));
        let scope = context.metadata_node(&[name.into(), domain.into()]);
        let intrinsic = Intrinsic::find("llvm.experimental.noalias.scope.decl").expect("LLVM has the intrinsic");
        let declare = intrinsic.get_declaration(&self.module, &[]).expect("it has one type");
        let list: BasicMetadataValueEnum = context.metadata_node(&[scope.into()]).into();
        built(self.builder.build_call(declare, &[list], ""));
        scope
    }

    /// Says of a load or a store of a buffer what it cannot touch.
    pub(super) fn place_in_scope(&self, frame: &Frame<'ctx, '_>, buffer: &Operand, access: InstructionValue<'ctx>) {
        let (Some(scopes), Some(aliases), Some(buffer)) = (frame.scopes(), frame.aliases(), buffer.local()) else {
            return;
        };
        let list = |is_chosen: &dyn Fn(Local) -> bool| -> Vec<BasicMetadataValueEnum> {
            let chosen = scopes.written.iter().filter(|(x, _)| is_chosen(**x));
            chosen.map(|(_, scope)| (*scope).into()).collect()
        };
        let [own, others] = [list(&|x| x == buffer), list(&|x| !aliases.may_share(x, buffer))];
        for (kind, scopes) in [("alias.scope", own), ("noalias", others)] {
            if !scopes.is_empty() {
                let node = self.context.metadata_node(&scopes);
                let set = access.set_metadata(node, self.context.get_kind_id(kind));
                set.expect("a list of scopes is a node");
            }
        }
    }

    /// The same of a value that was just loaded.
    pub(super) fn place_load(&self, frame: &Frame<'ctx, '_>, buffer: &Operand, value: BasicValueEnum<'ctx>) {
        let instruction = value.as_instruction_value().expect("a load is an instruction");
        self.place_in_scope(frame, buffer, instruction);
    }
}

/// Returns whether nothing in a block takes from the arena, gives back, or calls.
fn leaves_arena(block: &Block) -> bool {
    let mut leaves = true;
    block.visit(&mut |stmt| {
        leaves &= match stmt {
            Stmt::Memory(memory) => match memory {
                Memory::Load(..)
                | Memory::Store(..)
                | Memory::Add(..)
                | Memory::Zero(..)
                | Memory::Move { .. }
                | Memory::View(..)
                | Memory::Stack(..)
                | Memory::Cast(..) => true,
                Memory::Alloc { .. }
                | Memory::Mark(_)
                | Memory::Release(_)
                | Memory::Above(..)
                | Memory::Before(..)
                | Memory::Slide(..)
                | Memory::Slid { .. } => false,
            },
            Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } => false,
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Check { .. } | Stmt::Write(_) => true,
        }
    });
    leaves
}

/// Returns the buffers whose elements are read and written one by one.
fn buffers(block: &Block) -> (BTreeSet<Local>, BTreeSet<Local>) {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    block.visit(&mut |stmt| match stmt {
        Stmt::Memory(Memory::Load(_, b, _)) => read.extend(b.local()),
        Stmt::Memory(Memory::Store(b, ..) | Memory::Add(b, ..)) => written.extend(b.local()),
        _ => {}
    });
    (read, written)
}
