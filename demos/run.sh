#!/usr/bin/env bash
# Compiles a program by lmc, and builds and runs a host that calls f2 and its derivative.
#
#   demos/run.sh c|rust [PROGRAM.ks]
#
# PROGRAM.ks (demos/ex2.ks) defines f2 from Float to Float. The environment variable LMC names the
# compiler (target/release/lmc). Everything is built in a temporary folder.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
host=${1:-}
program=${2:-$top/demos/ex2.ks}
lmc=${LMC:-${CARGO_TARGET_DIR:-$top/target}/release/lmc}

case $host in
c | rust) ;;
*)
  echo "usage: demos/run.sh c|rust [PROGRAM.ks]" >&2
  exit 2
  ;;
esac
if [ ! -x "$lmc" ]; then
  echo "demos/run.sh: there is no \`$lmc\`: build it by \`cargo build --release\`, or set LMC" >&2
  exit 2
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$lmc" compile --rev "$program" -o "$out/ex2.so" --emit so,header

case $host in
c)
  cc -std=c11 -Wall -Wextra -Werror -I "$out" "$top/demos/c/main.c" \
    -L "$out" -l:ex2.so "-Wl,-rpath,$out" -lm -o "$out/host"
  "$out/host"
  ;;
rust)
  EX2_LIBRARY=$out/ex2.so "${CARGO:-cargo}" run --quiet --locked --offline \
    --manifest-path "$top/demos/rust/Cargo.toml" --target-dir "$out/target"
  ;;
esac
