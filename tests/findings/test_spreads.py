"""What turns components, in one sentence: only what is known, and the farthest of it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import Dataset
from bnmf_core.analysis.resampling import Kind
from bnmf_core.findings.facts import plain, say
from bnmf_core.findings.spreads import Spreads, facts, spreads, with_standing

NAN = float("nan")


def found(counts=None, samples=None, draws=None, modes=(), mass=(), weighty=(), **more) -> Spreads:
    """Spreads of as many components as an upper end has numbers."""
    ends = {"counts": counts, "samples": samples, "draws": draws}
    known = {kind: np.array(end, float) for kind, end in ends.items() if end is not None}
    R = len(next(iter([*known.values(), *modes])))
    intervals = {kind: np.outer(end, [0.2, 0.5, 1.0]) for kind, end in known.items()}
    angles = np.array(modes, float).reshape(-1, R)
    others = np.arange(1, 1 + len(angles))
    names = [f"component {r + 1}" for r in range(R)]
    resamples = {kind: (40, 40) for kind in known if kind != "draws"}
    given = (intervals, {}, resamples, others, angles, np.array(mass), np.array(weighty, bool))
    return Spreads(0, names, *given, more.get("unsettled", False))


def test_the_sentence_is_about_the_component_that_turns_farthest_and_says_what_turns_it():
    one = found([5, 2, 8], [1, 3, 12], [2, 2, 4], modes=[[9, 30, 71]], mass=[0.3], weighty=[True])
    assert say(facts(one)) == (
        "Component 3 turns most: by up to about 8° when the counts are drawn again, 12° when "
        "samples are left out, 71° from mode to mode and 4° among draws within mode 1."
    )
    (fact,) = facts(one)
    numbers = {"counts": 8.0, "samples": 12.0, "modes": 71.0, "draws": 4.0}
    assert {key: plain(fact)[key] for key in numbers} == numbers
    assert say(facts(one, 0)).startswith("Component 1 turns by up to about 5° when the counts")


def test_what_turns_another_component_most_is_not_said_of_this_one():
    one = found([18, 17, 19], [9, 7, 11], [15, 20, 16])
    assert (
        say(facts(one)) == "Component 2 turns most: by up to about 20° among draws within mode 1."
    )


def test_only_what_is_known_is_said():
    assert say(facts(found(samples=[3.14, 20.6]))) == (
        "Component 2 turns most: by up to about 21° when samples are left out."
    )
    assert "mass unknown" in say(facts(found([2.0], modes=[[40]], mass=[NAN], weighty=[True])))
    light = say(facts(found([2.0, 3.0], modes=[[40, 80]], mass=[0.001], weighty=[False])))
    assert light == "Component 2 turns most: by up to about 3° when the counts are drawn again."
    nothing = found(modes=[[40, 80]], mass=[0.001], weighty=[False])
    assert facts(nothing) == [] and nothing.farthest == {}
    unmixed = say(facts(found([2.0, 3.0], unsettled=True)))
    assert unmixed.endswith("again. Chains within mode 1 have not mixed and are not shown.")


def test_no_component_turns_most_where_all_turn_alike():
    same = found(samples=[0, 1e-6, 0], modes=[[36.87, 36.87, 36.9]], mass=[0.5], weighty=[True])
    assert say(facts(same)) == (
        "All components turn alike: by up to about 0° when samples are left out and 37° from mode "
        "to mode."
    )


@pytest.mark.parametrize(
    ("ends", "words"),
    [([0.0, 1e-9], "0.1°"), ([0.2, 0.31], "0.4°"), ([0.2, 0.3], "0.3°"), ([1.0, 0.2], "1°")],
)
def test_components_that_hardly_turn_are_not_compared(ends, words):
    said = say(facts(found(samples=ends, draws=[0.0, 0.0])))
    assert said == (
        f"No component turns by more than {words} when samples are left out and among draws within "
        "mode 1."
    )
    assert say(facts(found(samples=[4.0]))).startswith("Component 1 turns by up to about 4° when")


def turned(degrees: float, rng) -> np.ndarray:
    """(4, 2) a basis whose second component is turned by so many degrees."""
    angle = np.radians(degrees)
    return np.array([[1.0, 0, 0, 0], [0, np.cos(angle), np.sin(angle), 0]]).T * rng.uniform(1, 9, 2)


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_the_component_whatever_its_place_in_each_factorization(seed):
    rng = np.random.default_rng(seed)
    degrees = [0.0, 30.0, 70.0]
    swap = [rng.permutation(2) for _ in degrees]
    A = np.array([turned(one, rng)[:, order] for one, order in zip(degrees, swap, strict=True)])
    first = A[0][:, [int(np.flatnonzero(swap[0] == r)[0]) for r in (0, 1)]]
    angles = rng.uniform(0, 20, (40, 2))
    comparison = SimpleNamespace(
        of_tiles=False,
        optima=np.ones(3, bool),
        dataset=Dataset.from_array(np.ones((4, 2))),
        bases=lambda rows: A[np.asarray(rows, int)],
        aligned=lambda rows: np.array([first, first]),
    )
    mass = [0.6, 0.3, 0.004]
    table = pd.DataFrame(
        {"mass": mass, "mass_high": mass, "joined": [0, 1, 2], "as_good_as_best": True}
    )
    resampled = SimpleNamespace(
        row=0,
        kinds={"counts": Kind("no counts"), "samples": Kind("", 40, 39)},
        angles={"samples": angles[:, swap[0]]},
    )
    answer = SimpleNamespace(
        comparison=comparison,
        table=table,
        modes=SimpleNamespace(labels=np.arange(3), representative=np.arange(3)),
        resampling=resampled,
        posterior=None,
        mode_names=["mode 1", "mode 2", "mode 3"],
        named=SimpleNamespace(components=lambda A: []),
    )
    one = spreads(answer)
    np.testing.assert_allclose(one.angles, [[0, 30], [0, 70]], atol=1e-6)
    assert one.weighty.tolist() == [True, False] and one.others.tolist() == [1, 2]
    expected = np.quantile(angles, [0.05, 0.5, 0.95], axis=0).T
    np.testing.assert_allclose(one.intervals["samples"], expected)
    assert one.missing == {"counts": "no counts", "draws": ""} and one.resamples["samples"][1] == 39
    assert say(facts(one)).startswith("Component 2 turns most")
    assert "30° from mode to mode" in say(facts(one))
    assert len(one.table) == 2 + 2 * 2
    answer.resampling.row = 1  # another mode was the best at another threshold
    assert "Another mode" in spreads(answer).missing["samples"]
    comparison.of_tiles = True
    assert spreads(answer) is None


def test_modes_that_do_not_count_say_so_beside_those_that_do():
    def standing(mass, good=(True, False, False), high=None):
        known = {"mass": mass, "mass_high": high or mass, "as_good_as_best": good}
        table = pd.DataFrame(known | {"joined": range(3)})
        return with_standing(table, ["mode 1", "mode 2", "mode 3 (late)"])

    assert standing([0.9, 0.001, np.nan]) == [
        "mode 1",
        "mode 2 (hardly any mass)",
        "mode 3 (late) (not weighed)",
    ]
    # What may have mass, as far as its error tells, counts.
    unsure = standing([0.999, 0.001, 0.0], high=[1.0, 0.9, 0.0])
    assert unsure[1:] == ["mode 2", "mode 3 (late) (hardly any mass)"]
    assert standing([np.nan] * 3)[1:] == ["mode 2 (fits worse)", "mode 3 (late) (fits worse)"]
    assert standing([np.nan] * 3, [False] * 3) == ["mode 1", "mode 2", "mode 3 (late)"]
