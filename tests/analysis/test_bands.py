"""Bands of bars hold 95 % of the draws within a mode, in the shares that the bars show."""

import numpy as np
import pytest

from bnmf_core.analysis.bands import entry_bands
from bnmf_core.analysis.posterior import ModeDraws, Posterior
from bnmf_core.core.dataset import Dataset
from bnmf_core.data.channels import CHANNELS
from bnmf_core.figures.bases import picture
from bnmf_core.figures.gallery import basis_bars, shares

RNG = np.random.default_rng(6)
BASE = RNG.dirichlet(np.full(96, 0.4), 3).T * [3.0, 5.0, 7.0]
DRAWS = BASE * RNG.uniform(0.8, 1.2, (41, 96, 3))


def posterior(settled=True):
    reason = "" if settled else "They have not settled."
    mode = ModeDraws(4, 1.0, 1.0, 1.0, settled, reason, 1.0, 400.0, 0.0)
    found = Posterior("", (mode,))
    vars(found)["draws"] = [{"A": DRAWS[:, :, [2, 0, 1]].astype(np.float32)}]  # in another order
    return found


def test_bands_are_quantiles_of_draws_matched_with_the_components():
    labels, rows = np.array([0, 1, 0, 1, 0]), np.array([2, 3])
    found = entry_bands(posterior(), labels, rows, np.stack([BASE, BASE]))
    assert found.shape == (2, 2, 96, 3)
    ordered = np.sort(shares(DRAWS), axis=0)
    # Of 41 draws in order, the second and the last but one.
    np.testing.assert_allclose(found[:, 0], ordered[[1, 39]], rtol=1e-5)
    assert np.isnan(found[:, 1]).all()  # a mode without draws
    slack = 1e-6  # draws are stored in single precision
    inside = (found[0, 0] <= shares(DRAWS) + slack) & (shares(DRAWS) <= found[1, 0] + slack)
    assert inside.mean() == pytest.approx(39 / 41, abs=0.01)


def test_nothing_is_banded_without_settled_draws():
    labels, rows, A = np.zeros(5, int), np.array([2]), BASE[None]
    assert entry_bands(None, labels, rows, A) is None
    assert entry_bands(posterior(settled=False), labels, rows, A) is None


def test_bars_have_a_line_over_their_band_in_the_order_of_the_channels():
    order = RNG.permutation(96)
    names = [CHANNELS[d].name for d in order]
    found = entry_bands(posterior(), np.zeros(5, int), np.array([2]), BASE[None])
    figure = basis_bars(BASE[None], names, ["mode 1"], bands=found)
    bars, lines = figure.data[::2], figure.data[1::2]
    assert figure.layout.barmode == "overlay" and len(lines) == 3
    for r, (bar, line) in enumerate(zip(bars, lines, strict=True)):
        assert line.x == bar.x
        first = int(np.flatnonzero([name == "A[C>A]A" for name in names])[0])
        assert bar.y[0] == pytest.approx(shares(BASE[None])[0, first, r])
        low, high = found[:, 0, first, r]
        assert (line.base[0], line.base[0] + line.y[0]) == pytest.approx((low, high))


def test_what_lines_are_is_said_where_there_are_any():
    data = Dataset.from_array(BASE @ RNG.random((3, 8)))
    found = entry_bands(posterior(), np.zeros(5, int), np.array([2]), BASE[None])
    words = "Thin lines hold 95 % of the posterior draws in the mode."
    assert picture(data, BASE[None], ["mode 1"], bands=found)[1].endswith(words)
    assert words not in picture(data, BASE[None], ["mode 1"])[1]
