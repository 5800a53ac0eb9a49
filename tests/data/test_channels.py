"""Names spell the channels of COSMIC, in any order and spelling."""

import numpy as np
import pytest

from bnmf_core import load_file, load_sample
from bnmf_core.data.channels import CHANNELS, channel, channels
from bnmf_core.figures.gallery import basis_bars
from bnmf_core.figures.substitutions import substitutions

# Before, base, change and behind: b, r, a, e.
SPELLINGS = {
    "COSMIC": "{b}[{r}>{a}]{e}",
    "round brackets": "{b}({r}>{a}){e}",
    "both contexts": "{b}{r}{e}>{b}{a}{e}",
    "comma, dash": "{r}>{a},{b}-{e}",
    "context first": "{b}{r}{e}_{r}>{a}",
    "space, dot": "{r}>{a} {b}.{e}",
    "no arrow": "{r}{a} {b}.{e}",
    "colon": "{r}>{a}:{b}{r}{e}",
    "underlines": "{b}_{r}>{a}_{e}",
    "two words": "{r}>{a} {b}{r}{e}",
}


def spelled(form, one):
    base, becomes = one.substitution.split(">")
    return SPELLINGS[form].format(b=one.context[0], r=base, a=becomes, e=one.context[2])


def test_there_are_96_in_the_order_of_cosmic_s_files():
    names = [one.name for one in CHANNELS]
    assert len(set(names)) == 96
    assert names == sorted(names)
    assert names[:5] == ["A[C>A]A", "A[C>A]C", "A[C>A]G", "A[C>A]T", "A[C>G]A"]


@pytest.mark.parametrize("lower", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize("form", SPELLINGS)
def test_all_96_are_recognised_in_each_spelling_and_shuffled(form, lower):
    order = np.random.default_rng(3).permutation(96)
    names = [spelled(form, CHANNELS[d]) for d in order]
    names = [name.lower() if lower else name for name in names]
    found = channels(names)
    assert found.complete and found.matched == 96
    assert list(found.found) == [CHANNELS[d] for d in order]
    in_file = [found.found[d].name for d in found.file_order]
    assert in_file == [one.name for one in CHANNELS]
    drawn = [found.found[d] for d in found.drawn_order]
    assert [one.substitution for one in drawn] == sorted(one.substitution for one in CHANNELS)
    assert [one.context for one in drawn[:16]] == [f"{b}C{e}" for b in "ACGT" for e in "ACGT"]


@pytest.mark.parametrize("form", SPELLINGS)
def test_bars_stand_alike_whatever_the_order_and_the_spelling(form):
    rng = np.random.default_rng(5)
    A, order = rng.gamma(1.0, size=(1, 96, 1)) * 40, rng.permutation(96)
    straight = basis_bars(A, [one.name for one in CHANNELS], ["mode 1"]).data[0]
    names = [spelled(form, CHANNELS[d]) for d in order]
    shuffled = basis_bars(A[:, order], names, ["mode 1"]).data[0]
    np.testing.assert_allclose(shuffled.y, straight.y, rtol=1e-12)
    assert shuffled.marker.color == straight.marker.color
    assert sum(shuffled.y) == pytest.approx(1.0)
    assert straight.y[0] == pytest.approx(A[0, 0, 0] / A.sum())


@pytest.mark.parametrize(
    "name",
    [
        "A[C>C]A",
        "A[G>A]A",
        "AC>CA",
        "TP53",
        "ACA>ATG",
        "C>A,ATA",
        "ATA_C>A",
        "",
        "A[C>A]",
        "T:A[C>A]A",
    ],
)
def test_other_names_are_no_channel(name):
    assert channel(name) is None


@pytest.mark.parametrize("form", SPELLINGS)
def test_a_table_of_counts_has_the_channels_as_features(form):
    rng = np.random.default_rng(2)
    lines = [";".join(["", *(f"PD{n}a" for n in range(5))])]
    for one in CHANNELS:
        lines.append(";".join([spelled(form, one), *map(str, rng.poisson(9, 5))]))
    data = load_file("\n".join(lines).encode(), filename="counts.csv")
    assert (data.D, data.N) == (96, 5)
    assert channels(data.features).complete


def test_what_is_missing_unknown_or_twice_is_named():
    names = [one.name for one in CHANNELS[1:]] + ["total", "acc>aac"]
    found = channels(names)
    assert (found.matched, found.missing) == (95, ("A[C>A]A",))
    assert found.unmatched == ("total", "acc>aac") and not found.complete
    assert found.summary == (
        "95 of 96 channels were recognised. Missing: A[C>A]A. "
        "Not a channel, or a repeated one: total and acc>aac."
    )
    assert substitutions(names) is None


def test_the_sample_has_all():
    assert channels(load_sample("signatures").features).complete
