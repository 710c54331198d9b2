//! Calls `llvm_sys` for what the safe interface of inkwell lacks. No other file does.
//!
//! * aliases of functions (`LLVMAddAlias2`), and which functions an instruction names;
//! * addresses of array elements, which inkwell has, but unsafe, and vectors of them, which it has not;
//! * nodes of metadata that refer to themselves, as those of loops do;
//! * options that LLVM has for all code of a process (`LLVMParseCommandLineOptions`);
//! * loading of shared libraries (`LLVMLoadLibraryPermanently`);
//! * ORC's LLJIT over an object in memory. Objects, and not IR, because LLJIT compiles IR with a
//!   target machine of its own, for a plain x86-64.

use inkwell::builder::Builder;
use inkwell::context::AsContextRef;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core::{
    LLVMAddAlias2, LLVMAliasGetAliasee, LLVMBuildGEP2, LLVMConstInt, LLVMGetFirstGlobalAlias, LLVMGetMDKindIDInContext,
    LLVMGetNextGlobalAlias, LLVMGetNumOperands, LLVMGetOperand, LLVMGetValueName2, LLVMGlobalGetValueType,
    LLVMInt1TypeInContext, LLVMInt32TypeInContext, LLVMIsAFunction, LLVMMDNodeInContext2, LLVMMDStringInContext2,
    LLVMMetadataAsValue, LLVMSetLinkage, LLVMSetMetadata, LLVMValueAsMetadata,
};
use inkwell::llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetGlobalPrefix,
    LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess, LLVMOrcJITDylibAddGenerator};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::support::{
    LLVMLoadLibraryPermanently, LLVMParseCommandLineOptions, LLVMSearchForAddressOfSymbol,
};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::types::BasicType;
use inkwell::values::{
    AsValueRef, BasicValueEnum, FunctionValue, InstructionValue, IntValue, PointerValue, VectorValue,
};
use std::ffi::{CStr, CString};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Once;

/// Gives a function of the module a second name.
pub(crate) fn add_alias(module: &Module, function: FunctionValue, name: &str) {
    let name = CString::new(name).expect("names of the language hold no NUL");
    let module = module.as_mut_ptr();
    // SAFETY: the module and the function are alive, and the function is the module's; with opaque
    // pointers the value type of an alias is only that of what it stands for.
    unsafe {
        let ty = LLVMGlobalGetValueType(function.as_value_ref());
        LLVMAddAlias2(module, ty, 0, function.as_value_ref(), name.as_ptr());
    }
}

/// Makes the aliases of some functions internal, so that they are dropped. `goes` gets the function's own name.
pub(crate) fn drop_aliases(module: &Module, goes: impl Fn(&str) -> bool) {
    // SAFETY: the module is alive, and so are its aliases; what one stands for is a function, as `add_alias` made it.
    unsafe {
        let mut alias = LLVMGetFirstGlobalAlias(module.as_mut_ptr());
        while !alias.is_null() {
            let mut length = 0;
            let name = LLVMGetValueName2(LLVMAliasGetAliasee(alias), &mut length);
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
            if goes(&String::from_utf8_lossy(name)) {
                LLVMSetLinkage(alias, LLVMLinkage::LLVMInternalLinkage);
            }
            alias = LLVMGetNextGlobalAlias(alias);
        }
    }
}

/// Returns the functions that an instruction names, one that it calls among them.
pub(crate) fn functions_in<'ctx>(instruction: InstructionValue<'ctx>) -> Vec<FunctionValue<'ctx>> {
    let instruction = instruction.as_value_ref();
    // SAFETY: the instruction is alive, and has so many operands; what is cast to a function is one, or null, for which
    // there is no value.
    unsafe {
        let operands = (0..LLVMGetNumOperands(instruction) as u32).map(|i| LLVMGetOperand(instruction, i));
        operands.filter_map(|operand| FunctionValue::new(LLVMIsAFunction(operand))).collect()
    }
}

/// Returns the address of an array's element.
pub(crate) fn element<'ctx>(
    builder: &Builder<'ctx>,
    ty: impl BasicType<'ctx>,
    base: PointerValue<'ctx>,
    index: IntValue<'ctx>,
) -> PointerValue<'ctx> {
    // SAFETY: only instructions are built; an index was checked, or counts what is there.
    let address = unsafe { builder.build_in_bounds_gep(ty, base, &[index], "") };
    address.expect("the builder stands in a block")
}

/// As [`element`], of an array or of what lies anywhere near it.
pub(crate) fn any_element<'ctx>(
    builder: &Builder<'ctx>,
    ty: impl BasicType<'ctx>,
    base: PointerValue<'ctx>,
    index: IntValue<'ctx>,
) -> PointerValue<'ctx> {
    // SAFETY: only instructions are built, and the address is not said to be in bounds.
    let address = unsafe { builder.build_gep(ty, base, &[index], "") };
    address.expect("the builder stands in a block")
}

/// Returns the addresses of elements, one for each lane; one of base and index is a vector at least.
pub(crate) fn elements<'ctx>(
    builder: &Builder<'ctx>,
    ty: impl BasicType<'ctx>,
    base: BasicValueEnum<'ctx>,
    index: BasicValueEnum<'ctx>,
) -> VectorValue<'ctx> {
    let mut indices = [index.as_value_ref()];
    let (builder, ty) = (builder.as_mut_ptr(), ty.as_type_ref());
    // SAFETY: the values are alive and of the builder's context; an address of a vector or an index of one makes a
    // vector of addresses.
    unsafe { VectorValue::new(LLVMBuildGEP2(builder, ty, base.as_value_ref(), indices.as_mut_ptr(), 1, c"".as_ptr())) }
}

/// A hint for LLVM about a loop.
#[derive(Clone, Copy)]
pub(crate) enum Hint {
    /// The loop is not unrolled.
    Rolled,
    /// The loop is not unrolled, unless it is known how often it runs.
    RolledIfUnknown,
    /// The loop is not vectorised.
    Scalar,
    /// So many vectors side by side, if it is made vectors of.
    Abreast(u32),
}

/// Tells something of the loop that a branch ends.
pub(crate) fn end_loop(context: &Context, branch: InstructionValue, hints: &[Hint]) {
    let context = context.as_ctx_ref();
    // SAFETY: the context is alive, the branch is the context's, and names have as many bytes as is said. A loop is
    // known by a node whose first operand is itself: it stands for a node that it replaces, which frees that one.
    unsafe {
        let node = |name: &CStr, value: Option<LLVMValueRef>| {
            let text = LLVMMDStringInContext2(context, name.as_ptr(), name.to_bytes().len());
            let mut operands: Vec<_> =
                [text].into_iter().chain(value.map(|value| LLVMValueAsMetadata(value))).collect();
            LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len())
        };
        let itself = LLVMTemporaryMDNode(context, null_mut(), 0);
        let hints = hints.iter().map(|hint| match hint {
            Hint::Rolled => node(c"llvm.loop.unroll.disable", None),
            Hint::RolledIfUnknown => node(c"llvm.loop.unroll.runtime.disable", None),
            Hint::Scalar => {
                let no = LLVMConstInt(LLVMInt1TypeInContext(context), 0, 0);
                node(c"llvm.loop.vectorize.enable", Some(no))
            }
            Hint::Abreast(count) => {
                let count = LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(*count), 0);
                node(c"llvm.loop.interleave.count", Some(count))
            }
        });
        let mut operands: Vec<_> = [itself].into_iter().chain(hints).collect();
        let all = LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len());
        LLVMMetadataReplaceAllUsesWith(itself, all);
        let name = c"llvm.loop";
        let kind = LLVMGetMDKindIDInContext(context, name.as_ptr(), name.to_bytes().len() as u32);
        LLVMSetMetadata(branch.as_value_ref(), kind, LLVMMetadataAsValue(context, all));
    }
}

/// Sets what is the same for all that LLVM does in this process.
///
/// The remainder of a loop over several vectors is made into shorter vectors, too. LLVM does so by itself only for
/// vectors of 16 elements, which vectors of Floats never have.
///
/// The addresses in loops stay as they are written (no loop strength reduction): what is invariant in them is outside of
/// the loop already, and processors add the rest for nothing. With it, compiling took a quarter longer, and stencils
/// took up to half as long again (`laplace_cube`), since each neighbour had a pointer of its own.
///
/// No pass looks for values that would better be in mask registers: it finds none, and took a fifth of the time of code.
pub(crate) fn set_options() {
    static DONE: Once = Once::new();
    let options =
        [c"lmc", c"-epilogue-vectorization-minimum-VF=4", c"-disable-lsr", c"-disable-x86-domain-reassignment"]
            .map(CStr::as_ptr);
    // SAFETY: the options are as many as is said, NUL-terminated, and LLVM copies them.
    DONE.call_once(|| unsafe { LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), null_mut()) });
}

/// Makes the symbols of a shared library symbols of the running process, for good. Whether that went well.
pub(crate) fn load_library(path: &Path) -> bool {
    // A name without a slash would be searched for in the system's folders.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name is NUL-terminated. The library's initialisers run: its user asked for them.
    unsafe { LLVMLoadLibraryPermanently(path.as_ptr()) == 0 }
}

/// Returns whether the running process has a symbol.
pub(crate) fn is_loaded(symbol: &str) -> bool {
    let symbol = CString::new(symbol).expect("names of the language hold no NUL");
    // SAFETY: the name is NUL-terminated.
    unsafe { !LLVMSearchForAddressOfSymbol(symbol.as_ptr()).is_null() }
}

/// Code in memory, ready to be called.
#[derive(Debug)]
pub(crate) struct Linked(LLVMOrcLLJITRef);

impl Linked {
    /// Links an object with the symbols of the running process.
    ///
    /// Errors: LLVM's, as text.
    pub(crate) fn new(object: &[u8]) -> Result<Linked, String> {
        let mut jit = null_mut();
        // SAFETY: a null builder asks for the defaults; `jit` is set when there is no error.
        checked(unsafe { LLVMOrcCreateLLJIT(&mut jit, null_mut()) })?;
        let linked = Linked(jit);
        let buffer = ManuallyDrop::new(MemoryBuffer::create_from_memory_range_copy(object, "lmc"));
        // SAFETY: `jit` is alive; it takes the generator and the buffer over, whence `ManuallyDrop`.
        unsafe {
            let library = LLVMOrcLLJITGetMainJITDylib(jit);
            let mut generator = null_mut();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(jit);
            checked(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&mut generator, prefix, None, null_mut()))?;
            LLVMOrcJITDylibAddGenerator(library, generator);
            checked(LLVMOrcLLJITAddObjectFile(jit, library, buffer.as_mut_ptr()))?;
        }
        Ok(linked)
    }

    /// Returns the address of a symbol, valid as long as `self`.
    ///
    /// Errors: LLVM's, as text: there is no such symbol, or the code needs one that is nowhere.
    pub(crate) fn address(&self, symbol: &str) -> Result<usize, String> {
        let symbol = CString::new(symbol).expect("names of the language hold no NUL");
        let mut address = 0;
        // SAFETY: the JIT is alive and the name is NUL-terminated.
        checked(unsafe { LLVMOrcLLJITLookup(self.0, &mut address, symbol.as_ptr()) })?;
        Ok(address as usize)
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        // SAFETY: the JIT is alive and nobody uses it any more. An error here could not be acted on.
        let _ = checked(unsafe { LLVMOrcDisposeLLJIT(self.0) });
    }
}

fn checked(error: LLVMErrorRef) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is alive; reading its message consumes it, and the message is ours to free.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(text)
    }
}
