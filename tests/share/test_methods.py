"""The paragraph of methods: every number in it is that of the comparison, every work is in full."""

from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.core.papers import by_authors, cited
from bnmf_core.registry import ALGORITHMS, FOREIGN
from bnmf_core.share.methods import _works, methods, references
from bnmf_core.solvers.coordinate_descent import SOLVER as COORDINATES


def test_it_tells_data_runs_modes_and_versions(answer):
    text, comparison = methods(answer), answer.comparison
    data = comparison.dataset
    assert f"of {data.D} features and {data.N} observations was approximated" in text
    assert f"with {comparison.rank} components" in text and f"numpy {version('numpy')}" in text
    for run in comparison.runs:
        assert f"seed {run.spec.seed})" in text
        assert by_authors(ALGORITHMS[run.spec.algorithm].reference) in text
    assert f"The best has a {comparison.measure_heading} of " in text and "paper " not in text
    sigma = comparison.particles[0].info["model_settings"]["sigma"]
    assert f"were sigma = {sigma:.4g}" in text
    assert ("Cichocki & Phan 2009" in text) == any(
        "restarts" in run.spec.algorithm for run in comparison.runs
    )
    count = answer.modes.count
    assert f"There are {count} modes." in text or (count == 1 and "There is 1 mode." in text)
    assert f"at most {answer.modes.threshold:.3g}° apart" in text
    assert "Chains had" in text and "Posterior masses" in text


def test_every_work_that_it_names_stands_in_full(answer):
    text = methods(answer)
    body, works = text.rsplit("\n\n", 1)
    told = [*(short for _, short in references(answer)), "Neal 2001", "Vehtari & others 2021"]
    assert works.splitlines() == [by_authors(work) for work in cited("; ".join(told))]
    for work in works.splitlines():
        short = work.split(": ")[0]
        assert short in body or short.replace(" & ", " and ") in body


def test_what_was_not_computed_is_not_told(answer, monkeypatch):
    bare = replace(answer)
    unknown = SimpleNamespace(STAGE=SimpleNamespace(perhaps=lambda _: None))
    monkeypatch.setattr("bnmf_core.share.methods.chains", unknown)
    monkeypatch.setitem(vars(bare), "evidence", None)
    text = methods(bare)
    assert "Chains had" not in text and "masses" not in text and "Vehtari" not in text


def test_imports_have_no_seed_and_no_model(answer):
    comparison = answer.comparison
    runs = tuple(replace(run, spec=replace(run.spec, algorithm=FOREIGN)) for run in comparison.runs)
    text = methods(replace(answer, comparison=replace(comparison, runs=runs)))
    assert "factorizations of another program" in text
    assert "seed" not in text and "under the model" not in text


def test_works_of_counts_are_those_of_their_solver_and_their_sampler(tmp_path):
    X = np.random.default_rng(0).poisson(3.0, (8, 12)).astype(float)
    specs = [
        RunSpec(algorithm, rank=2, particles=2, model=model)
        for algorithm in ("random_restarts", "gibbs")
        for model in ("poisson", "negative_binomial")
    ]
    with closing(JobRunner(RunStore(tmp_path))) as runner:
        ids = runner.start(Dataset.from_array(X), specs)
        runner.wait(ids)
        made = open_comparison(runner.store, ids)
    works = [told for _, told in _works(made)]
    assert works[0] == f"paper 1, §4.2; {COORDINATES.reference} for the solver"
    assert works[2:] == ["Cemgil 2009", "Cemgil 2009; Zhou & Carin 2015"]
