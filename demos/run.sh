#!/usr/bin/env bash
# Compiles a program by lmc, and builds and runs a host that calls its function and the reverse derivative.
#
#   demos/run.sh c|rust ex2|gmm [ARGUMENT..]
#
# The arguments are the host's; gmm has demos/data/gmm.txt if there are none. The environment variable LMC
# names the compiler (target/release/lmc), PROGRAM another program than demos/ex2.ks or demos/gmm.ks, which
# defines that function. Everything is built in a temporary folder.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
language=${1:-}
host=${2:-}
arguments=("${@:3}")
lmc=${LMC:-${CARGO_TARGET_DIR:-$top/target}/release/lmc}

case $language-$host in
c-ex2 | rust-ex2) function=f2 ;;
c-gmm | rust-gmm)
  function=gmm
  [ ${#arguments[@]} -gt 0 ] || arguments=("$top/demos/data/gmm.txt")
  ;;
*)
  echo "usage: demos/run.sh c|rust ex2|gmm [ARGUMENT..]" >&2
  exit 2
  ;;
esac
if [ ! -x "$lmc" ]; then
  echo "demos/run.sh: there is no \`$lmc\`: build it by \`cargo build --release\`, or set LMC" >&2
  exit 2
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
library=$out/$host.so
"$lmc" compile --rev --fun "$function" "${PROGRAM:-$top/demos/$host.ks}" -o "$library" --emit so,header

case $language in
c)
  cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -I "$out" "$top/demos/c/$host.c" \
    -L "$out" "-l:$host.so" "-Wl,-rpath,$out" -lm -o "$out/$host"
  ;;
rust)
  env "${host^^}_LIBRARY=$library" "${CARGO:-cargo}" build --quiet --locked --offline --bin "$host" \
    --manifest-path "$top/demos/rust/Cargo.toml" --target-dir "$out/target"
  mv "$out/target/debug/$host" "$out/$host"
  ;;
esac
"$out/$host" ${arguments[@]+"${arguments[@]}"}
