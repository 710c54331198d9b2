"""Calls what `docs/accelerators.md` exports, at two sizes, and compares it with the module itself."""

assert "tensor<?x?xf64>" in text
for points, components, dimensions in ((8, 3, 4), (100, 5, 6)):
    random = np.random.default_rng(points)
    sizes = ((components,), (components, dimensions), (components, dimensions * (dimensions + 1) // 2))
    given = [random.normal(size=size) for size in (*sizes, (points, dimensions))]
    given += [np.float64(1.5), np.int64(2)]
    found = jax.tree.leaves(any_size.call(*given, 0.5))
    wanted = jax.tree.leaves(gmm.vjp_gmm(tuple(given), 0.5))
    assert len(found) == len(wanted) == 6
    for one, other in zip(found, wanted):
        assert one.shape == other.shape and abs(one - other).max() <= 1e-12 * abs(other).max(), (one, other)
