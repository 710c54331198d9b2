"""Value and gradient of the kernels on whole arrays: lmc's modules of JAX beside the functions in JAX by hand, derived by
`jax.value_and_grad`, on the device that JAX finds.

    cargo bench --bench kernels -- --modules FOLDER
    python benches/kernels/whole_arrays.py FOLDER [--scale 16] [--rounds 15] [--threads 1] [NAME ..]

The first result of both is compared. A line for each formulation: the time of value and gradient, that of JAX by hand
in the same rounds, their ratio, how far the results are apart, and the seconds to compile both. It ends with a summary.
Needs numpy and jax, nothing of lmc.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="kernels, or kernel_formulation; all if there are none")
    parser.add_argument("--scale", type=int, default=1, help="so many times the n of each kernel")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sample", type=float, default=0.02, help="seconds for each sample")
    parser.add_argument("--threads", type=int, help="threads of the processor")
    parser.add_argument("--most", type=float, default=60.0, help="seconds for each formulation, about")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    return parser.parse_intermixed_args()


OPTIONS = options()
if OPTIONS.threads == 1:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax  # noqa: E402 (the flags come first)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
HERE = Path(__file__).parent
sys.path += [str(OPTIONS.folder), str(HERE / "python")]
BY_HAND = {}
for module in sorted((HERE / "python").glob("*.py")):
    BY_HAND |= importlib.import_module(module.stem).PROGRAMS


def one_array(value):
    """Tuples become the last index, as for the programs by hand."""
    return np.stack([one_array(part) for part in value], axis=-1) if isinstance(value, tuple) else np.asarray(value)


def is_number(value):
    return isinstance(value, (int, np.integer)) or (np.ndim(value) == 0 and np.result_type(value).kind == "i")


def compiled(function, wrt, arguments):
    """Value and gradient as a function without parameters, and the seconds that its compilation took."""
    static = tuple(k for k, argument in enumerate(arguments) if is_number(argument))
    arguments = [int(x) if k in static else jax.tree.map(jax.device_put, x) for k, x in enumerate(arguments)]
    start = time.perf_counter()
    derivative = jax.value_and_grad(lambda *parts: as_number(function(*parts)), wrt, allow_int=True)
    code = jax.jit(derivative, static_argnums=static).lower(*arguments).compile()
    seconds = time.perf_counter() - start
    varying = [x for k, x in enumerate(arguments) if k not in static]
    return (lambda: jax.block_until_ready(code(*varying))), seconds


def as_number(result):
    """The result itself; of an array, half the sum of its squares, so that its cotangent is the array."""
    return result if jnp.ndim(result) == 0 else 0.5 * (result * result).sum()


def numbers(result):
    """The value, and the gradient by each parameter, one after the other."""
    value, gradient = result
    of_floats = [x for x in gradient if not is_discrete(x)]
    return np.concatenate([np.ravel(value), *(np.ravel(one_array(jax.tree.map(np.asarray, x))) for x in of_floats)])


def is_discrete(x):
    return all(leaf.dtype == jax.dtypes.float0 for leaf in jax.tree.leaves(x))


def sample(run, calls):
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def medians(runs):
    """The median times of functions, whose samples alternate."""
    first = [max(sample(run, 1), 1e-7) for run in runs]
    calls = [max(1, int(OPTIONS.sample / seconds)) for seconds in first]
    rounds = max(3, min(OPTIONS.rounds, int(OPTIONS.most / (sum(n * x for n, x in zip(calls, first)) + 1e-9))))
    samples = [[sample(run, n) for run, n in zip(runs, calls)] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*samples)]


def measured(kernel, formulation):
    name = f"{kernel['name']}_{formulation['name']}"
    point = importlib.import_module(f"point_{name}").point(kernel["n"] * OPTIONS.scale)
    function = getattr(importlib.import_module(name), kernel["name"])
    by_hand, wrt = BY_HAND[kernel["name"]]
    arguments = point if kernel["parameters"] > 1 else (point,)
    for_hand = [x if is_number(x) else one_array(x) for x in arguments]
    ours, seconds = compiled(function, wrt, arguments)
    other, other_seconds = compiled(by_hand, wrt, for_hand)
    x, y = numbers(ours()), numbers(other())
    apart = float(np.max(np.abs(x - y)) / max(1e-300, np.max(np.abs(y)))) if x.shape == y.shape else float("inf")
    mine, theirs = medians([ours, other])
    return {"ours": mine, "by hand": theirs, "apart": apart, "compile": seconds, "compile by hand": other_seconds}


def main():
    kernels = json.loads((OPTIONS.folder / "kernels.json").read_text())
    device = jax.devices()[0]
    print(f"JAX {jax.__version__}, {device.platform}, {device.device_kind}, scale {OPTIONS.scale}\n")
    print("| kernel | formulation | ours | by hand | ratio | apart | compiled in | by hand |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows, failed = [], []
    for kernel in kernels:
        for formulation in kernel["formulations"]:
            name = f"{kernel['name']}_{formulation['name']}"
            if OPTIONS.names and not {name, kernel["name"]} & set(OPTIONS.names):
                continue
            if formulation["refused"]:
                print(f"| {kernel['name']} | {formulation['name']} | refused | | | | | |", flush=True)
                continue
            try:
                row = measured(kernel, formulation)
            except Exception as error:  # whatever it is, the others are measured
                failed.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
                print(f"| {kernel['name']} | {formulation['name']} | failed | | | | | |", flush=True)
                continue
            rows.append({"kernel": kernel["name"], "formulation": formulation["name"]} | row)
            cells = [f"{row['ours'] * 1e3:.3f} ms", f"{row['by hand'] * 1e3:.3f} ms", f"{row['ours'] / row['by hand']:.2f}"]
            cells += [f"{row['apart']:.0e}", f"{row['compile']:.1f} s", f"{row['compile by hand']:.1f} s"]
            print(f"| {kernel['name']} | {formulation['name']} | {' | '.join(cells)} |", flush=True)
            jax.clear_caches()
    if OPTIONS.json:
        OPTIONS.json.write_text(json.dumps({"device": device.device_kind, "scale": OPTIONS.scale, "rows": rows}))
    summary(rows)
    for failure in failed:
        print("failed:", failure)
    sys.exit(bool(failed))


def summary(rows):
    ratios = [row["ours"] / row["by hand"] for row in rows]
    if not ratios:
        return
    best = {}
    for row, ratio in zip(rows, ratios):
        best[row["kernel"]] = min(best.get(row["kernel"], ratio), ratio)
    mean = statistics.geometric_mean
    print(f"\n{len(ratios)} formulations: geometric mean {mean(ratios):.2f}, at most 1.1: {sum(r <= 1.1 for r in ratios)}")
    print(f"{len(best)} kernels, fastest formulation: {mean(best.values()):.2f}, at most 1.1: {sum(r <= 1.1 for r in best.values())}")
    print(f"results apart: at most {max(row['apart'] for row in rows):.0e}")


main()
