"""What is looked at: components have one number each, whatever is in focus."""

from types import SimpleNamespace

import numpy as np

from pages.frame.choosing import newest
from pages.frame.lens import Lens


def test_components_have_the_numbers_of_mode_1_whatever_comes_first():
    rng = np.random.default_rng(0)
    first, by_size = rng.random((8, 3)), [2, 0, 1]
    A = np.stack([first, first[:, by_size] + 0.01])
    W = np.stack(
        [np.arange(3.0)[:, None] * np.ones((3, 5)), np.array(by_size)[:, None] * np.ones(5)]
    )
    comparison = SimpleNamespace(
        aligned_factors=lambda rows: (A[rows], W[rows]), aligned=lambda rows: A[rows]
    )
    modes = SimpleNamespace(representative=np.array([0, 1]))
    look = SimpleNamespace(analysis=comparison, modes=modes, _aligned={})
    bases, weights = Lens.aligned_factors(look, np.array([1]))
    np.testing.assert_allclose(bases[0], first + 0.01)
    np.testing.assert_array_equal(weights[0], W[0])
    assert not bases.flags.writeable


def run(id, launch, algorithm, rank=3):
    spec = SimpleNamespace(algorithm=algorithm, rank=rank, holdout=0.0, model="gaussian")
    return SimpleNamespace(id=id, launch=launch, dataset="piano", spec=spec)


def test_chains_alone_are_looked_at_with_the_newest_restarts_of_their_problem():
    longer = run("longer", "longer", "gibbs")
    other_rank = run("four", "four", "random_restarts", rank=4)
    launch = [run(one, "first", one) for one in ("gibbs", "q_transform", "random_restarts")]
    oldest = run("oldest", "oldest", "random_restarts")
    runs = [longer, other_rank, *launch, oldest]
    assert newest(runs) == ["random_restarts", "q_transform", "longer"]
    assert newest(runs[1:]) == ["four"]
    assert newest(runs[2:]) == ["random_restarts", "q_transform", "gibbs"]
    assert newest([longer, other_rank]) == ["longer"]
