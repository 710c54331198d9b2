//! Describes the processor that code is for.

use crate::error::Error;
use crate::llvm;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, TargetMachine};

/// A processor and its code generator.
pub(crate) struct Target {
    machine: TargetMachine,
    cpu: String,
    features: String,
    doubles: u32,
}

impl Target {
    /// Returns the given processor, or the one at hand for `None` and `native`.
    ///
    /// Errors: LLVM has no code generator, or does not know the processor.
    pub(crate) fn new(cpu: Option<&str>, level: u8) -> Result<Target, Error> {
        llvm::set_options();
        inkwell::targets::Target::initialize_native(&InitializationConfig::default()).map_err(Error::Llvm)?;
        let (cpu, features, doubles) = match cpu {
            None | Some("native") => host(),
            Some(cpu) => match known(cpu) {
                Some(doubles) => (cpu.to_string(), String::new(), doubles),
                None => return Err(Error::UnknownCpu(cpu.to_string())),
            },
        };
        let triple = TargetMachine::get_default_triple();
        let target = inkwell::targets::Target::from_triple(&triple).map_err(|e| Error::Llvm(e.to_string()))?;
        let machine = target
            .create_target_machine(&triple, &cpu, &features, level_of(level)?, RelocMode::PIC, CodeModel::Default)
            .ok_or_else(|| Error::Llvm(format!("no code generator for {}", triple.as_str().to_string_lossy())))?;
        Ok(Target { machine, cpu, features, doubles })
    }

    pub(crate) fn machine(&self) -> &TargetMachine {
        &self.machine
    }

    pub(crate) fn cpu(&self) -> &str {
        &self.cpu
    }

    pub(crate) fn features(&self) -> &str {
        &self.features
    }

    /// Returns how many Floats a vector of the processor holds: 2, 4 or 8.
    pub(crate) fn doubles(&self) -> u32 {
        self.doubles
    }
}

/// Returns the processor at hand, without the AVX10 features: what they say of vector width, the AVX-512 features say
/// already.
fn host() -> (String, String, u32) {
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    let kept: Vec<&str> =
        features.split(',').filter(|f| !f.trim_start_matches(['+', '-']).starts_with("avx10")).collect();
    (cpu, kept.join(","), doubles_with(&features))
}

fn level_of(level: u8) -> Result<OptimizationLevel, Error> {
    match level {
        0 => Ok(OptimizationLevel::None),
        1 => Ok(OptimizationLevel::Less),
        2 => Ok(OptimizationLevel::Default),
        3 => Ok(OptimizationLevel::Aggressive),
        other => Err(Error::UnknownLevel(other)),
    }
}

/// The 64-bit processors that LLVM 19 knows (`llc -march=x86-64 -mcpu=help`), by the Floats in their vectors. LLVM
/// itself only warns of an unknown one, on standard error, and goes on without it.
const CPUS: [(u32, &str); 3] = [
    (
        8,
        "cannonlake cascadelake cooperlake emeraldrapids graniterapids graniterapids-d icelake-client icelake-server knl knm \
         rocketlake sapphirerapids skx skylake-avx512 tigerlake x86-64-v4 znver4 znver5",
    ),
    (
        4,
        "alderlake arrowlake arrowlake-s bdver4 broadwell clearwaterforest core-avx2 gracemont grandridge haswell lunarlake \
         meteorlake pantherlake raptorlake sierraforest skylake x86-64-v3 znver1 znver2 znver3",
    ),
    (
        2,
        "atom barcelona amdfam10 athlon64 athlon64-sse3 bdver1 bdver2 bdver3 bonnell btver1 btver2 core-avx-i core2 corei7 \
         corei7-avx generic goldmont goldmont-plus ivybridge k8 k8-sse3 nehalem nocona opteron opteron-sse3 penryn \
         sandybridge silvermont slm tremont westmere x86-64 x86-64-v2",
    ),
];

/// Returns how many Floats a processor's vectors hold, for those that LLVM knows.
fn known(cpu: &str) -> Option<u32> {
    let has = |list: &str| list.split_whitespace().any(|known| known == cpu);
    CPUS.iter().find(|(_, list)| has(list)).map(|(doubles, _)| *doubles)
}

fn doubles_with(features: &str) -> u32 {
    let has = |feature: &str| features.split(',').any(|f| f.trim() == feature);
    match () {
        () if has("+avx512f") => 8,
        () if has("+avx2") => 4,
        () => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_as_wide_as_the_processor_s() {
        assert_eq!(["x86-64-v4", "haswell", "sandybridge", "z80"].map(known), [Some(8), Some(4), Some(2), None]);
        assert_eq!(doubles_with("+sse2,+avx2,-avx512f"), 4);
        assert_eq!(doubles_with("+avx512dq,+avx512f"), 8);
    }
}
