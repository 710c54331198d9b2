"""Statistics, likelihoods, finance: by name, the function and the parameters by which it is derived."""

PROGRAMS = {}
