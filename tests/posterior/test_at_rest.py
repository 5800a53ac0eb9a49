"""What one particle without a slope is worth, in the unit of the discrepancy it is held against."""

from dataclasses import replace

import numpy as np
import pytest

from bnmf_core.posterior import stein
from bnmf_core.posterior.places import Block


@pytest.mark.parametrize("lengths", [(2.0, 3.0), (0.1, 40.0)])
def test_it_is_the_discrepancy_of_one_particle_without_slope(lengths):
    rng = np.random.default_rng(0)
    parts = [Block(rng.random((4, d)), rng.random((4, d)), d) for d in (5, 7)]
    products = stein.Products.of(parts)
    flat = replace(products, scores=np.zeros((4, 4)), across=np.zeros((2, 4, 4)))
    K = flat.kernel(*lengths)
    assert stein.ksd(K[:1, :1], np.ones(1)) == pytest.approx(flat.at_rest(*lengths))
    # Twice as many dimensions, half the length: in the unit of K and not of its root.
    assert flat.at_rest(*(length / 2 for length in lengths)) == pytest.approx(
        4 * flat.at_rest(*lengths)
    )
