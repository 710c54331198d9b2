//! The machine that code is for.

use crate::error::Error;
use inkwell::OptimizationLevel;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, TargetMachine};

/// A processor and its code generator.
pub(crate) struct Target {
    machine: TargetMachine,
    cpu: String,
    features: String,
}

impl Target {
    /// The given processor, or the one at hand for `None` and `native`.
    ///
    /// Errors: LLVM has no code generator, or does not know the processor.
    pub(crate) fn new(cpu: Option<&str>, level: u8) -> Result<Target, Error> {
        inkwell::targets::Target::initialize_native(&InitializationConfig::default()).map_err(Error::Llvm)?;
        let (cpu, features) = match cpu {
            None | Some("native") => host(),
            Some(cpu) if CPUS.split_whitespace().any(|known| known == cpu) => (cpu.to_string(), String::new()),
            Some(unknown) => return Err(Error::UnknownCpu(unknown.to_string())),
        };
        let triple = TargetMachine::get_default_triple();
        let target = inkwell::targets::Target::from_triple(&triple).map_err(|e| Error::Llvm(e.to_string()))?;
        let machine = target
            .create_target_machine(&triple, &cpu, &features, level_of(level)?, RelocMode::PIC, CodeModel::Default)
            .ok_or_else(|| Error::Llvm(format!("no code generator for {}", triple.as_str().to_string_lossy())))?;
        Ok(Target { machine, cpu, features })
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
}

/// The processor at hand, without the AVX10 features: what they say of vector width, the AVX-512
/// features say already.
fn host() -> (String, String) {
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    let kept: Vec<&str> =
        features.split(',').filter(|f| !f.trim_start_matches(['+', '-']).starts_with("avx10")).collect();
    (cpu, kept.join(","))
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

/// The 64-bit processors that LLVM 19 knows (`llc -march=x86-64 -mcpu=help`). LLVM itself only warns
/// of an unknown one, on standard error, and goes on without it.
const CPUS: &str = "alderlake arrowlake arrowlake-s atom barcelona amdfam10 athlon64 athlon64-sse3 bdver1 bdver2 bdver3 bdver4 bonnell \
    broadwell btver1 btver2 cannonlake cascadelake clearwaterforest cooperlake core-avx-i core-avx2 core2 corei7 corei7-avx \
    emeraldrapids generic goldmont goldmont-plus gracemont grandridge graniterapids graniterapids-d haswell icelake-client \
    icelake-server ivybridge k8 k8-sse3 knl knm lunarlake meteorlake nehalem nocona opteron opteron-sse3 pantherlake penryn \
    raptorlake rocketlake sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512 slm tigerlake tremont \
    westmere x86-64 x86-64-v2 x86-64-v3 x86-64-v4 znver1 znver2 znver3 znver4 znver5";
