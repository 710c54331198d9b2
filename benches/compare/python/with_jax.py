"""The programs in JAX: compiled, double precision, on the processor.

    with_jax.py THREADS [FOLDER]

FOLDER is one of `benches/` whose `python/` has further programs: modules with a dictionary `PROGRAMS` like the one here.
"""

import importlib
import os
import sys
from pathlib import Path

THREADS = int(sys.argv[1])
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["OMP_NUM_THREADS"] = str(THREADS)
if THREADS == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from jax_models import (
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
from protocol import serve

jax.config.update("jax_enable_x64", True)

# The function, and the parameters by which it is derived.
PROGRAMS = {
    "gmm": (gmm, (0, 1, 2)),
    "ba": (ba, ()),
    "lstm": (lstm, (0, 1)),
    "kmeans": (kmeans, (1,)),
    "lse": (logsumexp, (0,)),
    "llsq": (llsq, (2,)),
    "ode": (ode, (0, 1, 2)),
    "cnn": (cnn, (0, 1, 2, 3, 4, 5)),
    "dot": (jnp.dot, (0, 1)),
    "max": (jnp.max, (0,)),
    "vsum": (jnp.sum, (0,)),
    "vadd": (jnp.add, (0, 1)),
    "vscale": (jnp.multiply, (0, 1)),
    "gather": (lambda v, places: v[places].sum(), (0,)),
    "nnmf": (nnmf, (0, 1)),
    "matmul": (jnp.matmul, (0, 1)),
    "dot_by_v": (jnp.dot, (0,)),
    "largest_by_v": (jnp.max, (0,)),
    "vsum_by_v": (jnp.sum, (0,)),
    "nnmf_by_v": (nnmf_of_vectors, (1,)),
}
OTHERS = {
    ("ba", "jacobian"): ba_jacobian,
    ("kmeans", "hessian"): kmeans_hessian,
    ("vadd_by_v", "jacobian"): jax.jacfwd(jnp.add, 0),
    ("vscale_by_k", "jacobian"): jax.jacfwd(jnp.multiply, 0),
    ("project", "jacobian"): project_jacobian,
}

for folder in sys.argv[2:]:
    folder = Path(__file__).parents[2] / folder / "python"
    sys.path.append(str(folder))
    for module in sorted(folder.glob("*.py")):
        PROGRAMS |= importlib.import_module(module.stem).PROGRAMS


def reverse(function, wrt):
    """The reverse derivative, which takes the cotangent as last argument."""

    def derivative(*arguments):
        *point, cotangent = arguments

        def varying(*parts):
            replaced = list(point)
            for place, part in zip(wrt, parts):
                replaced[place] = part
            return function(*replaced)

        return jax.vjp(varying, *(point[place] for place in wrt))[1](cotangent)

    return derivative


def task_of(program, task, has_cotangent):
    if program not in PROGRAMS or task not in ("value", "gradient", "both"):
        return OTHERS.get((program, task))
    function, wrt = PROGRAMS[program]
    if task == "value":
        return function
    if task == "gradient":
        return reverse(function, wrt) if has_cotangent else jax.grad(function, wrt)
    return jax.value_and_grad(function, wrt)


def prepare(program, task, arguments, cotangent):
    function = task_of(program, task, cotangent is not None)
    if function is None:
        return None
    if task == "gradient" and cotangent is not None:
        arguments = [*arguments, cotangent]
    static = [i for i, argument in enumerate(arguments) if isinstance(argument, int)]
    arguments = [argument if i in static else jax.device_put(argument) for i, argument in enumerate(arguments)]
    compiled = jax.jit(function, static_argnums=static).lower(*arguments).compile()
    arguments = [argument for i, argument in enumerate(arguments) if i not in static]

    def run():
        return jax.tree.leaves(jax.block_until_ready(compiled(*arguments)))

    return run


serve(f"JAX {jax.__version__}", prepare)
