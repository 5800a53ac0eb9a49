"""Nothing that the app needs has a hole that is publicly known, as far as can be asked."""

import json
from importlib import metadata
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from docs.making.licences import licence, needed

INDEX = "https://pypi.org/pypi"


@pytest.mark.slow
def test_no_package_that_is_installed_has_a_known_hole():
    found = []
    for name in sorted(needed()):
        version = metadata.version(name)
        try:
            with urlopen(f"{INDEX}/{name}/{version}/json", timeout=5) as answer:
                holes = json.load(answer)["vulnerabilities"]
        except HTTPError as error:
            error.close()
            pytest.skip(f"No source of advisories can be reached from here ({error}).")
        except (URLError, TimeoutError, KeyError, ValueError) as error:
            pytest.skip(f"No source of advisories can be reached from here ({error}).")
        found += [f"{name} {version}: {hole['id']}" for hole in holes if not hole.get("withdrawn")]
    assert found == []


def test_every_package_says_under_which_licence_it_comes():
    assert len(needed()) > 40 and "streamlit" in needed()
    assert {name: licence(name) for name in needed() if licence(name) == "not said"} == {}


def test_nothing_is_needed_that_would_bind_what_is_built_on_it():
    bound = {name: licence(name) for name in needed() if "GPL" in licence(name)}
    assert bound == {}
