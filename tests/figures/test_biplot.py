"""The biplot: every sample in its place, what stands out has its name, what varies is told."""

import numpy as np
import pytest

from bnmf_core.compare.biplot import biplot
from bnmf_core.compare.samples import sample_groups, sample_shares
from bnmf_core.figures.biplot import describe_biplot, outlying, sample_biplot


def drawn(R=3, N=20, **more):
    rng = np.random.default_rng(0)
    A, W = rng.gamma(0.4, 1.0, (9, R)), rng.gamma(0.4, 1.0, (R, N))
    W[:, 3] = 0.0
    found, groups = biplot(A, W), sample_groups(sample_shares(A, W))
    names = [f"<s{n}>" for n in range(N)], [f"f{d}" for d in range(9)]
    return found, groups, sample_biplot(found, groups, *names, **more)


@pytest.mark.parametrize("R", [2, 3, 5])
@pytest.mark.parametrize("classes", [None, ["a", "b", "", "a"] * 5])
def test_every_sample_that_has_a_place_is_drawn_there_and_can_be_chosen(R, classes):
    found, _, figure = drawn(R, classes=classes, sample=7)
    seen = {}
    for trace in figure.data:
        for k, n in enumerate([] if trace.customdata is None else trace.customdata):
            seen[int(n)] = trace.x[k], trace.y[k], trace.name, trace.text[k]
    assert set(seen) == set(range(20)) - {3}
    for n, (x, y, name, text) in seen.items():
        assert (x, y) == pytest.approx(tuple(found.samples[n]))
        assert text == f"&lt;s{n}&gt;"
        if classes:
            assert name == (classes[n] or "no class")
    words = [note.text for note in figure.layout.annotations]
    assert [f"<b>{r + 1}</b>" for r in range(R)] == words[:R]
    features = {f"<i>f{d}</i>" for d in found.strongest.ravel()}
    assert features == {word for word in words if word.startswith("<i>")}
    assert "&lt;s7&gt;" in words


def test_those_farthest_from_the_mean_of_their_group_have_names():
    samples = np.array([[0.0, 0], [1, 0], [2, 0], [9, 0], [50, 0], [50, 1], [99, 99]])
    groups = np.array([0, 0, 0, 0, 1, 1, -1])
    assert outlying(samples, groups, 2).tolist() == [3, 0]
    assert outlying(samples[4:5], np.array([0])).size == 0


def test_what_the_plane_shows_is_told():
    assert "shows the shares exactly" in describe_biplot(drawn(3)[0])
    found = drawn(5)[0]
    assert f"shows {100 * found.shown:.0f} % of the variation" in describe_biplot(found)


@pytest.mark.parametrize("R", [2, 3, 5])
def test_a_density_counts_every_sample_that_has_a_place(R):
    found, _, figure = drawn(R, N=500, density=True, classes=["a", "b"] * 250)
    (cells,) = [trace for trace in figure.data if trace.type == "heatmap"]
    counts = np.asarray(cells.customdata, dtype=float)
    assert np.nansum(counts) == np.isfinite(found.samples[:, 0]).sum() == 499
    assert np.nanmin(counts) == 1 and np.allclose(10 ** np.asarray(cells.z), counts, equal_nan=True)
    assert sum(trace.type == "scatter" for trace in figure.data) == 1 + (R <= 3)
