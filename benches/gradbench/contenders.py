"""Who is measured: tools that speak the protocol of GradBench, a row each."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Contender(NamedTuple):
    """Rows of one column are ways to compile one program: what counts is the fastest of them."""

    column: str
    command: list
    processors: int = 1


def lmc(path):
    """On one processor, and with the threads of two."""
    alone = Contender("lmc", [path, "gradbench"])
    return [alone, Contender("lmc, 2 threads", [path, "gradbench", "--multithreaded"], 2)]


def others(python):
    """Those that can run here, and what is said of the ones that cannot."""
    cc, there, missing = str(HERE / "with_cc.py"), [], []
    if has(["g++", "--version"], missing, "C++", "there is no g++"):
        there += [Contender("C++", [sys.executable, cc]), Contender("C++", [sys.executable, cc, "-ffast-math"])]
    for column, module in (("JAX", "jax"), ("PyTorch", "torch")):
        remedy = f"`{python} -c 'import {module}'` fails; benches/compare/setup makes a Python that has it"
        if has([python, "-c", f"import {module}"], missing, column, remedy):
            there.append(Contender(column, [python, str(HERE / f"with_{module}.py")]))
    return there, missing


def has(command, missing, column, remedy):
    try:
        good = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        good = False
    if not good:
        missing.append(f"without {column}: {remedy}")
    return good


def python():
    """As `cargo bench --bench compare` finds it."""
    target = os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")
    return os.environ.get("COMPARE_PYTHON", str(Path(target) / "compare-venv" / "bin" / "python"))
