"""What a notebook shows of data, factorizations and findings: small, escaped, and true."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset, RunSpec, load_sample, run
from bnmf_core.core import html
from bnmf_core.findings.answer import Answer, Finding
from bnmf_core.findings.facts import fact

HOSTILE = "<script>alert('&')</script>"


def parsed(text: str) -> ElementTree.Element:
    """The HTML, which is well-formed and small."""
    assert len(text) < 20_000 and "<script" not in text
    return ElementTree.fromstring(text)


def darkness(text: str, shape: tuple[int, int]) -> np.ndarray:
    drawn = np.zeros(shape)
    for cell in parsed(text).iter("rect"):
        drawn[int(cell.get("y")), int(cell.get("x"))] = float(cell.get("fill-opacity"))
    return drawn


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_a_matrix_is_drawn_as_means_of_its_blocks(kind):
    X = np.random.default_rng(0).gamma(0.3, 1.0, (36, 48)) * np.arange(1, 49)
    data = Dataset.from_array(kind(X), name=HOSTILE, labels={HOSTILE: ["a"] * 48}, unit="counts")
    means = X.reshape(12, 3, 24, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(
        darkness(data._repr_html_(), (12, 24)), means / means.max(), rtol=0.06, atol=0.006
    )
    said = "".join(parsed(data._repr_html_()).itertext())
    assert "36 features × 48 observations" in said and "counts" in said and HOSTILE in said


def test_entries_that_are_missing_count_nothing():
    X = np.full((4, 6), 2.0)
    X[0, 0] = X[1, 1] = np.nan
    X[2:] = 1.0
    drawn = darkness(Dataset.from_array(X)._repr_html_(), (4, 6))
    assert drawn[1, 0] == 1.0 and (drawn[2:] == 0.5).all() and drawn[0, 0] == 0.0
    assert "2 entries" in Dataset.from_array(X)._repr_html_()


def test_large_data_are_shown_without_a_picture(monkeypatch):
    monkeypatch.setattr(html, "MOST_ENTRIES", 5)
    assert "<svg" not in Dataset.from_array(np.ones((2, 3)))._repr_html_()


def test_samples_are_small():
    for name in ("digits", "newsgroups"):
        parsed(load_sample(name)._repr_html_())


def test_particles_show_how_their_errors_spread(small):
    settings = {"max_iterations": 20}
    particles = run(small, RunSpec("random_restarts", 3, particles=40, settings=settings))
    text = particles._repr_html_()
    said = "".join(parsed(text).itertext())
    told = re.search(r"error([\d.e-]+) to ([\d.e-]+), median ([\d.e-]+)converged", said)
    low, high, median = map(float, told.groups())
    error = np.sort(particles.error)
    assert [low, high, median] == pytest.approx(
        [error[0], error[-1], (error[19] + error[20]) / 2], rel=1e-3
    )
    bars = [float(bar.get("height")) for bar in parsed(text).iter("rect")]
    counts = [n for n in np.histogram(error, 24)[0] if n]
    assert bars == pytest.approx([12 * n / max(counts) for n in counts], abs=0.01)
    assert "<svg" not in particles.subset(np.array([0]))._repr_html_()


def test_an_answer_lists_its_findings_with_their_doubts(monkeypatch):
    doubtful = Finding("modes", [fact("basin", share=0.62, mode=1)] * 2, "overview", [HOSTILE])
    certain = Finding("fit", [fact("basin", share=0.25, mode=2)], "quality")
    monkeypatch.setattr(Answer, "findings", [doubtful, certain])
    comparison = SimpleNamespace(dataset=SimpleNamespace(name=HOSTILE))
    shown = parsed(Answer(comparison, "max_angle", SimpleNamespace(count=2))._repr_html_())
    assert [cell.text for cell in shown.iter("th")] == [doubtful.sentence, certain.sentence]
    assert [cell.text for cell in shown.iter("td")] == [doubtful.doubt, "—"]
    assert HOSTILE in doubtful.sentence
