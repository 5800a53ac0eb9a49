"""Which optimum draws belong to, whether chains have settled, and the mixture of settled modes."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.analysis import basins, chains, posterior, structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import compute
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances import find_distance
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.findings import components
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.launch import run_names
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share.naming import styles_of
from bnmf_core.store.run_store import RunStore

pytestmark = pytest.mark.slow

MODEL = {"sigma": 0.05, "rate": 1.0}
STAGES = ("structure", "chains", "posterior")


def compared(folder, *specs):
    """A comparison of runs on the matrix with two solutions of equal mass."""
    data = laurberg("two", a=0.5)
    store = RunStore(folder)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, specs)
        runner.wait(run_ids)
    found = open_comparison(store, run_ids)
    compute(found, lambda fraction, stage: None, lambda: False, STAGES)
    return found


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Restarts, chains that are long enough, and chains that are cut short."""
    long = {"chains": 4, "longest": 20_000, "start": "known"}
    short = {"chains": 4, "warm_up": 0, "thinning": 1, "start": "prior"}
    return compared(
        tmp_path_factory.mktemp("two"),
        RunSpec("random_restarts", rank=3, particles=30, model_settings=MODEL),
        RunSpec("gibbs", rank=3, particles=400, settings=long, model_settings=MODEL),
        RunSpec("gibbs", rank=3, particles=100, settings=short, model_settings=MODEL),
    )


def test_draws_belong_to_the_known_solution_that_a_solver_reaches(two):
    ends = basins.STAGE.of(two).ends
    drawn = ~two.optima
    assert (ends[two.optima] == basins.UNKNOWN).all()
    assert two.optima[ends[drawn][ends[drawn] >= 0]].all()
    # A chain that starts at one of the two exact solutions stays in its basin, a long way out.
    truth = two.dataset.truth
    known = np.stack([t.A for t in truth]), np.stack([t.W for t in truth])
    long_run = two.members["run"] == two.run_ids[1]
    rows = np.flatnonzero(long_run)
    apart = cross(*two.factors(ends[rows]), *known, find_distance("max_angle"))
    assert (apart.min(axis=1) < 2.0).all()
    modes = structure.modes_at(two, "max_angle", 15.0)
    assert (modes.labels[rows] == modes.labels[ends[rows]]).all()


def test_long_chains_have_settled_and_short_ones_have_not(two):
    _, long, short = two.run_ids
    verdicts = chains.STAGE.of(two)
    assert set(verdicts.by_run) == {long, short}  # restarts are no chains
    assert verdicts.by_run[long].settled
    assert verdicts.by_run[long].r_hat <= 1.05 or verdicts.by_run[long].modes > 1
    assert not verdicts.by_run[short].settled
    assert verdicts.settled is False and [one.run for one in verdicts.unsettled] == [short]
    assert "have not settled" in verdicts.by_run[short].sentence
    styles = styles_of(two)
    assert styles[short].label == f"{run_names(two.runs)[short]}, not settled"
    assert styles[long].label == run_names(two.runs)[long]


def test_nothing_is_said_from_draws_that_have_not_settled(two):
    found = Answer(two, "max_angle", structure.modes_at(two, "max_angle", 15.0))
    assert found.facts["draws"] == []
    assert found.withheld[0]["said"] == "Where the Gibbs draws lie"
    (of_chains,) = [finding for finding in found.findings if finding.key == "chains"]
    assert of_chains.sentence == chains.STAGE.of(two).unsettled[0].sentence


def test_the_mixture_has_half_of_its_mass_at_each_of_the_two_solutions(two):
    found = posterior.STAGE.of(two)
    assert found.problem == "" and len(found.modes) == 2
    assert found.settled, found.reason
    masses = [mode.mass for mode in found.modes]
    assert sum(masses) == pytest.approx(1.0)
    assert found.modes[0].low < 0.5 < found.modes[0].high + 0.1
    assert abs(masses[0] - 0.5) < 0.25
    for k, mode in enumerate(found.modes):
        assert mode.left <= posterior.MOST_LEFT
        # Quantiles of shares lie around those of the optimum, in its order.
        A, _ = two.factors([mode.row])
        shares = A[0] / A[0].sum(axis=0)
        low, middle, high = found.draws[k]["loadings"]
        assert (low <= middle).all() and (middle <= high).all()
        assert ((low <= shares + 0.15) & (shares - 0.15 <= high)).all()


def test_chains_that_have_not_settled_go_on_four_times_as_long(two, tmp_path, monkeypatch):
    sum_up, few = posterior._summed_up, posterior.CHAINS * posterior.DRAWS

    def unsure_at_first(*of):
        A, mode = of[5], sum_up(*of)
        first = len(A) == few and of[3] == 0
        return replace(mode, settled=False, reason="Not yet.") if first else mode

    monkeypatch.setattr(posterior, "_summed_up", unsure_at_first)
    posterior.STAGE.compute(two, tmp_path, lambda part: None, lambda: False)
    found = posterior.STAGE.read(two, tmp_path)
    assert [len(each["turned"]) for each in found.draws] == [4 * few, few]
    assert found.settled and [mode.row for mode in found.modes] == [
        mode.row for mode in posterior.STAGE.of(two).modes
    ]


def test_a_mode_of_little_mass_hardly_moves_the_quantiles_of_the_mixture():
    rng = np.random.default_rng(0)
    values = np.stack([0.9 + 0.01 * rng.random(20), 0.5 + 0.01 * rng.random(20)])
    known = np.array([[0.8, 0.8, 0.8], [0.2, 0.2, 0.2]])
    copies = np.sort(np.concatenate([np.repeat(values[0], 4), values[1]]))
    mean, low, high = posterior.mixed(values, known)
    assert mean == pytest.approx(copies.mean())
    assert copies[4] <= low <= copies[5] and copies[94] <= high <= copies[95]
    rare = np.array([[0.99, 0.98, 1.0], [0.01, 0.0, 0.02]])
    assert posterior.mixed(values, rare)[1] > 0.89
    unsure = np.array([[0.99, 0.5, 1.0], [0.01, 0.0, 0.5]])
    assert posterior.mixed(values, unsure)[1] < 0.51


def test_where_nothing_is_exact_there_is_no_verdict(tmp_path):
    found = compared(
        tmp_path, RunSpec("random_restarts", rank=3, particles=6, model_settings=MODEL)
    )
    assert chains.STAGE.of(found).settled is None


def test_facts_of_another_mode_have_the_numbers_of_the_first(two, monkeypatch):
    modes = structure.modes_at(two, "max_angle", 15.0)
    answer = Answer(two, "max_angle", modes)
    first, other = (int(row) for row in modes.representative[:2])
    monkeypatch.setattr(components, "most_probable", lambda table: 1)
    facts, own = components.component_facts(answer), components.component_facts(answer, other)
    order = matching(two.aligned([other]), two.aligned([first])[0])[0]
    np.testing.assert_array_equal(facts.found_again, own.found_again[order])
    np.testing.assert_array_equal(facts.held, own.held[order])


def test_what_is_worst_is_farthest_beyond_its_limit(two):
    found = chains.STAGE.of(two)
    for run, verdict in found.by_run.items():
        table = found.table(run)
        assert verdict.worst == table["quantity"][table["strain"].argmax()]
        assert verdict.settled == (table["strain"] <= 1.0).all()
        assert set(table["quantity"]) <= set(found.series(run))
