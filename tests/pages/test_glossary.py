"""The glossary: every term has a meaning and a page, and is found by its words."""

import pytest

from bnmf_core.compare.settled import LARGEST_R_HAT, SMALLEST_SIZE
from bnmf_core.registry import ALGORITHMS
from pages.frame import declared
from pages.glossary_parts.terms import terms
from tests.pages.apps import page, words


def test_every_term_has_a_meaning_and_a_page():
    pages = {one.key for one in declared.PAGES}
    for term in terms():
        assert term.about.endswith(".") and term.page in pages
    names = [term.name for term in terms()]
    assert names == sorted(set(names), key=str.lower)


@pytest.mark.parametrize(
    "key",
    ["q_transform", "rrt", "nvi", "box_gibbs", "iasg", "panpal", "metropolis", "langevin"],
)
def test_names_of_algorithms_that_are_not_common_are_among_them(key):
    label = ALGORITHMS[key].label
    assert any(label in term.name for term in terms())


def test_the_drawer_opens_and_terms_are_found_by_words_of_their_meaning(server):
    app = page("study")
    app.button(key="glossary").click().run()
    assert not app.exception and "Posterior mass of a mode" in words(app)
    found = [term.name for term in terms() if term.holds("covering balls")]
    assert "Covering number" in found and "Posterior mass of a mode" not in found


def test_the_limits_of_settled_chains_are_those_of_the_engine():
    (about,) = (term.about for term in terms() if term.name == "Settled chains")
    four, one = LARGEST_R_HAT[-1], LARGEST_R_HAT[0]
    assert f"R̂ ≤ {four:g} and an ESS of {SMALLEST_SIZE[-1]:g} or more, one" in about
    assert f"R̂ ≤ {one:g} and an ESS of {SMALLEST_SIZE[0]:g} or more." in about
