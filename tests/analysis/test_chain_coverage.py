"""Coverage of each chain: what one chain spans, beside what all of a run span together."""

from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import distances, structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.figures.style import run_styles

CHAINS = {"warm_up": 5, "thinning": 1, "chains": 2}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Restarts, two chains of Gibbs in one run, and a single one."""
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    specs = [
        RunSpec("random_restarts", 3, particles=6),
        RunSpec("gibbs", 3, particles=16, settings=CHAINS),
        RunSpec("gibbs", 3, particles=8, settings=CHAINS | {"chains": 1}),
    ]
    store = RunStore(tmp_path_factory.mktemp("chains"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, specs)
        runner.wait_analysis(run_ids, "structure")
    return open_comparison(store, run_ids)


def test_each_of_several_chains_has_the_direct_numbers(found):
    matrix = np.asarray(distances.STAGE.of(found).matrix("max_angle"))
    curves, spread = structure.STAGE.of(found).chains("max_angle")
    members = found.members
    several = found.run_ids[1]
    assert [*zip(spread["run"], spread["chain"], strict=True)] == [(several, 0), (several, 1)]
    for row in spread.itertuples():
        rows = np.flatnonzero((members["run"] == row.run) & (members["chain"] == row.chain))
        within = matrix[np.ix_(rows, rows)]
        assert row.largest == pytest.approx(within.max())
        assert row.mean == pytest.approx(within.mean())
        assert row.members == rows.size == 8
        curve = curves[(curves["run"] == row.run) & (curves["chain"] == row.chain)]
        radii = curve["epsilon"].to_numpy()
        np.testing.assert_allclose(radii, np.linspace(0, matrix.max(), 100))
        np.testing.assert_array_equal(curve["covering"], covering_numbers(within, radii))


def test_some_members_have_numbers_of_the_same_chains(found):
    every = np.ones(len(found.members), dtype=bool)
    curves, spread, (of_chains, chain_spread) = structure.coverage_of(found, "wad", every)
    stored = structure.STAGE.of(found)
    pd.testing.assert_frame_equal(curves, stored.coverage("wad"))
    pd.testing.assert_frame_equal(spread, stored.spread("wad"))
    pd.testing.assert_frame_equal(of_chains, stored.chains("wad")[0])
    pd.testing.assert_frame_equal(chain_spread, stored.chains("wad")[1])
    without = found.members["run"].to_numpy() != found.run_ids[1]
    _, spread, (of_chains, _) = structure.coverage_of(found, "wad", without)
    assert found.run_ids[1] not in set(spread["run"]) and of_chains.empty


def spans(points: np.ndarray, chain: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Largest distances between points on a line: of all of them, and of each chain."""
    of_chains = pd.DataFrame(
        [("a", c, np.ptp(points[chain == c])) for c in np.unique(chain)],
        columns=["run", "chain", "largest"],
    )
    return pd.DataFrame({"run": ["a"], "largest": [np.ptp(points)]}), of_chains


def test_chains_at_two_solutions_are_told_from_a_sampler_that_crosses():
    rng = np.random.default_rng(0)
    chain = np.repeat([0, 1], 50)
    # Two known solutions 36.9° apart; each chain wanders by tenths of a degree around its own.
    (row,) = structure.pooled_only(*spans(36.9 * chain + 0.1 * rng.random(100), chain)).itertuples()
    assert (row.run, row.chains) == ("a", 2)
    assert row.largest == pytest.approx(36.9, abs=0.2) and row.widest < 0.1
    # A sampler that crosses: each chain has been at both.
    crossing = 36.9 * (np.arange(100) % 2) + 0.1 * rng.random(100)
    assert structure.pooled_only(*spans(crossing, chain)).empty


def test_chains_of_independent_draws_are_hardly_ever_said_to_be_apart():
    chain = np.repeat(np.arange(4), 25)
    rng = np.random.default_rng(0)
    said = [len(structure.pooled_only(*spans(rng.normal(size=100), chain))) for _ in range(200)]
    assert sum(said) <= 2


def test_chains_are_drawn_beside_the_curve_that_pools_them():
    curves = pd.DataFrame({"run": "a", "epsilon": [0.0, 1.0, 36.9], "covering": [4, 2, 1]})
    one = curves.assign(chain=0, covering=[2, 1, 1])
    styles = run_styles([("a", "gibbs", "Gibbs"), ("b", "hmc", "HMC")])
    chains = pd.concat([one, one.assign(chain=1)])
    figure = persistence_plot(curves, styles, "angle", "°", chains=chains)
    pooled, *single = figure.data
    assert pooled.name == "Gibbs" and list(pooled.y) == [4, 2, 1]
    assert [list(line.y) for line in single] == [[2, 1, 1]] * 2
    assert {line.line.color for line in single} == {pooled.line.color}
    assert {line.line.width < pooled.line.width for line in single} == {True}
    assert [line.showlegend for line in single] == [True, False]
    assert "chain 2:" in single[1].hovertemplate
