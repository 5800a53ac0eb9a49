"""Rules of the criteria: an answer inside the range settles, one at its end does not."""

import numpy as np
import pytest

from bnmf_core.evidence.criteria import (
    by_evidence,
    by_hidden,
    by_modes,
    by_stability,
    spread_of_sum,
)

RANKS = np.array([2, 3, 4, 5])


def evidence(values, error=0.5):
    return by_evidence(RANKS, np.array(values), np.full(4, error), "σ is 1 at every rank.")


def test_a_maximum_inside_settles_and_names_what_it_cannot_tell_from_it():
    alone = evidence([-90.0, -20.0, -30.0, -40.0])
    assert (alone.chosen, alone.runners_up, alone.settles) == (3, (), True)
    assert alone.said == "It chooses rank 3."
    # Two standard errors of the difference are 2·√2·0.5 nats.
    near = evidence([-21.5, -20.0, -21.3, -40.0])
    assert (near.chosen, near.runners_up, near.settles) == (3, (4,), True)
    assert near.said == "It chooses rank 3, and cannot tell rank 4 from it."
    # Within a nat no error is small enough.
    assert evidence([-21.1, -20.0, -20.9, -40.0], error=0.0).runners_up == (4,)


@pytest.mark.parametrize(("lead", "error", "chosen"), [(2.9, 2.0, 3), (3.1, 2.0, 4), (1.1, 0.1, 4)])
def test_of_ranks_that_are_not_told_apart_the_smallest_is_chosen(lead, error, chosen):
    """Within the errors, and not where a rank leads strongly."""
    found = evidence([-90.0, -20.0 - lead, -20.0, -40.0], error)
    assert found.chosen == chosen and (3 in found.runners_up) == (lead == 3.1)


@pytest.mark.parametrize(
    ("values", "chosen", "words"),
    [
        ([-4.0, -3.0, -2.0, 9.0], 5, "still grows at rank 5, the largest"),
        ([9.0, -3.0, -4.0, -5.0], 2, "best at rank 2, the smallest tried"),
        ([-9.0, -3.0, 1.5, 1.0], 4, "rank 5, the largest tried, is as good as the best, rank 4"),
        ([-9.0, -3.0, 1.5, np.nan], 4, "still grows at rank 4"),
    ],
)
def test_a_maximum_at_the_end_does_not_settle_and_says_what_was_assumed(values, chosen, words):
    found = evidence(values)
    assert (found.chosen, found.settles) == (chosen, False)
    assert words in found.said
    assert found.said.endswith("σ is 1 at every rank.")


def test_a_best_rank_of_one_is_no_end():
    found = by_evidence(np.array([1, 2, 3]), np.array([0.0, -9.0, -9.0]), np.zeros(3), "")
    assert (found.chosen, found.settles) == (1, True)


def test_hidden_errors_are_compared_block_by_block():
    """All blocks agree on the order, though they differ from each other by much more."""
    of_blocks = np.array([1.0, 5.0, 9.0, 13.0])
    worse = np.array([[0.5], [0.0], [0.2], [0.4]])
    uneven = worse * np.array([0.9, 1.0, 1.1, 1.0])
    found = by_hidden(RANKS, of_blocks + uneven, 4)
    assert (found.chosen, found.runners_up, found.settles) == (3, (), True)
    uneven[2] = [0.4, -0.2, 0.3, -0.3]
    assert by_hidden(RANKS, of_blocks + uneven, 4).runners_up == (4,)
    nothing = by_hidden(RANKS, np.full((4, 4), np.nan), 4)
    assert (nothing.chosen, nothing.settles) == (None, False)
    unknown = np.where(RANKS[:, None] == 5, np.nan, of_blocks + worse)
    assert by_hidden(RANKS, unknown, 4).chosen == 3


def test_the_fewest_components_with_as_small_an_error_on_hidden_entries_are_chosen():
    """Ranks 3 to 5 differ by less than blocks that overlap can tell; rank 2 is far behind."""
    blocks = np.array([[9.0] * 4, [1.1, 0.9, 1.2, 1.0], [1.0] * 4, [0.9, 1.1, 0.8, 1.1]])
    found = by_hidden(RANKS, blocks, 4)
    assert (found.chosen, found.runners_up, found.settles) == (3, (4, 5), True)


def test_blocks_that_share_entries_tell_less_than_as_many_that_do_not():
    worse = np.tile([0.35, -0.05, 0.55, 0.05], 4)
    correlation, count = 0.25, worse.size
    variance = sum((value - worse.mean()) ** 2 for value in worse) / (count - 1)
    spread = count * (variance * (1 / count + correlation / (1 - correlation))) ** 0.5
    assert spread_of_sum(worse[None], 4) == pytest.approx([spread])
    # Blocks of their own would tell these ranks apart.
    assert 2 * (variance * count) ** 0.5 < worse.sum() < 2 * spread
    squared = 1.0 + np.vstack([np.full(16, 9.0), worse, np.zeros((2, 16))])
    for more, chosen, runners_up in ((-0.15, 3, (4, 5)), (0.0, 4, (3, 5)), (0.3, 4, (5,))):
        found = by_hidden(RANKS, squared + np.array([0, more, 0, 0])[:, None], 4)
        assert (found.chosen, found.runners_up, found.settles) == (chosen, runners_up, True)


def test_hidden_errors_that_tell_no_rank_from_another_settle_nothing():
    found = by_hidden(
        RANKS, np.array([[9.0, 1, 1, 1], [1, 9, 1, 1], [1, 1, 9, 1], [1, 1, 1, 8]]), 4
    )
    assert not found.settles
    assert "none of the ranks tried" in found.problem


def test_the_largest_rank_that_holds_is_chosen():
    found = by_stability(RANKS, np.array([1.0, 12.0, 2.0, 30.0]), 10.0)
    assert (found.chosen, found.runners_up, found.settles) == (4, (2,), True)
    assert "rank 2" in found.said
    on = by_modes(RANKS, np.array([1, 1, 1, 1]), 10.0)
    assert (on.chosen, on.settles) == (5, False)
    assert "still holds at rank 5" in on.said
    none = by_modes(RANKS, np.array([2, 3, 4, 4]), 10.0)
    assert (none.chosen, none.runners_up, none.settles) == (None, (), False)
