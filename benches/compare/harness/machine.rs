//! The machine: what its processor is, and which cores contenders run on.

use std::collections::BTreeSet;
use std::fs;

/// The cores that contenders get: the first of them for one thread, both for two.
pub struct Cores(Vec<usize>);

unsafe extern "C" {
    fn sched_setaffinity(pid: i32, size: usize, mask: *const u64) -> i32;
}

impl Cores {
    /// Cores that this process may run on, no two of which share a physical one, as long as there are others.
    pub fn choose(count: usize) -> Cores {
        let status = fs::read_to_string("/proc/self/status").expect("this is Linux");
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux tells it");
        let allowed = numbers(allowed);
        let siblings = |core: usize| {
            let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
            fs::read_to_string(path).map_or(vec![core], |list| numbers(&list))
        };
        let (mut seen, mut first, mut rest) = (BTreeSet::new(), Vec::new(), Vec::new());
        for core in allowed {
            match seen.insert(siblings(core)) {
                true => first.push(core),
                false => rest.push(core),
            }
        }
        first.extend(rest);
        first.truncate(count);
        Cores(first)
    }

    /// Returns the processors for a number of threads, or all if the machine has fewer.
    pub fn for_threads(&self, threads: usize) -> &[usize] {
        &self.0[..threads.min(self.0.len())]
    }

    /// Keeps the calling thread, and threads that it starts later, on the cores for a number of threads.
    pub fn pin(&self, threads: usize) {
        let mut mask = [0u64; 16];
        for core in self.for_threads(threads) {
            mask[core / 64] |= 1 << (core % 64);
        }
        // SAFETY: the mask has the size that is said.
        let status = unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) };
        assert_eq!(status, 0, "the cores are among those that are allowed");
    }
}

/// The numbers of a list such as `0-2,5`.
fn numbers(list: &str) -> Vec<usize> {
    let number = |text: &str| text.trim().parse::<usize>().expect("a core");
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    list.trim().split(',').flat_map(range).collect()
}

/// Returns whether the processor has 512-bit vectors.
pub fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
}

/// The processor, without the name of the machine.
pub fn description() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").expect("this is Linux");
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, value)| value.trim())
    };
    let model = format!("{} (family {}, model {})", field("model name"), field("cpu family"), field("model"));
    let flags: BTreeSet<&str> = field("flags").split(' ').collect();
    let vectors: Vec<&str> = ["avx", "avx2", "fma", "avx512f", "avx512dq", "avx512vl"]
        .into_iter()
        .filter(|flag| flags.contains(flag))
        .collect();
    let cores = info.lines().filter(|line| line.starts_with("processor")).count();
    format!("{model}, {cores} cores, {}", vectors.join(" "))
}

/// The first line of what `g++ --version` prints.
pub fn compiler() -> String {
    let output = std::process::Command::new("g++").arg("--version").output().expect("g++ runs");
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("g++").to_string()
}
