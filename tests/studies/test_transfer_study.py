"""When Q-Transform is successful: the study at a size that a test can afford, and its tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, NotFoundError, RunError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.explorers.processes import PROCESSES
from studies.result import StudyResult, full, values_of
from studies.transfer import findings, measure, plan, projection, starts, weight_times
from studies.transfer.own import OwnStarts
from studies.transfer.plan import TransferPlan, TransferStudy

FEW = TransferPlan(
    targets=2,
    side=60,
    starts=12,
    solved=2,
    raced=2,
    rank=6,
    noisy_rank=8,
    source_ranks=(1, 3),
    noises=(0.01, 10.0),
    transfer_ranks=(1, 3, 6),
    particles=(4, 9),
)


def make_problem(dataset, rank) -> Problem:
    return Problem.without_model(dataset, rank)


@pytest.fixture(scope="module")
def study():
    return TransferStudy(FEW).make()


def test_every_cell_is_there(study):
    counts = study.values.groupby(["problem", "column", "quantity"]).size()
    for key in PROCESSES:
        assert counts["process", key, "error"] == counts["process", key, "scaled"] == 2 * 12
    assert counts["source_rank", "gaussian", "error"] == 2 * 2 * 12
    assert counts["transfer_rank", "q_transform", "error"] == 3 * 2 * 12
    assert counts["reference", "random", "error"] == 2 * 12
    assert counts["reference", "solved", "error"] == 2 * 2
    assert counts["noise", "q_transform", "iterations_random"] == 2 * 2 * 2
    for column in weight_times.LABELS:
        assert counts["weights", column, "seconds"] == 2 * weight_times.REPEATS
    assert study.values["value"].notna().all() and (study.values["value"] >= 0).all()


def test_the_race_is_told_with_and_without_learning(study):
    told = findings.race(study)
    (learned,) = study.values[study.values["problem"] == measure.LEARNING]["value"]
    assert learned > 0 and list(told.index) == [0.01, 10.0]
    noise = study.values.query("problem == 'noise' and x == 0.01").groupby("quantity")["value"]
    for effort in ("seconds", "arrival_seconds"):
        solving, making = (
            noise.get_group(f"{name}_q_transform") for name in (effort, "making_seconds")
        )
        expected = solving.median() + making.median()
        assert told[effort, "q_transform"][0.01] == pytest.approx(expected)
        assert told[effort, "learned"][0.01] == pytest.approx(expected + learned)
    iterations = noise.get_group("arrival_random").median()
    assert told["arrival", "random"][0.01] == iterations


def test_errors_are_what_their_definitions_say():
    problem = make_problem(measure.target(20, 4, 0.2, np.random.default_rng(0)), 4)
    A, W = starts.random(problem, 5, seed=1)
    found, X = starts.errors(problem, A, W), problem.dataset.X
    for m in range(5):
        product = A[m] @ W[m]
        raw = np.linalg.norm(X - product) / np.linalg.norm(X)
        assert found["error"][m] == pytest.approx(raw, rel=1e-12)
        s = np.vdot(X, product) / np.vdot(product, product)
        best = np.linalg.norm(X - s * product) / np.linalg.norm(X)
        assert found["scaled"][m] == pytest.approx(best, rel=1e-9)
    # The second does not change with the scale, and never exceeds the first.
    again = starts.errors(problem, 7.0 * A, W)["scaled"]
    np.testing.assert_allclose(again, found["scaled"], rtol=1e-9)
    assert (found["scaled"] <= found["error"] + 1e-12).all()


def test_errors_of_data_with_gaps_are_on_what_was_seen():
    X = measure.target(15, 3, 0.1, np.random.default_rng(2)).X.copy()
    X[2, 3:6] = np.nan
    problem = make_problem(Dataset.from_array(X), 3)
    A, W = starts.random(problem, 2, seed=3)
    seen = ~np.isnan(X)
    for m, found in enumerate(starts.errors(problem, A, W)["error"]):
        residual = np.where(seen, np.nan_to_num(X) - A[m] @ W[m], 0.0)
        expected = np.linalg.norm(residual) / np.linalg.norm(X[seen])
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_noise_of_a_target_is_as_large_as_its_signal_at_one():
    """Paper 3, §8.2; what the clipping at 0 leaves is compared with itself."""
    clean, half, whole = (
        measure.target(300, 5, noise, np.random.default_rng(4)).X for noise in (0.0, 0.1, 0.2)
    )
    for X, noise in ((half, 0.1), (whole, 0.2)):
        inside = X > 0
        rest = (X - clean)[inside] / np.linalg.norm(clean) * 300
        assert (X == 0).mean() < 0.2 and rest.std() == pytest.approx(noise, rel=0.15)
    assert np.linalg.matrix_rank(clean) == 5


def test_nothing_beats_the_svd_and_solved_factorizations_beat_starts(study):
    for quantity in ("error", "scaled"):
        lines = findings.reference(study, quantity)
        table = findings.spread(study, "process", quantity)
        assert (table["lower"] >= 0.95 * lines["best"]).all()  # padding of 1 % may help a little
        assert lines["solved"] < table["median"].min() and table["median"].min() < lines["random"]
    ranks = findings.spread(study, "transfer_rank", "error").set_index(["column", "x"])
    best = ranks["median"]["best"]
    assert (np.diff(best.to_numpy()) < 0).all()


def test_a_cell_is_what_its_starts_give(study):
    problem = measure.problem_of(60, 6, 0.0, FEW.seed, 1)
    A, W = starts.transferred(problem, 12, FEW.seed + 1, process="dirichlet", source_size=15)
    chosen = study.values.query("problem == 'process' and column == 'dirichlet'")
    chosen = chosen[(chosen["quantity"] == "error") & (chosen["repetition"] >= 12)]
    np.testing.assert_allclose(chosen["value"], starts.errors(problem, A, W)["error"], rtol=1e-4)


def test_ratios_are_of_pairs_on_the_same_target(study):
    table = findings.ratios(study)
    noise = study.values[(study.values["problem"] == "noise") & (study.values["x"] == 10.0)]
    wide = noise.pivot(index="repetition", columns="quantity", values="value")
    expected = (wide["error_q_transform"] / wide["error_random"]).dropna()
    assert len(expected) == 24
    row = table[(table["column"] == "error") & (table["x"] == 10.0)].iloc[0]
    found = [row["lower"], row["median"], row["upper"]]
    np.testing.assert_allclose(found, expected.quantile([0.25, 0.5, 0.75]))
    errors = table[table["column"] == "error"].set_index("x")["median"]
    assert errors[0.01] < 0.8 and errors[0.01] < errors[10.0]


def test_numbers_depend_on_the_plan_only(study):
    again = TransferStudy(FEW, ("process", "noise")).make().values
    values = study.values[
        study.values["problem"].isin(["process", "noise", "reference", "projection"])
    ]
    both = [
        v[~v["quantity"].str.contains("seconds")].reset_index(drop=True) for v in (values, again)
    ]
    pd.testing.assert_frame_equal(*both)
    other = TransferStudy(replace(FEW, seed=1), ("process",))
    assert other.key != TransferStudy(FEW, ("process",)).key != TransferStudy(FEW).key


def test_a_study_survives_being_stored_and_goes_on_where_it_stopped(tmp_path, goes_on):
    task = TransferStudy(replace(FEW, targets=1), ("process",))
    found = goes_on(task, measure, "measured", 3, 17)
    found.save(tmp_path / "study.json")
    pd.testing.assert_frame_equal(StudyResult.load(tmp_path / "study.json").values, found.values)


def test_a_stored_result_holds_all_cells_of_the_same_plan(study):
    asked = TransferStudy(FEW)
    found = asked.cells_in(study)
    assert found.keys() == {task.of for batch in asked.batches() for task in batch}
    order = [*plan.COLUMNS, "quantity"]
    values = [
        one.sort_values(order, ignore_index=True)
        for one in (asked.result(found).values, study.values)
    ]
    pd.testing.assert_frame_equal(*values)
    assert TransferStudy(replace(FEW, seed=1)).cells_in(study) == {}


def test_column_projection_is_learned_with_other_iterations_and_another_reading(study):
    values = study.values[study.values["quantity"] == "error"]
    ours = values[values["column"] == "column_projection"]["value"]
    read = values[values["problem"] == "projection"].groupby(["column", "x"])["value"]
    assert set(read.groups) == {
        (column, float(x)) for column in projection.LABELS for x in projection.ITERATIONS
    }
    # The program's own choice is one of them, and each of the others is another.
    own = read.get_group((projection.ABSOLUTE, 500.0))
    np.testing.assert_array_equal(own, ours)
    others = read.median().drop((projection.ABSOLUTE, 500.0))
    assert (abs(others - own.median()) > 0).all()
    said = findings.claims(study)[0].numbers
    assert f"{own.median():.3g} with 500" in said


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFoundError, match="no part 'magic'; there are process, source_rank"):
        TransferStudy(FEW, ("magic",)).make()
    for chosen, parts in ((replace(FEW, targets=0), ("noise",)), (FEW, ())):
        with pytest.raises(SettingsError, match="A study needs a part"):
            TransferStudy(chosen, parts).make()
    with pytest.raises(NotFoundError, match="no 'nonsense' of the part 'noise'"):
        findings.spread(StudyResult(values_of(plan.COLUMNS, [])), "noise", "nonsense")


# Claims


def made(part, medians, more=()):
    """A study of one part whose medians are given by (column, x)."""
    rows = [
        (part, column, x, i, quantity, value * (1 + 0.01 * (i - 1)))
        for (column, x), value in medians.items()
        for quantity in ("error", "scaled", "seconds")
        for i in range(3)
    ]
    rows += [
        ("reference", column, None, 0, quantity, value)
        for column, value in more
        for quantity in ("error", "scaled")
    ]
    values = values_of(plan.COLUMNS, rows).astype({"x": float})
    labels = starts.LABELS | weight_times.LABELS
    return StudyResult(values, labels=labels)


BOUNDS = (("random", 0.5), ("solved", 0.01), ("best", 0.1))


@pytest.mark.parametrize(
    ("others", "verdict"),
    [((0.3, 0.3, 0.3), "holds"), ((0.1, 0.1, 0.3), "holds in part"), ((0.1,) * 3, "does not hold")],
)
def test_the_claim_on_processes_is_judged_by_medians(others, verdict):
    medians = dict.fromkeys([("gaussian", None), ("uniform", None), ("dirichlet", None)], 0.12)
    worse = ("uniform_data", "sub_sample", "column_projection")
    medians |= {(key, None): value for key, value in zip(worse, others, strict=True)}
    for claim in findings.claims(made("process", medians, BOUNDS)):
        assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ((0.3, 0.2, 0.4), "holds"),
        ((0.3, 0.2, 0.1), "does not hold"),
        ((0.1, 0.2, 0.3), "does not hold"),
    ],
)
def test_the_claim_on_the_transfer_rank_needs_a_least_inside(errors, verdict):
    medians = {("q_transform", x): value for x, value in zip((1, 3, 9), errors, strict=True)}
    (claim,) = findings.claims(made("transfer_rank", medians, BOUNDS))
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("slower", "verdict"), [(1.05, "holds"), (2.0, "holds in part"), (500.0, "does not hold")]
)
def test_the_claim_on_weights_compares_good_with_random_parameters(slower, verdict):
    medians = {}
    for column in weight_times.LABELS:
        factor = slower if column.endswith("good") else 1.0
        medians |= {(column, 5.0): 0.01 * factor, (column, 1000.0): 1.0 * factor}
    (claim,) = findings.claims(made("weights", medians))
    assert claim.verdict == verdict


# The user's own data


def test_starts_are_measured_on_data_of_ones_own(small):
    own = OwnStarts(small, rank=3, count=8, solved=2)
    study = own.make()
    assert set(study.values["column"]) == {*PROCESSES, "random", "solved", "best"}
    chosen = study.values.query("column == 'sub_sample' and quantity == 'error'")["value"]
    problem = make_problem(small, 3)
    expected = starts.errors(problem, *starts.transferred(problem, 8, 0, process="sub_sample"))
    np.testing.assert_allclose(chosen, expected["error"], rtol=1e-4)
    assert own.key == OwnStarts(small, rank=3, count=8, solved=2).key
    assert len({own.key, OwnStarts(small, 4).key, OwnStarts(small, 3, 2).key}) == 3
    with pytest.raises(RunError, match="rank must be between 1 and 12"):
        OwnStarts(small, rank=13).make()


def test_solving_asks_whether_to_go_on(small):
    with pytest.raises(Cancelled):
        OwnStarts(small, 3, count=4).make(cancel=lambda: True)
    problem = make_problem(small, 3)
    with pytest.raises(Cancelled):
        starts.solved(problem, starts.random(problem, 2, 0), cancel=lambda: True)


def test_a_process_that_finds_only_zeros_is_left_out_with_a_note():
    X = np.zeros((2000, 300))
    X[:4, :4] = np.random.default_rng(5).random((4, 4)) + 0.1
    study = OwnStarts(Dataset.from_array(X), rank=2, transfer_rank=2, count=3, solved=1).make()
    assert "sub_sample" not in set(study.values["column"])
    assert any(note.startswith("Sub-sample is left out") for note in study.notes)


def test_the_stored_study_is_whole_and_says_what_it_is():
    study = full("transfer")
    assert study is not None
    assert set(study.values["problem"]) == {*plan.PARTS, "reference", "learning", "projection"}
    assert study.settings["side"] == 500 and study.settings["starts"] == 100
    found = findings.claims(study)
    assert len(found) == 11
    assert {claim.verdict for claim in found} <= {"holds", "holds in part", "does not hold"}
