"""Samples that change group: planted ones are named with the right numbers, others never."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.analysis import structure
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.findings.regrouped import Regrouped, regrouped
from bnmf_core.findings.spreads import DRAWS, MODES

N = 6


def planted(mass=(0.7, 0.3), settled=True, draws=10, resamples=True, seed=0):
    """Two modes whose last sample changes group; one draw of five doubts the first sample.

    Every factorization has its components in an order of its own.
    """
    rng = np.random.default_rng(seed)
    A = np.eye(4)[:, :2]
    W = np.full((2, N), 0.1)
    W[0, :3] = W[1, 3:] = 0.9
    other, doubting = W.copy(), W.copy()
    other[:, 5] = 0.6, 0.4
    doubting[:, 0] = 0.2, 0.8
    weights = [W, other] + [doubting if k % 5 == 0 else W for k in range(draws)]
    orders = [rng.permutation(2) for _ in weights]
    all_A = np.array([A[:, order] for order in orders])
    all_W = np.array([one[order] for one, order in zip(weights, orders, strict=True)])
    labels = np.array([0, 1] + [0] * draws)
    comparison = SimpleNamespace(
        of_tiles=False,
        members=pd.DataFrame({"run": ["restarts"] * 2 + ["chain"] * draws}),
        factors=lambda rows: (all_A[list(rows)], all_W[list(rows)]),
        bases=lambda rows: all_A[list(rows)],
        aligned=lambda rows: np.array([A for _ in rows]),
    )
    # Sample 1 leaves its group in a quarter of the resamples, by numbers of the member.
    groups = np.repeat([[0, 0, 0, 1, 1, 1]], 8, axis=0)
    groups[:2, 1] = 1
    back = np.argsort(orders[0])
    found = SimpleNamespace(row=0, groups={"samples": back[groups]} if resamples else {})
    verdict = SimpleNamespace(run="chain", settled=settled)
    table = pd.DataFrame(
        {"mass": mass, "mass_high": mass, "joined": [0, 1], "as_good_as_best": True}
    )
    return SimpleNamespace(
        comparison=comparison,
        modes=SimpleNamespace(labels=labels, representative=np.array([0, 1])),
        table=table,
        verdicts=SimpleNamespace(by_run={"chain": verdict}),
        resampling=found,
    )


def sentences(found: Regrouped) -> list[str]:
    return [say(found.facts(int(n), f"s{n}", ["", "sun"], 2)) for n in found.changing]


@pytest.mark.parametrize("seed", range(4))
def test_each_number_is_that_of_its_kind(seed):
    found = regrouped(planted(seed=seed), 0)
    assert found.groups.tolist() == [0, 0, 0, 1, 1, 1]
    assert sentences(found) == [
        "s5: component 2 (sun) in mode 1 (share 90 %); component 1 in mode 2 (share 60 %); "
        "100 % of the draws within mode 1 assign it to component 2 (sun); 100 % of the resamples "
        "with samples left out assign it to component 2 (sun).",
        "s1: component 1 in modes 1 and 2 (share at least 90 %); 100 % of the draws within mode 1 "
        "assign it to component 1; 75 % of the resamples with samples left out assign it "
        "to component 1.",
        "s0: component 1 in modes 1 and 2 (share at least 90 %); 80 % of the draws within mode 1 "
        "assign it to component 1; 100 % of the resamples with samples left out assign it to "
        "component 1.",
    ]
    table = found.table([f"s{n}" for n in range(N)], [], 2)
    assert table["same group in modes"].tolist() == [0.5, 1.0, 1.0]
    assert table["same group in draws"].tolist() == [1.0, 1.0, 0.8]
    assert table["same group in samples"].tolist() == [1.0, 0.75, 1.0]


def test_numbers_are_those_of_loops_and_the_least_certain_comes_first():
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 3, 12)
    others = {
        kind: np.array([np.where(rng.random(12) < 0.2, (groups + 1) % 3, groups) for _ in range(m)])
        for kind, m in ((DRAWS, 9), ("counts", 5))
    }
    found = Regrouped(0, groups, others, (0,), np.ones((1, 12)))
    least = []
    for n in range(12):
        parts = [sum(int(g == groups[n]) for g in of[:, n]) / len(of) for of in others.values()]
        assert [found.agreed[kind][n] for kind in others] == pytest.approx(parts)
        least.append(min(parts))
    expected = sorted((part, n) for n, part in enumerate(least) if part < 1)
    assert found.changing.tolist() == [n for _, n in expected]


def test_nothing_is_said_from_unsettled_chains_or_modes_that_hardly_count():
    unsettled = regrouped(planted(settled=False), 0)
    assert DRAWS not in unsettled.others and "draws" not in " ".join(sentences(unsettled))
    light = regrouped(planted(mass=(0.999, 0.001)), 0)
    assert MODES not in light.others and 5 not in light.changing
    assert "mode 2" not in " ".join(sentences(light))
    assert sentences(light)[-1].startswith("s0: component 1 in mode 1 (share 90 %); 80 % of the")
    assert regrouped(planted(mass=(0.999, 0.001)), 1).others == {}


def test_resamples_of_another_mode_and_draws_elsewhere_are_not_asked():
    second = regrouped(planted(), 1)
    assert list(second.others) == [MODES] and second.modes == (1, 0)


def test_nothing_is_said_when_all_agree():
    found = regrouped(planted(mass=(1.0, 0.0), draws=0, resamples=False), 0)
    assert found.others == {} and found.changing.size == 0
    same = Regrouped(0, np.array([0, 1]), {DRAWS: np.array([[0, 1]] * 5)}, (0,), np.ones((1, 2)))
    assert same.changing.size == 0 and same.table(["a", "b"], [], 2).empty


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_the_two_solutions_of_laurberg_move_the_samples_that_their_weights_move(runner, noise):
    data = laurberg("two", noise=noise, rng=np.random.default_rng(0))
    run_ids = runner.start(data, [RunSpec("random_restarts", 3, particles=8)])
    comparison = runner.wait_analysis(run_ids, "structure")
    modes = structure.modes_at(comparison, "max_angle", SAME_MODE)
    assert modes.count == 2
    row = int(modes.representative[0])
    found = regrouped(Answer(comparison, "max_angle", modes), row)
    # At this noise the second fits worse by three nats, and no mass is known yet.
    assert list(found.others) == ([] if noise else [MODES])
    if noise:
        assert found.changing.size == 0
        return
    rows = modes.representative[list(found.modes)]
    A, W = comparison.aligned_factors(rows)
    for n in range(W.shape[2]):
        groups = []
        for k in range(2):
            parts = [A[k, :, r].sum() * W[k, r, n] for r in range(3)]
            groups.append(parts.index(max(parts)))
        assert (n in found.changing) == (groups[0] != groups[1])
    assert found.changing.size > 0
