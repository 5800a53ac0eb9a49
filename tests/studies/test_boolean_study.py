"""Binary matrices: the study at a size that a test can afford, and what it says of paper 4."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import threshold_curve
from bnmf_core.boolean.generator import IMPLIED_DENSITY, boolean_tiles
from bnmf_core.core.errors import NotFoundError, SettingsError
from studies.boolean import findings, measure, plan
from studies.boolean.measure import BooleanPlan, Place
from studies.boolean.plan import BooleanStudy
from studies.result import StudyResult, published, values_of
from studies.runner import digest

FEW = BooleanPlan(
    iterations=40,
    long=60,
    longest=80,
    repetitions=2,
    calibration=20,
    sweeps=8,
    side=64,
    tiles=3,
    pattern=4,
)
ONE = BooleanStudy(FEW, problems=("implied_clean",), ranks=("30",), columns=("normal",))
PLACE = Place("grid", "implied_clean", "flat", "random", "30", "75", "published", "iterations")


@pytest.fixture(scope="module")
def study():
    return ONE.make()


# Tables 4.1 and 4.2 as printed: half, best, first and last best threshold in hundredths.
PRINTED = {
    "random": """
    87 72 41 44  937 928 46 46  1431 1325 42 42  1919 713 19 19  383 220 42 42  821 552 32 32
    1919 1919 1 99  1919 1918 3 3  551 294 30 34  732 722 48 48  1594 1551 53 53  1938 1913 58 60
    1885 407 26 26  1016 876 39 39  1494 1469 47 47  1919 1919 1 99  1195 1096 38 40
    1533 1497 48 48""",
    "optimum": """
    8 0 40 47  8 0 39 48  0 0 38 50  1918 0 17 19  8 0 34 43  8 0 36 48
    1919 0 1 1  8 0 29 42  8 0 34 48  125 104 46 47  72 72 48 50  56 40 53 54
    1549 111 29 29  63 63 50 50  32 32 50 50  1919 0 1 1  55 48 46 47  48 32 53 53""",
}


def test_published_tables_are_those_of_the_paper():
    table = findings.printed()
    keys = [
        (noise, prior, size)
        for noise in ("clean", "noisy")
        for prior in findings.PUBLISHED
        for size in ("75", "250", "512")
    ]
    for start, text in PRINTED.items():
        rows = table[table["start"] == start]
        assert list(rows[["noise", "column", "size"]].itertuples(index=False, name=None)) == keys
        numbers = rows[["half", "best", "low", "high"]].to_numpy() * [1, 1, 100, 100]
        expected = np.array(text.split(), dtype=float).reshape(18, 4)
        np.testing.assert_allclose(numbers, expected, atol=1e-9)
    assert len(published("boolean")["rows"]) == 36
    assert (table["high"] < 0.5).sum() == 26 and (table["half"] > table["best"]).sum() == 30


def test_the_whole_study_has_the_cells_of_the_thesis_and_more():
    counts: dict[str, int] = {}
    for batch in BooleanStudy().batches():
        for task in batch:
            counts[task.of.part] = counts.get(task.of.part, 0) + 1
    # Two readings; a fourth prior where the thesis has three.
    assert counts["grid"] == 2 * 108 * 4 // 3
    assert counts["long"] == 24 and counts["longest"] == 2
    assert counts["reference"] == 4 * 4 * 10 and counts["three"] == 16
    assert counts["luck"] == 9 * 2 * 3 * 3 and counts["unbiased"] == 4 * 2 * 2
    places = [task.place for batch in BooleanStudy().batches() for task in batch]
    assert len(set(places)) == len(places)


def test_the_readings_differ_in_their_ones_only():
    whole = BooleanPlan()
    implied, stated = (
        measure.noise_free(measure.table(f"{name}_clean", 0, whole)).sum()
        for name in ("implied", "stated")
    )
    assert 1900 <= implied <= 1920 < 20 * implied < stated
    drawn = boolean_tiles(density=IMPLIED_DENSITY, rng=np.random.default_rng([0, 0]))
    same = measure.table("implied_clean", 0, whole)
    np.testing.assert_array_equal(same.X, drawn.X)
    assert (measure.table("implied_clean", 1, whole).X != same.X).any()


def test_batches_and_ranks_keep_their_proportion_to_the_table():
    spec = measure.spec_of(PLACE, replace(FEW, side=256, tiles=15))
    assert spec.settings["batch"] == 38 and spec.rank == 15
    spec = measure.spec_of(replace(PLACE, rank="40"), BooleanPlan())
    assert spec.settings["batch"] == 75 and spec.rank == 40
    assert spec.settings["warm_up"] + spec.settings["thinning"] == 60_000
    assert spec.model_settings == {"prior": "flat", "sigma": 1.0}


def test_errors_are_those_of_the_grid_of_the_paper():
    rng = np.random.default_rng(0)
    A, W, C = rng.random((9, 2)), rng.random((2, 8)), rng.integers(0, 2, (9, 8))
    found = {name: value for name, _, value in measure.errors("", A, W, C)}
    wrong = [
        int((((A > i / 100).astype(int) @ (W > i / 100).astype(int) > 0) != C).sum())
        for i in range(1, 100)
    ]
    best = [i / 100 for i in range(1, 100) if wrong[i - 1] == min(wrong)]
    assert found["half"] == wrong[49] and found["best"] == min(wrong)
    assert (found["low"], found["high"]) == (best[0], best[-1])
    assert found["exact"] == threshold_curve(A, W, C)[1].min() <= min(wrong)


def test_the_start_is_the_one_that_the_run_goes_from():
    data, once = measure.table("implied_clean", 0, FEW), replace(FEW, iterations=1)
    for start in ("random", "optimum"):
        spec = measure.spec_of(replace(PLACE, start=start, size="512"), once)
        A, W = measure.start_of(data, spec)
        told = measure._run(data, spec, None)[0].totals
        other = measure.start_of(data, replace(spec, seed=1))[0]
        near, far = (
            np.corrcoef(told["all_mean_A"][0].ravel(), F.ravel())[0, 1] for F in (A, other)
        )
        assert near > 0.4 and W.shape == (3, 64)
        assert abs(far) < 0.2 or start == "optimum"
        if start == "optimum":
            np.testing.assert_array_equal(A, data.truth[0].A)


def test_every_cell_tells_what_the_tables_show(study):
    table = findings.cells(study, "grid", "long", "longest")
    assert len(table) == 6 + 2 + 1
    for name in plan.WORDS["columns"]:
        assert table[name].notna().all(), name
    assert (table["best"] <= table["half"]).all() and (table["exact"] <= table["best"]).all()
    X = measure.table("implied_clean", 0, FEW).X
    assert set(table["zero_log_likelihood"]) == {-0.5 * X.sum()}
    histogram = study.values[study.values["quantity"] == "histogram_A"]
    counts = histogram.groupby(["part", "start", "size"])["value"].sum()
    assert (counts == 64 * 3).all()


def test_three_variables_are_those_that_the_program_derives():
    place = Place("three", "normal", "011")
    rows = {(name, x): value for name, x, value in measure.measured(place, FEW)}
    assert rows["largest", 0] == pytest.approx(-0.930359, abs=1e-5)
    places = [rows["largest_at", i] for i in range(3)]
    assert places == pytest.approx([0.3966, 0.3966, 0.6034], abs=1e-4)
    assert [rows["mean", i] for i in range(3)] == pytest.approx(
        measure.three("011", "normal").means, abs=1e-5
    )


def test_a_study_goes_on_where_it_stopped_and_tells_what_is_stored(tmp_path, goes_on):
    task = replace(ONE, parts=("grid",), starts=("optimum",))
    found = goes_on(task, measure, "measured", 2, 3)
    wider = replace(task, starts=("random", "optimum"))
    stored = wider.make(tmp_path, stored_only=True)
    pd.testing.assert_frame_equal(stored.values, found.values)
    assert "3 of 6 cells" in stored.notes[-1]
    assert not any("Measured so far" in note for note in found.notes)
    with pytest.raises(SettingsError, match="Nothing of this study"):
        wider.make(tmp_path / "other", stored_only=True)
    found.save(tmp_path / "study.json")
    pd.testing.assert_frame_equal(StudyResult.load(tmp_path / "study.json").values, found.values)


def test_a_study_goes_on_from_what_is_kept(study, tmp_path, monkeypatch):
    """Nothing is measured twice, but for what the plan now asks otherwise."""
    measured, made = [], measure.measured

    def noting(place, plan, cancel=None):
        measured.append(place)
        return made(place, plan, cancel)

    study.save(tmp_path / "kept.json.gz")
    kept = StudyResult.load(tmp_path / "kept.json.gz")
    monkeypatch.setattr(measure, "measured", noting)
    again = ONE.make(tmp_path / "cells", earlier=kept)
    pd.testing.assert_frame_equal(again.values, study.values)
    assert measured == []
    longer = replace(ONE, plan=replace(FEW, long=70), parts=("long", "unbiased"))
    longer.make(tmp_path / "cells", earlier=kept)
    assert measured and {place.part for place in measured} == {"long"}


def test_numbers_of_a_cell_stay_when_other_parts_change():
    def key(place, chosen):
        return digest(chosen.decides(place))

    longer = replace(FEW, long=70, repetitions=3)
    assert key(PLACE, FEW) == key(PLACE, longer) != key(PLACE, replace(FEW, iterations=41))
    exact = Place("reference", "implied_clean", "box_gibbs")
    assert key(exact, FEW) == key(exact, replace(FEW, iterations=41)) == key(exact, longer)
    assert key(exact, FEW) != key(exact, replace(FEW, sweeps=9))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFoundError, match="no prior 'magic'; there are flat, normal"):
        BooleanStudy(FEW, columns=("magic",)).make()
    with pytest.raises(SettingsError, match="needs an output"):
        BooleanStudy(replace(FEW, iterations=0)).make()


# What is said of numbers


USUAL = {
    "ones": 1919.0,
    "half": 50.0,
    "best": 10.0,
    "low": 0.3,
    "high": 0.4,
    "late_half": 50.0,
    "last_half": 50.0,
    "start_correlation": 0.99,
    "all_sd": 0.1,
    "late_sd": 0.001,
    "seconds": 9.0,
}


def planted(*cells):
    """A study of cells: part, problem, prior, start, batch, data set, and numbers by name."""
    rows = [
        (part, problem, column, start, "30", size, repetition, 0.0, quantity, value)
        for part, problem, column, start, size, repetition, numbers in cells
        for quantity, value in (USUAL | numbers).items()
    ]
    settings = {"iterations": 60_000, "long": 600_000, "longest": 2_000_000}
    return StudyResult(values_of(plan.COLUMNS, rows), labels=measure.LABELS, settings=settings)


def verdicts(key, *cells):
    return [verdict for verdict, _ in findings.JUDGES[key](planted(*cells))]


def grid(start="random", column="normal", size="512", part="grid", noise="clean", **numbers):
    return (part, f"implied_{noise}", column, start, size, 0, numbers)


def exact(column, **numbers):
    return ("reference", "implied_clean", column, "", "", 0, numbers)


CLEAN = grid("optimum", best=0)
LOST = {"size": "75", "half": 1919}
CHANGED = [
    (
        "density",
        [grid(), ("grid", "stated_clean", "flat", "random", "75", 0, {"ones": 41e3})],
        [grid(), ("grid", "stated_clean", "flat", "random", "75", 0, {"ones": 1900})],
    ),
    ("optimum", [(*CLEAN[:6], {"best": 3})], [CLEAN]),
    ("collapse", [grid(size="75")], [grid(**LOST)]),
    (
        "too_little",
        [grid(**LOST), grid(part="unbiased", size="75")],
        [grid(**LOST), grid(part="unbiased", **LOST)],
    ),
    ("threshold", [grid(high=0.6)], [grid()]),
    ("half", [grid(best=50)], [grid()]),
    ("easier", [grid(), grid("optimum", half=60)], [grid(), grid("optimum", half=40)]),
    ("noisier", [grid(), grid(noise="noisy", half=40)], [grid(), grid(noise="noisy", half=60)]),
    ("remembers", [grid("optimum", half=999, late_half=999, last_half=999)], [grid("optimum")]),
    ("burn_in", [grid()], [grid(start_correlation=0.3, late_sd=0.09)]),
    (
        "spread",
        [grid("optimum", "flat"), exact("box_gibbs_one", all_sd=0.3)],
        [grid("optimum", "flat", late_sd=0.3), exact("box_gibbs_one", all_sd=0.3)],
    ),
    ("sigma", [exact("box_gibbs_one", half=1900)], [exact("box_gibbs_one")]),
    ("gibbs", [grid(), exact("box_gibbs", half=9)], [grid(), exact("box_gibbs", half=90)]),
    (
        "beta",
        [grid(column="flat"), grid(column="beta", half=9)],
        [grid(column="flat"), grid(column="beta", half=90)],
    ),
    (
        "winner",
        [grid(column="flat", size="75", best=11), grid()],
        [grid(column="flat", size="75", best=9), grid()],
    ),
    ("longer", [grid(), grid(part="long", half=60)], [grid(), grid(part="long", half=40)]),
    ("vanishes", [grid(), grid(part="long", all_sd=0.2)], [grid(), grid(part="long", all_sd=0.05)]),
]


@pytest.mark.parametrize(("key", "against", "speaking"), CHANGED, ids=[c[0] for c in CHANGED])
def test_planted_numbers_change_the_verdict(key, against, speaking):
    assert verdicts(key, *against) == ["does not hold"]
    assert verdicts(key, *speaking) == ["holds"]


def test_of_several_cells_some_make_it_hold_in_part():
    assert verdicts("optimum", CLEAN, grid("optimum", "flat", best=3)) == ["holds in part"]
    assert verdicts("remembers", grid("optimum", last_half=999)) == ["holds in part"]
    assert verdicts("burn_in", grid(late_sd=0.09)) == ["holds in part"]
    several = [grid(column="flat"), grid(), grid(column="laplace", high=0.6), grid(size="75")]
    assert verdicts("threshold", *several) == ["holds"]
    assert verdicts("threshold", *[(*cell[:6], {"high": 0.6}) for cell in several]) == [
        "does not hold"
    ]


@pytest.mark.parametrize(
    ("case", "at", "verdict"),
    [("011", (0.68, 0.68, 1.0), "holds"), ("011", (0.0, 0.0, 1.0), "does not hold")],
)
def test_three_variables_are_judged_by_where_their_maxima_are(case, at, verdict):
    rows = [
        ("three", "flat", case, "", "", "", 0, float(i), quantity, value)
        for i, x in enumerate(at)
        for quantity, value in (("largest_at", x), ("largest", -0.2))
    ]
    found = StudyResult(values_of(plan.COLUMNS, rows), labels=measure.LABELS)
    assert [verdict for verdict, _ in findings.JUDGES["inconsistent"](found)] == [verdict]
    told = [("three", "normal", *row[2:]) for row in rows]
    normal = StudyResult(values_of(plan.COLUMNS, told), labels=measure.LABELS)
    assert [v for v, _ in findings.JUDGES["pulled"](normal)] == ["does not hold"]


def test_nothing_is_said_of_what_was_not_measured(study):
    said = {claim.claim.split(" (")[0] for claim in findings.claims(study)}
    assert "The data have the pattern density 0.1" not in said
    for claim in findings.claims(study):
        assert claim.verdict in {"holds", "holds in part", "does not hold"}
        assert "nan" not in claim.numbers and "{" not in claim.numbers
