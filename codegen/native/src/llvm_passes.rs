//! Lists the passes of LLVM that a module goes through.
//!
//! Level 2 is LLVM's own pipeline, `default<O2>`, without the passes that change nothing in what we emit. Some have
//! nothing left to do after our passes: constraint elimination, copies of memory, loops that feed each other. Others
//! find nothing in this language: coroutines, OpenMP, exceptions, switches, profiles. The worth of each other pass was
//! measured on the demos by leaving it out and counting the instructions that run. Jump threading is worth 8 % (`ba`),
//! unswitching 24 % (`cnn`), dead stores 4 %. The vectoriser of loops is worth 50 % (`kmeans`, `lstm`), also for what is
//! left of loops in lanes. Level 1 is LLVM's.
//!
//! Loops whose length is not known are not unrolled at level 2: where that pays, they run in lanes or side by side
//! already. It took a tenth of the compile time; without it no demo was slower by more than noise, and `minors` was a
//! fifth faster. Level 3 does it. LLVM's own level 3 also makes two versions of a loop for each condition that does not
//! change in it: for long bodies it took twice as long.
//!
//! `gvn` passes no loads on from one iteration to the next (`no-load-pre`). The vectoriser of loops does not take what is
//! carried so, and used behind the loop: the gradient of `wave_line` by velocity ran one number at a time.
//!
//! The vectoriser of neighbouring statements (`slp-vectorizer`) is left out at all levels. That of LLVM 19 makes
//! gathers of loads, and puts them before a store that they may see. `tests/language/scattered_twice.ks` had a wrong
//! gradient. It was worth 0 to 10 %: what stands side by side is mostly made lanes of before.

/// A stage of the pipeline: what it is for, and its passes as LLVM writes them.
type Stage = (&'static str, &'static str);

const STAGES: [Stage; 5] = [
    (
        "what of the run time is not used; branches that are as good as decided; memory that is as good as a register",
        "globaldce,inferattrs,function(lower-expect,simplifycfg,sroa,early-cse)",
    ),
    (
        "constants and attributes across functions",
        "ipsccp,called-value-propagation,globalopt,function(mem2reg,simplifycfg),always-inline,require<globals-aa>,\
         function(invalidate<aa>),require<profile-summary>",
    ),
    (
        "function by function, callees first: inlined, then made simple",
        "cgscc(devirt<4>(inline,function-attrs<skip-non-recursive-function-attrs>,function(sroa,early-cse<memssa>,\
         jump-threading,correlated-propagation,simplifycfg,instcombine<no-verify-fixpoint>,tailcallelim,simplifycfg,\
         reassociate,loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,loop-rotate,\
         licm<allowspeculation>,simple-loop-unswitch),simplifycfg,instcombine<no-verify-fixpoint>,loop(loop-idiom,indvars,simple-loop-unswitch,loop-deletion,\
         loop-unroll-full),sroa,vector-combine,gvn<no-load-pre>,sccp,adce,dse,loop-mssa(licm<allowspeculation>),\
         simplifycfg<hoist-common-insts;sink-common-insts>,instcombine<no-verify-fixpoint>),function-attrs))",
    ),
    ("what is not used any more", "deadargelim,globalopt,globaldce,rpo-function-attrs,recompute-globalsaa"),
    (
        "vectors, of loops that do not run in lanes",
        "function(loop(loop-rotate,loop-deletion),inject-tli-mappings,loop-vectorize,infer-alignment,\
         simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-lookup;no-keep-loops;hoist-common-insts;\
         sink-common-insts>,vector-combine,instcombine<no-verify-fixpoint>,\
         sroa<preserve-cfg>,infer-alignment,instcombine<no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),loop-sink,\
         instsimplify,div-rem-pairs,tailcallelim,simplifycfg),globaldce,constmerge",
    ),
];

/// The passes of functions that are worth few: what makes code short, and so soon generated.
pub(crate) const FEW: &str = "globaldce,function(lower-expect,simplifycfg,sroa,early-cse<memssa>),always-inline,\
    function(instcombine<no-verify-fixpoint>,simplifycfg,tailcallelim,loop-mssa(loop-rotate,licm<allowspeculation>),\
    gvn,instcombine<no-verify-fixpoint>,adce,simplifycfg),globaldce";

/// What level 3 does after level 2.
const UNROLLED: &str =
    "function(loop-unroll<O3>,instcombine<no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),simplifycfg)";

/// Returns the pipeline of a level, as LLVM writes it.
pub(crate) fn pipeline(level: u8) -> String {
    let stages = STAGES.map(|(_, passes)| passes).join(",");
    match level {
        2 => stages,
        3 => format!("{stages},{UNROLLED}"),
        _ => format!("default<O{level}>"),
    }
}
