"""Every work that is cited in short is known in full."""

import re
import tomllib
from pathlib import Path

import pytest

from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.papers import PAPERS, WORKS, cited
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS
from bnmf_core.solvers import SOLVERS

TERMS = Path(__file__).parents[2] / "pages/glossary_parts/terms.toml"
KINDS = (ALGORITHMS, MODELS, DISTANCES, SOLVERS)
REFERENCES = {
    **{key: one.reference for kind in KINDS for key, one in kind.items()},
    **{
        term["name"]: term["source"]
        for term in tomllib.loads(TERMS.read_text("utf-8"))["term"]
        if "source" in term
    },
}


@pytest.mark.parametrize("what", REFERENCES)
def test_what_is_named_by_author_or_number_is_cited_in_full(what):
    text = REFERENCES[what]
    works = cited(text)
    years = re.findall(r"\b(?:19|20)\d\d\b", text)
    papers = re.findall(r"\bpaper (\d)", text)
    # A work may be named both by its authors and by its number.
    named = {PAPERS[int(number)] for number in papers}
    assert named <= {work.split(": ", 1)[1] for work in works}
    assert all(any(year in work for work in works) for year in years)
    assert max(len(set(years)), len(named)) <= len(works) <= len(years) + len(named)


@pytest.mark.parametrize("short", WORKS)
def test_a_work_has_its_authors_a_title_a_place_and_its_year(short):
    authors, title = WORKS[short].split(": ", 1)
    *names, year = re.split(r", | & | ", short)
    assert all(name in authors for name in names if name not in ("others",))
    assert title.endswith(f"{year}.") and len(title.split(", ")) >= 3


def test_and_may_be_written_out_and_a_longer_name_is_another_work():
    assert cited("Lee and Seung 2001") == cited("Lee & Seung 2001") != []
    assert cited("Masood, Pan & Doshi-Velez 2016 (paper 1)")[0].startswith("paper 1: ")
    assert len(cited("Masood, Pan & Doshi-Velez 2016 (paper 1)")) == 1
    assert cited("Neal 20011; Someone 1990") == []
