"""Excerpts: nothing is lost between pieces, and the part with most words of the topic is taken."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.compare.excerpts import excerpt
from tests.generated import always


def test_words_are_marked_in_any_case_and_only_whole():
    found = excerpt("Orbits? An orbit, ORBIT.\n  Moon-orbit!", {"orbit", "moon"})
    assert [piece for piece, marked in found if marked] == ["orbit", "ORBIT", "Moon", "orbit"]
    assert "".join(piece for piece, _ in found) == "Orbits? An orbit, ORBIT. Moon-orbit!"


def test_the_part_with_most_of_the_words_is_taken():
    filler = "nothing of it " * 60
    found = excerpt(f"moon {filler} moon orbit moon {filler} moon", {"moon", "orbit"}, 100)
    shown = "".join(piece for piece, _ in found)
    assert [piece for piece, marked in found if marked] == ["moon", "orbit", "moon"]
    assert shown.startswith("… ") and shown.endswith(" …") and len(shown) < 110


def test_a_text_without_any_begins_at_its_beginning():
    assert excerpt("word " * 50, {"moon"}, 12) == [("word word", False), (" …", False)]
    assert excerpt("", {"moon"}) == []
    assert excerpt("x" * 50, {"moon"}, 12) == [("x" * 12, False), (" …", False)]


@given(seed=st.integers(0, 10_000), longest=st.integers(5, 80))
@always(60)
def test_pieces_are_a_part_of_the_text(seed, longest):
    rng = np.random.default_rng(seed)
    words = np.array(["moon", "a", "ORBIT", "<b>", "goal,", "naïve", "-"])
    text = " ".join(rng.choice(words, rng.integers(0, 40)))
    pieces = excerpt(text, {"moon", "orbit"}, longest)
    shown = "".join(piece for piece, _ in pieces).removeprefix("… ").removesuffix(" …")
    assert shown in text and len(shown) <= max(longest, len(text) * (len(text) <= longest))
    assert {piece.lower() for piece, marked in pieces if marked} <= {"moon", "orbit"}
