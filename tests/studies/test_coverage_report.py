"""The published tables, the printed layout and the figures of the coverage study."""

import math
from xml.etree import ElementTree as etree

import numpy as np
import pytest

from benchmarks.tables import as_text
from studies.coverage import calibration, findings, report
from studies.coverage.findings import QUANTITIES
from studies.coverage.lin import factorize
from studies.coverage.plan import CoverageStudy, StudyPlan
from studies.coverage.problems import COLUMNS, PROBLEMS
from studies.drawing.covering import covering_curves
from studies.result import published


def test_every_published_cell_is_there():
    told = published("coverage")
    assert list(told) == list(PROBLEMS)
    for columns in told.values():
        assert list(columns) == [key for key in COLUMNS if "unscaled" not in key]
        for quantities in columns.values():
            assert set(quantities) < set(QUANTITIES) and len(quantities) == 6
            assert set(findings.WORDS["published_as"].values()) < set(quantities)
            for cell in quantities.values():
                lower, median, upper = cell["quartiles"]
                assert lower <= median <= upper and math.isfinite(cell["mean"])


@pytest.mark.parametrize(
    ("problem", "column", "quantity", "mean", "quartiles"),
    [
        ("unique_small", "single_mode", "log_likelihood", -17.4, [-18.4, -17.3, -16.5]),
        ("infinite_small", "hmc", "max_angle_largest", 16.229, [6.625, 17.605, 22.2925]),
        ("two_small", "filtered_restarts", "l1_max_average", 0.34, [0.34, 0.34, 0.34]),
        ("two_large", "random_restarts", "log_likelihood", -3.6e6, [-3.74e6, -3.55e6, -3.21e6]),
        ("infinite_large", "gibbs", "iat", 1067.452, [1059.7475, 1068.9, 1077.79]),
        ("two_large", "all_modes", "max_angle_largest", 10.779, [10.6525, 10.69, 11.0125]),
    ],
)
def test_published_cells_are_those_of_the_paper(problem, column, quantity, mean, quartiles):
    assert published("coverage")[problem][column][quantity] == {
        "mean": mean,
        "quartiles": quartiles,
    }


def test_tables_put_the_published_number_below_ours():
    study = CoverageStudy(["two_small"], StudyPlan(1, 30), ["single_mode", "gibbs"]).make()
    result, _ = report.sections(study)
    title = "Largest pairwise maximum angle, ° (tables 3 and 7)"
    table = next(table for table in result["tables"] if table["title"] == title)
    assert table["columns"] == ("problem", "source", "Single mode", "Gibbs")
    ours, told = table["rows"]
    assert ours[:2] == ["Two modes, 6×6", "ours"] and told[:2] == ["", "published"]
    assert told[2] == "0.152 (0.15, 0.15, 0.15)"
    assert "published" in as_text(result) and "σ = 0.001" in as_text(result)
    drawn = report.figures(study)
    assert list(drawn) == ["figure_6a.svg", "figure_6b.svg"]
    for drawing in drawn.values():
        root = etree.fromstring(drawing)
        assert sum(part.tag.endswith("polyline") for part in root.iter()) == 2


def test_distances_of_a_whole_chain_stand_beside_the_published_ones():
    study = CoverageStudy(["two_small"], StudyPlan(1, 30), ["single_mode", "gibbs"]).make()
    shown = findings.beside(study, "max_angle_whole_largest")
    assert list(shown.columns) == ["problem", "source", "Gibbs"]
    assert shown["Gibbs"].iloc[1] == "0.278 (0.27, 0.28, 0.287)"


def test_how_far_chains_wander_is_told_of_those_that_were_measured():
    study = CoverageStudy(["infinite_small"], StudyPlan(2, 20), ["hmc"]).make()
    chosen = study.values.query("quantity == 'max_angle_whole_largest'")["value"]
    said = findings.differences(study)
    assert f"{chosen.iloc[0]:.3g}°, {chosen.iloc[1]:.3g}°, {chosen.mean():.3g}° on" in said[-1]
    assert "published 16.2°, quartiles 6.62° to 22.3°" in said[-1]
    without = CoverageStudy(["two_small"], StudyPlan(1, 20), ["single_mode"]).make()
    assert findings.differences(without) == said[:-1]


def test_lins_code_ends_where_the_slope_has_fallen():
    X = PROBLEMS["infinite_small"].dataset(1e-3, 0, 0).X
    rng = np.random.default_rng(0)
    start = rng.random((7, 6)), rng.random((6, 9))
    slopes = []
    for A, W in (start, factorize(X, *start, 1e-3), factorize(X, *start, 1e-5)):
        assert min(A.min(), W.min()) >= 0
        gradients = (A @ W - X) @ W.T, A.T @ (A @ W - X)
        kept = [g[(g < 0) | (F > 0)] for g, F in zip(gradients, (A, W), strict=True)]
        slopes.append(np.linalg.norm(np.concatenate(kept)))
    # As published, the slope of A is the one before W has had its turn.
    assert slopes[1] < 1e-2 * slopes[0] and slopes[2] < 1e-4 * slopes[0]


def test_a_figure_of_nothing_that_falls_can_be_drawn():
    flat = np.column_stack([np.geomspace(1e-3, 90, 100), *[np.ones(100)] * 3])
    assert etree.fromstring(covering_curves("t < u", "x", {"one & only": flat})) is not None
    assert etree.fromstring(covering_curves("empty", "x", {})) is not None


def test_the_misfit_is_zero_where_both_agree():
    told = published("coverage")["two_small"]["gibbs"]
    agreed = told["max_angle_largest"]["mean"], told["max_angle_average"]["mean"]
    assert calibration._misfit(agreed, told) == 0
    doubled = tuple(2 * value for value in agreed)
    assert calibration._misfit(doubled, told) == pytest.approx(math.log(2))
