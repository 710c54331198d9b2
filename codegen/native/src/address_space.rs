//! Tells how much address space the process may have.

use std::fs;

/// Returns the limit that the process has (`ulimit -v`), in bytes; none where it has none, or where that is not known.
///
/// Stacks and arenas are reserved, and mostly not touched, so they are to leave room for what is.
pub fn address_space() -> Option<u64> {
    limit(&fs::read_to_string("/proc/self/limits").ok()?)
}

/// Returns the soft limit, which comes first behind the name.
fn limit(limits: &str) -> Option<u64> {
    let row = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    row.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn the_soft_limit_counts() {
        let header = "Limit                     Soft Limit           Hard Limit           Units\n";
        let row =
            |soft: &str| format!("{header}Max address space         {soft}           unlimited            bytes\n");
        assert_eq!(limit(&row("3072000000")), Some(3_072_000_000));
        assert_eq!(limit(&row("unlimited")), None);
        assert_eq!(limit(header), None);
    }
}
