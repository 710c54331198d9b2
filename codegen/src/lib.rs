//! Native code.
