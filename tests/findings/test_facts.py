"""Facts and their sentences: none without the other."""

import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from bnmf_core.findings.facts import fact, plain, say

PACKAGES = {"bnmf_core.findings": "", "bnmf_core.boolean": "bnmf_core.boolean:"}


def sentences(package: str) -> dict:
    return tomllib.loads(resources.files(package).joinpath("sentences.toml").read_text("utf-8"))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_fact_has_a_sentence_and_every_sentence_a_fact(package):
    source = "".join(path.read_text() for path in Path(*package.split(".")).rglob("*.py"))
    found = sentences(package)
    for key in re.findall(r'\b_?fact\(\s*"([\w.]+)"', source):
        said = found
        for part in key.split("."):
            said = said[part]
        assert isinstance(said, str), key
    variants = [
        f"{key}.{one}" for key, said in found.items() if isinstance(said, dict) for one in said
    ]
    for key in (*found, *variants):
        parts = key.split(".")
        assert f'"{key}' in source or f'f"{parts[0]}.' in source, f"nothing says {key}"


def test_text_of_users_is_no_template():
    assert say(fact("reason", said="{mass} of {0}")) == "{mass} of {0}"


@pytest.mark.parametrize(
    ("poorer", "words"),
    [(1, "1 is a poorer local optimum."), (1234, "1,234 are poorer local optima.")],
)
def test_words_agree_with_numbers(poorer, words):
    many = {"restarts": 20, "modes": 3, "threshold": 15.0, "unit": "°", "good": (0, 2)}
    said = say(fact("many_modes.several", poorer=poorer, **many))
    assert said.startswith("20 converged restarts found 3 modes (threshold 15°): 2 fit as well")
    assert said.endswith(f"as the best, {words}")


def test_facts_are_plain_values_for_other_programs():
    mass = fact("share.known", mass=0.6, low=0.5, high=0.7)
    told = plain(fact("draws_stay", share=0.9, mode=1, mass=mass))
    assert told["fact"] == "draws_stay" and told["mode"] == 1
    assert told["mass"] == {"fact": "share.known", "mass": 0.6, "low": 0.5, "high": 0.7}
    assert plain(fact("lead.by_nats", nats=float("inf")))["nats"] is None
