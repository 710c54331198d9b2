"""Dense linear algebra, networks: by name, the function and the parameters by which it is derived."""

import jax.numpy as jnp


def exp_matvec(w, x):
    return jnp.exp(w @ x).sum()


PROGRAMS = {
    "exp_matvec": (exp_matvec, (0, 1)),
}
