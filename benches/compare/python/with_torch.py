"""The programs in PyTorch: double precision, on the processor, derivatives by its tape.

With `compiled`, by `torch.compile`, but for loops over time, which it would unroll, and derivatives of derivatives,
which it does not have.
"""

import sys

import torch
from torch.func import jacfwd

from protocol import serve
from torch_models import (
    ba,
    ba_jacobian,
    cnn,
    gmm,
    kmeans,
    kmeans_hessian,
    llsq,
    lstm,
    nnmf,
    nnmf_of_vectors,
    ode,
    project_jacobian,
)

COMPILED = "compiled" in sys.argv[2:]
torch.set_num_threads(int(sys.argv[1]))
torch._dynamo.config.recompile_limit = 1_000  # for each size anew
torch.set_default_dtype(torch.float64)

# The function, and the parameters by which it is derived.
PROGRAMS = {
    "gmm": (gmm, (0, 1, 2)),
    "ba": (ba, ()),
    "lstm": (lstm, (0, 1)),
    "kmeans": (kmeans, (1,)),
    "lse": (lambda x: torch.logsumexp(x, 0), (0,)),
    "llsq": (llsq, (2,)),
    "ode": (ode, (0, 1, 2)),
    "cnn": (cnn, (0, 1, 2, 3, 4, 5)),
    "dot": (torch.dot, (0, 1)),
    "max": (torch.max, (0,)),
    "vsum": (torch.sum, (0,)),
    "vadd": (torch.add, (0, 1)),
    "vscale": (torch.mul, (0, 1)),
    "gather": (lambda v, places: v[places].sum(), (0,)),
    "nnmf": (nnmf, (0, 1)),
    "matmul": (torch.matmul, (0, 1)),
    "dot_by_v": (torch.dot, (0,)),
    "largest_by_v": (torch.max, (0,)),
    "vsum_by_v": (torch.sum, (0,)),
    "nnmf_by_v": (nnmf_of_vectors, (1,)),
}
OTHERS = {
    ("ba", "jacobian"): ba_jacobian,
    ("kmeans", "hessian"): kmeans_hessian,
    ("vadd_by_v", "jacobian"): lambda v, w: [jacfwd(torch.add)(v, w)],
    ("vscale_by_k", "jacobian"): lambda k, v: [jacfwd(torch.mul)(k, v)],
    ("project", "jacobian"): project_jacobian,
}
NOT_COMPILED = [("kmeans", "hessian")] + [(p, t) for p in ("lstm", "ode") for t in ("value", "gradient", "both")]


def several(result):
    return list(result) if isinstance(result, tuple) else [result]


def prepare(program, task, arguments, cotangent):
    of_tape = program in PROGRAMS and task in ("value", "gradient", "both")
    if not of_tape and (program, task) not in OTHERS:
        return None
    if COMPILED and (program, task) in NOT_COMPILED:
        return None
    function, wrt = PROGRAMS[program] if of_tape else (OTHERS[program, task], ())
    if COMPILED:
        function = torch.compile(function, dynamic=False)
    arguments = [argument if isinstance(argument, int) else torch.tensor(argument) for argument in arguments]
    cotangent = None if cotangent is None else torch.tensor(cotangent)
    varying = [arguments[place].requires_grad_() for place in wrt] if task in ("gradient", "both") else []

    @torch.no_grad()
    def value():
        return several(function(*arguments))

    def gradient():
        return list(torch.autograd.grad(function(*arguments), varying, cotangent))

    def both():
        result = function(*arguments)
        return [result.detach(), *torch.autograd.grad(result, varying)]

    if (program, task) in OTHERS:
        return lambda: several(function(*arguments))
    return {"value": value, "gradient": gradient, "both": both}[task]


serve(f"PyTorch {torch.__version__}", prepare)
