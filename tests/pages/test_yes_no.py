"""The lesson of three numbers: what it says is what is derived, whatever is asked."""

import pytest

from bnmf_core.boolean.three_variables import ThreeVariables
from pages.lessons_parts import yes_no_sentences as said
from tests.pages.apps import page, words


def asked(a, b, c, prior="flat", printed=False):
    app = page("lessons", lesson="yes_no")
    for name, value in zip("abc", (a, b, c), strict=True):
        app.slider(key=f"yes_no_{name}_1").set_value(float(value))
    app.session_state["yes_no_prior_1"] = prior
    app.toggle(key="yes_no_printed_1").set_value(printed)
    app.run()
    assert not app.exception and not app.error
    return app


def test_the_lesson_opens_on_a_contradiction(server):
    app = page("lessons", lesson="yes_no")
    assert not app.exception
    shown = words(app)
    assert "No choice of 0 and 1" in shown and "squared error of 1." in shown
    assert "x = 0.68, y = 0.68, z = 1.00: two numbers lie in between" in shown
    assert len(app.get("plotly_chart")) == 2


@pytest.mark.parametrize(
    ("case", "prior", "printed", "told"),
    [
        ((1, 0, 0), "flat", False, "exactly: yes, yes, no for x, y and z"),
        ((1, 0, 0), "normal", False, "largest at x = 0.00, y = 0.00, z = 0.00"),
        ((1, 1, 1), "normal", False, "largest at x = 0.71, y = 0.71, z = 0.71: all three lie"),
        ((0, 0, 0), "flat", False, "4 choices of 0 and 1 explain a, b and c exactly"),
        ((1, 0, 0), "flat", True, "a poor fit of b and of c is rewarded"),
        ((1, 1, 0), "beta", False, "grows without bound at 0 and at 1"),
    ],
)
def test_the_page_says_what_the_numbers_are(server, case, prior, printed, told):
    app = asked(*case, prior, printed)
    assert told in words(app)
    found = ThreeVariables(*case, prior, printed)
    assert said.means(found) in words(app).replace("\\", "")
    bars = app.get("plotly_chart")[1].proto.spec
    assert ("largest density" in bars.split("layout")[0]) == found.bounded


def test_sentences_say_why_a_maximum_is_where_it_is():
    assert "opposite of the maximum for z." in said.means(ThreeVariables(0, 1, 1, "laplace"))
    assert "cut at ½, both say the same" in said.means(ThreeVariables(1, 1, 1))
    assert "settle little" in said.means(ThreeVariables(0, 0, 0))
    assert "along whole lines" in said.largest(ThreeVariables(0, 0, 0))
    assert "prior outweighs" in said.largest(ThreeVariables(1, 0, 0, "normal"))
    assert "prior" not in said.largest(ThreeVariables(1, 0, 0))
    assert "the prior pulls" in said.largest(ThreeVariables(1, 1, 1, "normal"))
    assert "shared out" in said.largest(ThreeVariables(0, 1, 1, "normal"))
    two = said.largest(ThreeVariables(1, 0, 0, "laplace", printed=True))
    assert "in two places" in two
