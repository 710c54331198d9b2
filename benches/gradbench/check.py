#!/usr/bin/env python3
"""Sends messages of GradBench to a tool, and compares what comes back with formulas in plain Python.

Needs nothing but Python 3. The status is 1 when an output differs by more than 1e-10, or when lmc does not answer a
failure as one.
"""

import argparse
import json
import math
import shlex
import sys

import cases
from tool import Tool

TOLERANCE = 1e-10

X = {"x": [1.0, 2.0]}

GMM = {"d": 1, "k": 1, "n": 1, "x": [[1.0]], "m": 0, "gamma": 1.0, "alpha": [0.0], "mu": [[0.0]], "q": [[0.0]]}

# Messages that fail, each with a part of the error that is answered.
FAILURES = [
    ("define", {"module": "nowhere"}, "no module `nowhere`"),
    ("define", {}, "no `module`"),
    ("evaluate", {"module": "nowhere", "function": "primal", "input": X}, "`nowhere` has not been defined"),
    ("evaluate", {"module": "lse", "function": "hessian", "input": X}, "no function `hessian`"),
    ("evaluate", {"module": "lse", "function": "primal"}, "no `input`"),
    ("evaluate", {"module": "lse", "function": "primal", "input": {}}, "input.x is not there"),
    ("evaluate", {"module": "lse", "function": "primal", "input": {"x": [1, "2"]}}, "input.x[1] is not a number"),
    ("evaluate", {"module": "lse", "function": "primal", "input": {"x": []}}, "lse.ks:3:"),
    ("evaluate", {"module": "lse", "function": "primal", "input": {**X, "min_runs": -1}}, "input.min_runs"),
    ("evaluate", {"module": "lse", "function": "primal", "input": {"x": [1e308, -1e308], "min_seconds": 0}}, None),
    ("evaluate", {"module": "gmm", "function": "objective", "input": {**GMM, "l": [[0.0]]}}, "assertion failed"),
    ("evaluate", {"module": "gmm", "function": "objective", "input": {**GMM, "l": [[]], "d": 1.5}}, "input.d"),
    ("evaluate", {"module": "det", "function": "primal", "input": {"A": [1.0, 2.0], "ell": 2}}, "assertion failed"),
    ("evaluate", {"module": "llsq", "function": "primal", "input": {"x": [1.0], "n": 1}}, "not finite"),
    ("evaluate", {"module": "saddle", "function": "ff", "input": {"start": [1.0]}}, "input.start is not a list of 2"),
]

NO_MESSAGES = [b"nonsense", b"{", b"[1]", b'"text"', b"{}", b'{"id": 1}', b"\xff\xfe", b'{"id": 1, "kind": 2}']


def fails(answer, expected):
    """Whether an answer is that of a failure, with that in its error."""
    return (
        answer.get("success") is False
        and "output" not in answer
        and isinstance(answer.get("error"), str)
        and expected in answer["error"]
    )


def check_case(tool, case):
    """What is wrong with the answer, if something is."""
    given = case.input
    if isinstance(given, dict):
        given = {**given, "min_runs": 2, "min_seconds": 0}
    answer = tool.ask("evaluate", module=case.module, function=case.function, input=given)
    if answer.get("success") is not True or "error" in answer:
        return f"failed: {answer.get('error')}"
    runs = [t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate"]
    if len(runs) != (2 if isinstance(given, dict) else 1) or any(type(t) is not int or t < 0 for t in runs):
        return f"wrong timings: {answer['timings']}"
    try:
        error = case.judge(answer["output"])
    except cases.Wrong as wrong:
        return str(wrong)
    return None if error <= TOLERANCE else f"relative error {error:.2g}"


def check_cases(tool, checked):
    problems = [(case, check_case(tool, case)) for case in checked]
    wrong = [f"{case.module} {case.function}, {case.size}: {problem}" for case, problem in problems if problem]
    print(f"{len(problems)} outputs, {len(wrong)} wrong")
    return wrong


def check_protocol(tool):
    """That failures are answered, and that afterwards all goes on."""
    wrong = []
    for kind, fields, expected in FAILURES:
        answer = tool.ask(kind, **fields)
        # Without an expected text there is a value: the message is one at the edge.
        good = answer.get("success") is True if expected is None else fails(answer, expected)
        if not good:
            wrong.append(f"{kind} {fields}: answered {answer}")
    for line in NO_MESSAGES:
        answer = json.loads(tool.send(line))
        if not fails(answer, "message") or "id" not in answer:
            wrong.append(f"{line!r}: answered {answer}")
    if set(tool.ask("analysis", of=3, valid=False, error="for a test")) != {"id"}:
        wrong.append("analysis: answered more than its id")
    if set(tool.ask("something new")) != {"id"}:
        wrong.append("an unknown kind: answered more than its id")
    answer = tool.ask("evaluate", module="lse", function="primal", input={**X, "min_runs": 1, "min_seconds": 0.05})
    total = sum(t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate")
    if not 5e7 <= total < 1e9 or not math.isclose(answer["output"], math.log(math.exp(1) + math.exp(2))):
        wrong.append(f"repeated calls take {total} ns in all")
    print(f"{len(FAILURES) + len(NO_MESSAGES)} failures, {len(wrong)} answered in a wrong way")
    return wrong


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("lmc", metavar="LMC", help="the executable; with --tool, the command of another tool")
    parser.add_argument("evals", metavar="EVAL", nargs="*", help="what is checked; all evals, where there are none")
    parser.add_argument("--multithreaded", action="store_true", help="asks the tool for all processors")
    parser.add_argument("--tool", action="store_true", help="LMC is a command; without evals it has not, and failures")
    return parser.parse_intermixed_args()


def main():
    chosen = options()
    command = shlex.split(chosen.lmc) if chosen.tool else [chosen.lmc, "gradbench"]
    with Tool(command + ["--multithreaded"] * chosen.multithreaded) as tool:
        wrong = []
        answer = tool.ask("start", eval="lse", config={"a": 1})
        name = answer["tool"] if chosen.tool else "lmc"
        if answer != {"id": 0, "tool": name, "config": {"a": 1}}:
            wrong.append("start: another answer")
        checked = [case for case in cases.small() if not chosen.evals or case.module in chosen.evals]
        for module in dict.fromkeys(case.module for case in checked):
            answer = tool.ask("define", module=module)
            if answer.get("success") is not True and chosen.tool and not chosen.evals:
                checked = [case for case in checked if case.module != module]
                print(f"without {module}: {answer.get('error')}")
            elif answer.get("success") is not True:
                wrong.append(f"define {module}: {answer.get('error')}")
        wrong += check_cases(tool, checked)
        if not chosen.evals and not chosen.tool:
            wrong += check_protocol(tool)
        status = tool.close()
        if status != 0:
            wrong.append(f"exit status {status}")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
