"""Lists of the strongest features: as a table, as GMT, and read again as sets."""

import io

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.data.gene_sets import match_sets, read_gene_sets
from bnmf_core.share import formats
from bnmf_core.share.gene_lists import gene_lists, gmt
from tests.share.conftest import HOSTILE

RNG = np.random.default_rng(0)
A = RNG.gamma(0.5, size=(2, 30, 3))
DATA = Dataset.from_array(
    A[0] @ np.ones((3, 4)),
    features=[f"GENE{d}" for d in range(30)],
    descriptions={"id": [f"{d}_at" for d in range(30)]},
    name="cells",
)


def test_lists_hold_the_largest_entries_of_each_component_and_mode():
    found = gene_lists(DATA, A, ["mode 1", "mode 2"], ["1", "2", "3 (late)"], 7, 1.0)
    assert len(found) == 2 * 3 * 7
    for (mode, component), some in found.groupby(["mode", "component"]):
        basis = A[int(mode[-1]) - 1][:, int(component[0]) - 1]
        order = np.argsort(-basis)[:7]
        assert some["feature"].tolist() == [f"GENE{d}" for d in order]
        assert some["id"].tolist() == [f"{d}_at" for d in order]
        np.testing.assert_allclose(some["share"], basis[order] / basis.sum(), rtol=1e-12)


def test_a_gmt_is_read_again_and_found_in_its_own_data():
    lists = gene_lists(DATA, A, ["mode 1", "mode 2"], ["1", "2", "3 (late)"], 7, 1.0)
    sets = read_gene_sets(gmt(lists, "cells"), "lists.gmt")
    assert list(sets.sets)[:3] == [
        "component 1, mode 1",
        "component 1, mode 2",
        "component 2, mode 1",
    ]
    some = lists[(lists["component"] == "3 (late)") & (lists["mode"] == "mode 2")]
    assert sets.sets["component 3 (late), mode 2"] == tuple(some["feature"])
    assert match_sets(sets, DATA).members.sum(axis=1).tolist() == [7] * 6


def test_the_list_of_the_best_of_a_run_is_exported(answer, store):
    run_id, particles = answer.comparison.runs[0].id, answer.comparison.particles[0]
    file = io.BytesIO()
    formats.write(store, run_id, "gmt", file)
    lines = [line.split("\t") for line in file.getvalue().decode().splitlines()]
    best = particles.A[int(np.argmin(particles.error))]
    assert [line[2] for line in lines] == [f"{HOSTILE} {d}" for d in best.argmax(axis=0)]
