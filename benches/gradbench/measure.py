#!/usr/bin/env python3
"""Measures `lmc gradbench` beside C++, JAX and PyTorch at the sizes of `cases.measured`, and compares what they give.

Prints tables; with --bless, puts them into docs/gradbench.md. All take part in one run: for each function and size they
take turns, and the shortest time counts, so that what else the machine does touches all of them. Results are compared
before anything is measured. The status is 1 where some differ.
"""

import argparse
import math
import os
import sys
from pathlib import Path

import cases
import contenders
import reference
import tables
from tool import Tool

PAGE = Path(__file__).parents[2] / "docs" / "gradbench.md"
# Relative, in the Euclidean norm: of results from those of lmc, and of lmc's from the formulas.
TOLERANCE = 1e-8


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lmc", metavar="LMC", help="the executable: target/release/lmc")
    parser.add_argument("--bless", action="store_true", help="writes the tables into docs/gradbench.md")
    parser.add_argument("--only", metavar="EVAL,..", default="", help="these evals")
    parser.add_argument("--quick", action="store_true", help="2 turns of 20 ms, not 5 of 0.1 s")
    parser.add_argument(
        "--python",
        metavar="FILE",
        default=contenders.python(),
        help="that has JAX and PyTorch: COMPARE_PYTHON, or what benches/compare/setup makes",
    )
    chosen = parser.parse_intermixed_args()
    chosen.evals = evals(parser, chosen)
    if chosen.bless and (chosen.only or chosen.quick):
        parser.error("--bless is for whole runs, without --only and --quick")
    chosen.lmc = executable(parser, chosen.lmc)
    return chosen


def evals(parser, chosen):
    wanted = [name for name in chosen.only.split(",") if name] or list(cases.MEASURED)
    for name in wanted:
        if name not in cases.MEASURED:
            parser.error(f"--only: no eval `{name}`; there are {', '.join(cases.MEASURED)}")
    return wanted


def executable(parser, path):
    """An executable that is lmc."""
    path = os.path.abspath(path)
    if not os.path.exists(path):
        parser.error(f"there is no {path}; `cargo build --release` makes target/release/lmc")
    try:
        with Tool([path, "gradbench"]) as tool:
            if tool.ask("start")["tool"] == "lmc":
                return path
    except (OSError, RuntimeError, ValueError, KeyError):
        pass
    parser.error(f"{path} is not lmc: it does not answer as `lmc gradbench` does")


class Running:
    """A contender's process."""

    def __init__(self, contender, processors):
        self.column = contender.column
        self.tool = Tool(contender.command, processors[: contender.processors])
        self.defined = {}

    def has(self, module):
        if module not in self.defined:
            answer = self.tool.ask("define", module=module)
            if not answer["success"] and "no module" not in answer["error"]:
                raise RuntimeError(f"{self.column}: {answer['error']}")
            self.defined[module] = answer["success"]
        return self.defined[module]

    def call(self, case, min_runs, min_seconds):
        """The output, and the shortest time in nanoseconds. Errors: the tool's."""
        given = {**case.input, "min_runs": min_runs, "min_seconds": min_seconds}
        answer = self.tool.ask("evaluate", module=case.module, function=case.function, input=given)
        if not answer["success"]:
            raise cases.Wrong(answer["error"])
        return answer["output"], min(t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate")


def numbers(output):
    """All of an output, in order."""
    if isinstance(output, dict):
        return [x for name in sorted(output) for x in numbers(output[name])]
    return reference.flat(output)


def difference(found, expected):
    found, expected = numbers(found), numbers(expected)
    return cases.distance(found, expected) if len(found) == len(expected) else math.inf


def agreeing(running, case, wrong):
    """Those whose results are right, and the error of the first: its result is compared with formulas, those of the
    others with its."""
    right, error, expected = [], 0.0, None
    for one in running:
        if not one.has(case.module):
            continue
        try:
            output, _ = one.call(case, 1, 0)
            off = case.judge(output) if expected is None else difference(output, expected)
        except cases.Wrong as problem:
            off = problem
        if isinstance(off, cases.Wrong) or not off <= TOLERANCE:
            said = off if isinstance(off, cases.Wrong) else f"the error is {off:.2g}"
            wrong.append(f"{one.column}: {case.module} {case.function}, {case.size}: {said}")
            if expected is None:
                return [], math.nan
            continue
        if expected is None:
            error, expected = off, output
        right.append(one)
    return right, error


def measured(running, case, quick, wrong):
    """The shortest time of each column, and the error of lmc. lmc is the first of those that run."""
    right, error = agreeing(running, case, wrong)
    times, (turns, seconds) = {}, (2, 0.02) if quick else (5, 0.1)
    for _ in range(turns):
        for one in right:
            _, time = one.call(case, 1, seconds)
            times[one.column] = min(time, times.get(one.column, math.inf))
    return tables.Measured(case.module, case.function, case.size, times, error)


def main():
    chosen = options()
    there, missing = contenders.others(chosen.python)
    rows = contenders.lmc(chosen.lmc) + there
    processors = sorted(os.sched_getaffinity(0))
    running = [Running(row, processors) for row in rows]
    results, wrong = [], []
    for case in cases.measured(chosen.evals):
        print(f"{case.module} {case.function}, {case.size}", file=sys.stderr)
        results.append(measured(running, case, chosen.quick, wrong))
    made = tables.page(results, list(dict.fromkeys(row.column for row in rows)))
    if chosen.bless and not wrong and not missing:
        PAGE.write_text(tables.replaced(PAGE.read_text(), made))
    print(made, end="")
    for line in missing + wrong:
        print(line, file=sys.stderr)
    if chosen.bless and (wrong or missing):
        sys.exit(f"{PAGE} stays as it is: not all are there and right")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
