"""Lessons: each opens with its defaults and makes its point, computed here by a second way."""

import itertools
import json
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import ks_2samp

from bnmf_core import RunSpec, laurberg, run
from bnmf_core.compare.triangles import Plane, equilateral, relative_error
from bnmf_core.posterior.weights import kkt_residual
from bnmf_core.runs.examples import EXAMPLES
from pages.lessons_parts import (
    covering,
    crossing,
    doubt,
    draw,
    mass,
    ridge,
    scale,
    settled,
    threshold,
    uniqueness,
    weights,
)
from pages.lessons_parts.drawing import CARDS, STEPS, beside
from pages.lessons_parts.registry import LESSONS
from studies.lessons import crossing as crossing_made
from studies.lessons import doubt as doubt_made
from studies.lessons import mass as mass_made
from studies.lessons import settled as settled_made
from studies.lessons import threshold as threshold_made
from tests.pages.apps import page, words

NUMBER = r"-?\d+\.?\d*"
WIDGETS = ("button", "slider", "select_slider", "segmented_control", "toggle", "expander")


def opened(key, step=1, **more):
    app = page("lessons", lesson=key, step=str(step), **more)
    assert not app.exception and not app.error
    return app


def bold(app) -> str:
    """The one sentence that says what the picture shows."""
    (found,) = (e.value for e in app.markdown if re.fullmatch(r"\*\*.*\*\*", e.value))
    return found.strip("*").replace("\\", "")


@pytest.mark.parametrize("key", LESSONS)
@pytest.mark.parametrize("step", STEPS)
def test_every_step_of_every_lesson_opens_and_says_what_it_shows(server, key, step):
    app = opened(key, step)
    lesson, shown = LESSONS[key], words(app)
    assert len(bold(app).split()) > 5 and "{" not in shown
    assert lesson.filled(lesson.steps[step - 1]) in shown.replace("\\", "")
    assert [e.label for e in app.expander if e.label] == [
        lesson.filled(question.text) for question in lesson.questions
    ]
    assert app.query_params["lesson"] == key and app.query_params["step"] == str(step)


@pytest.mark.parametrize("key", LESSONS)
def test_a_lesson_in_a_talk_has_its_sentence_and_nothing_to_click(server, key):
    shown = opened(key, present="1")
    assert bold(shown) == bold(opened(key))
    assert not [kind for kind in WIDGETS if any(True for _ in shown.get(kind))]


def test_every_card_has_the_picture_that_its_lesson_draws():
    pictures = {path.stem: path.read_text("utf-8") for path in CARDS.glob("*.svg")}
    assert set(pictures) == set(LESSONS) == set(draw.PICTURES)
    for key, kept in pictures.items():
        made = draw.card(key)
        assert re.sub(NUMBER, "", made) == re.sub(NUMBER, "", kept)
        numbers = [np.array(re.findall(NUMBER, text), dtype=float) for text in (made, kept)]
        np.testing.assert_allclose(*numbers, atol=0.11)
        assert len(kept) < 12_000 and ElementTree.fromstring(kept).tag.endswith("svg")


def test_the_cards_lead_to_all_lessons(server):
    app = page("lessons")
    assert len(app.get("image")) == len(LESSONS)
    for number, (key, lesson) in enumerate(LESSONS.items(), 1):
        opened_one = page("lessons").button(key=f"open_{key}").click().run()
        assert opened_one.title[0].value == f"{number}. {lesson.title}"
    assert "There is no lesson nothing" in words(page("lessons", lesson="nothing"))


def test_the_lessons_are_turned_through_by_next_and_back_one_by_one():
    first = next(iter(LESSONS))
    at, seen = (first, 1), []
    while at:
        seen.append(at)
        onward = beside(LESSONS[at[0]], at[1], 1)
        assert onward is None or beside(LESSONS[onward[0]], onward[1], -1) == at
        at = onward
    assert seen == [(key, step) for key in LESSONS for step in STEPS]
    assert beside(LESSONS[first], 1, -1) is None


@pytest.mark.parametrize(("a", "exact"), [(0.4, [0]), (0.5, [0, 60]), (0.6, [0, *range(47, 74)])])
def test_turns_without_error_are_those_that_least_squares_finds(a, exact):
    data = uniqueness.matrix(a)
    plane = Plane.of(data.truth[0].A)
    corners = uniqueness.answers(a)
    found = [
        turn
        for turn in range(120)
        if any(
            relative_error(data.X, np.maximum(A, 0)) < 1e-9
            for A in [plane.vectors(equilateral([turn])[0] * r) for r in np.linspace(0.7, 1.3, 201)]
            if A.min() > -1e-9
        )
    ]
    assert set(found) <= set(exact) and {0, 60} & set(exact) <= set(found)
    assert len(corners) == len(exact)
    for corner in corners:
        assert uniqueness.error(a, corner) < 1e-9


def test_the_first_lesson_says_that_two_answers_are_37_degrees_apart(server):
    one, other = (truth.A / np.linalg.norm(truth.A, axis=0) for truth in laurberg("two").truth)
    closest = np.degrees(np.arccos((one.T @ other).max(axis=1)))
    assert f"{closest.max():.0f}° apart" in bold(opened("uniqueness"))
    app = opened("uniqueness")
    app.slider(key="uniqueness_a_1").set_value(0.45).run()
    assert "there is one factorization" in bold(app)
    app.slider(key="uniqueness_a_1").set_value(0.55).run()
    assert "infinitely many" in bold(app)


def test_stretched_and_reordered_parts_have_the_same_product(server):
    A, W = scale.changed(*scale.SHOWN[3])
    first_A, first_W = scale.first()
    np.testing.assert_allclose(A @ W, first_A @ first_W, rtol=1e-14)
    off = np.sqrt(((A - first_A) ** 2).sum() / (first_A**2).sum())
    assert f"moved by {off:.0%}" in bold(opened("scale", 3))
    assert "angle between the two factorizations is 0°" in bold(opened("scale", 3))


def fewest(cloud, epsilon):
    near = np.linalg.norm(cloud[:, None] - cloud, axis=2) <= epsilon
    return next(
        size
        for size in range(1, 18)
        if any(near[list(c)].any(axis=0).all() for c in itertools.combinations(range(17), size))
    )


@pytest.mark.parametrize(("step", "published"), [(1, (3, 2)), (2, (1, 2))])
def test_balls_are_as_many_as_in_the_figures_of_the_paper(server, step, published):
    counted = tuple(fewest(cloud, covering.SHOWN[step]) for cloud in covering.points())
    assert counted == published
    said = bold(opened("covering", step))
    one, two = published
    assert f"one mode needs {one} ball" in said and f"two modes need {two}," in said


def test_balls_that_are_drawn_hold_every_point_at_every_radius():
    for which, cloud in enumerate(covering.points()):
        apart = covering.apart(cloud)
        for e, epsilon in enumerate(covering.EPSILONS):
            centres = [c for from_, c in covering.covers(which) if from_ <= epsilon][-1]
            assert len(centres) == covering.curve(which)[e]
            assert (apart[centres] <= epsilon).any(axis=0).all()


def test_chains_agree_and_have_missed_what_restarts_found(server):
    said = bold(opened("crossing"))
    gibbs, restarts = crossing.ways()["gibbs"], crossing.ways()["random_restarts"]
    assert f"R̂ = {gibbs['r_hat']:.2f}" in said and 0.99 < gibbs["r_hat"] < 1.05
    # Which answer a triangle is, by where its corners point.
    answers = np.array(crossing.stored("crossing")["answers"])
    corners = np.array([np.array(way["corners"]) for way in (gibbs, restarts)])
    away = np.linalg.norm(corners[:, :, :, None, None] - answers, axis=-1).min(axis=2).max(axis=-1)
    second = (away.argmin(axis=-1) == 1).sum(axis=1)
    assert second[0] == 0 and f"restarts ended there {second[1]} times" in said


@pytest.mark.parametrize("key", ["gibbs", "q_transform"])
def test_what_the_chain_lesson_keeps_is_made_again(key):
    (way,) = (way for way in crossing_made.WAYS if way.key == key)
    made, kept = crossing_made.measured(way), crossing.ways()[key]
    assert made["in_second"] == kept["in_second"] and made["made"] == kept["made"]
    first = np.array(made["corners"])[:5], np.array(kept["corners"])[:5]
    np.testing.assert_allclose(*first, atol=0.002)


def test_the_mass_of_the_mode_is_where_a_sampler_that_crosses_spends_its_time(server):
    data = laurberg("two", noise=mass_made.SIGMA, rng=np.random.default_rng(0))
    spec = RunSpec("mode_jumps", 3, "gaussian", 1000, 3, {}, {"sigma": mass_made.SIGMA})
    crossed = crossing_made.of_answer(run(data, spec))
    share = max((crossed == 0).mean(), (crossed == 1).mean())
    kept = mass.mass(1, "1")
    assert kept.sum() == pytest.approx(1.0, abs=1e-3)
    assert share > 0.97 and kept.max() > 0.97
    assert f"{kept.max():.1%}" in bold(opened("mass", 2))
    draws = mass.stored("mass")["draws"]
    assert max(max(draw["error"]) for draw in draws) < 0.01


def test_without_noise_the_two_answers_have_half_of_the_mass_as_the_example_says(server):
    example = EXAMPLES["two_solutions"]
    X, (one, other) = example.dataset().X, example.dataset().truth

    def columns(matrix):
        return sorted(map(tuple, (matrix / matrix.sum(axis=0)).T.round(9)))

    # Rows that are turned by one swap the answers, and X keeps its columns.
    turned = [5, 0, 1, 2, 3, 4]
    assert columns(X[turned]) == columns(X) and columns(one.A[turned]) == columns(other.A)
    assert (X.sum(axis=0) == X.sum(axis=0)[0]).all()
    exact = mass.weighed(0)["masses"]["1"]
    assert exact["mass_low"][0] < 0.5 < exact["mass_high"][0] and max(exact["mass"]) < 0.55
    assert mass.weighed(0)["below_best"] == [0.0, 0.0] and "fit exactly" in bold(opened("mass"))
    with zipfile.ZipFile(example.finished) as archive:
        (table,) = (name for name in archive.namelist() if "evidence" in name and "table" in name)
        found = json.loads(archive.read(table))
    assert max(found["mass_low"]) < 0.5 < min(found["mass_high"])


def test_restarts_of_the_lesson_of_mass_are_made_again(monkeypatch):
    empty = {name: np.zeros(2) for name in ("mass", "mass_low", "mass_high")}
    monkeypatch.setattr(mass_made, "mode_evidence", lambda *_, **__: empty)
    made, kept = mass_made.weighed(2), mass.weighed(3)
    for name in ("restarts", "error", "below_best", "apart"):
        np.testing.assert_allclose(made[name], kept[name], rtol=0.02, atol=0.02)


def test_chains_that_look_settled_one_by_one_have_a_large_r_hat_together(server):
    short, long = settled.lengths()[1], settled.lengths()[-1]
    assert max(short["alone"]) < 1.12 and settled.looking(short) == 4 and not settled.settled(short)
    chains = np.array(short["draws"], dtype=float)
    spread = chains.std(axis=1).max()
    assert np.ptp(np.median(chains, axis=1)) > 4 * spread and short["r_hat"] > 1.5
    assert f"R̂ = {short['r_hat']:.2f}" in bold(opened("settled"))
    assert settled.settled(long) and "the four chains have settled" in bold(opened("settled", 3))
    nearly = next(one for one in settled.lengths() if one["r_hat"] <= settled.OLDER)
    assert not settled.settled(nearly) and nearly["bulk"] < settled.LEAST
    # The classical R̂ of whole chains, by its formula, falls as the engine's does.
    for one, least, most in ((short, 2.0, np.inf), (long, 0.99, 1.05)):
        draws = np.array(one["draws"], dtype=float)
        within, n = draws.var(axis=1, ddof=1).mean(), draws.shape[1]
        between = draws.mean(axis=1).var(ddof=1)
        assert least < np.sqrt((n - 1) / n + between / within) < most


def test_what_the_lesson_of_settled_chains_keeps_is_judged_and_made_again():
    for one in settled.lengths():
        again = settled_made.judged(np.array(one["draws"], dtype=float))
        for name, value in again.items():
            np.testing.assert_allclose(one[name], value, rtol=1e-6)
    whole = settled_made.followed(1000, settled_made.SEED)
    assert whole.shape == (4, 1000 // settled_made.THINNING)
    kept = np.array(settled.lengths()[0]["draws"])
    # The same seed takes the same way; another one as well settles no sooner.
    np.testing.assert_allclose(settled_made.cut(whole, 1000)[:, :20], kept[:, :20], atol=1.5)
    for seed in (1, 2):
        other = settled_made.cut(settled_made.followed(1000, seed), 1000)
        assert settled_made.judged(other)["r_hat"] > 1.5


def test_more_counts_shrink_resamples_and_draws_and_leave_the_other_answer_where_it_is(server):
    one, two = laurberg("two").truth
    between = doubt_made.largest(two.A[None], one.A)[0]
    few, some, many = (doubt.other(level) for level in range(3))
    assert abs(many[1] - between) < 1 and few[1] > 25 and min(few[0], some[0], many[0]) > 0
    for way in ("counts", "draws"):
        medians = [np.median(doubt.angles(level, way)) for level in range(3)]
        np.testing.assert_allclose(np.divide(medians[:2], medians[1:]), np.sqrt(10), rtol=0.4)
    for level in range(3):
        again, drawn = (np.median(doubt.angles(level, way)) for way in ("counts", "draws"))
        assert 0.7 < again / drawn < 1.4 and doubt.levels()[level]["r_hat"] < 1.01
    app = opened("doubt")
    assert "With 3,000 counts in a column, 90% of the resamples" in bold(app)
    app.segmented_control(key="doubt_way_1").set_value("draws").run()
    app.segmented_control(key="doubt_counts_1").set_value(2).run()
    assert "With 30,000 counts in a column, 90% of the posterior draws" in bold(app)
    assert f"{some[0]} of 40 random starts" in bold(opened("doubt", 2))


def test_what_the_lesson_of_doubt_keeps_is_made_again():
    made, kept = doubt_made.measured(3_000), doubt.levels()[1]
    np.testing.assert_allclose(made["angles"]["counts"], kept["angles"]["counts"], atol=0.1)
    # Two modes; where a start between them ends may depend on the last digit.
    starts = [np.array(one["angles"]["starts"]) for one in (made, kept)]
    elsewhere = [(one > 1.0).sum() for one in starts]
    assert abs(elsewhere[0] - elsewhere[1]) <= 4 and min(elsewhere) > 0
    assert starts[0].max() == pytest.approx(starts[1].max(), abs=0.1)
    # Chains part at the last digit too; their angles have one distribution, that of these counts.
    same, more = (
        ks_2samp(made["angles"]["draws"], one["angles"]["draws"]).pvalue
        for one in doubt.levels()[1:]
    )
    assert same > 1e-3 > more
    assert made["counts"] == kept["counts"]


def test_a_path_along_the_ridge_is_flat_and_one_between_islands_is_not(server):
    for step, name in ((1, "5.9%"), (3, "3.4%")):
        data, path = uniqueness.matrix(ridge.SHOWN[step][0]), ridge.path(*ridge.SHOWN[step])
        missed = [np.linalg.norm(data.X - A @ W) for A, W in zip(path.A, path.W, strict=True)]
        np.testing.assert_allclose(
            ridge.errors(*ridge.SHOWN[step]), missed / np.sqrt(data.squared_norm), atol=1e-7
        )
        assert "two islands" in bold(opened("ridge", step)) and name in bold(opened("ridge", step))
    for a in (0.51, 0.55, 0.6):
        assert not ridge.separate(a, ridge.ALONG) and ridge.separate(a, ridge.ACROSS)
        assert ridge.errors(a, ridge.ALONG).max() < ridge.facts()["ridge"] < 1e-3
    assert "one ridge" in bold(opened("ridge", 2))


def test_no_lower_path_between_the_islands_is_found_from_other_beginnings():
    """By another way: crooked paths, each with the best W at every place."""
    data = uniqueness.matrix(0.5)
    A, _ = ridge.ends(0.5, ridge.ACROSS)
    rng = np.random.default_rng(0)
    far = np.linspace(0.0, 1.0, 41)[:, None, None]
    for _ in range(20):
        order = rng.permutation(3)
        bent = np.sin(np.pi * far) * rng.normal(0.0, 0.2, (1, 6, 3))
        way = np.maximum((1 - far) * A[0] + far * A[1][:, order] + bent, 0.0)
        highest = max(relative_error(data.X, one) for one in way)
        assert highest > ridge.facts()["barrier"] - 1e-6


def test_as_many_restarts_are_good_enough_as_lie_below_the_flat_end(server):
    f = np.array(threshold.stored("threshold")["objective"])
    assert f"{f.size} of {f.size} restarts are good enough" in bold(opened("threshold"))
    epsilon, beta = threshold.SHOWN[3]
    below = int((f / f.max() <= (1 - beta) * epsilon).sum())
    assert 0 < below < f.size
    assert f"{below} of {f.size} restarts" in bold(opened("threshold", 3))


def test_the_misfits_of_the_lesson_of_thresholds_are_made_again():
    made, kept = threshold_made.make(), threshold.stored("threshold")
    assert made["name"] == kept["name"]
    np.testing.assert_allclose(made["objective"], kept["objective"], rtol=1e-3)


@pytest.mark.parametrize("step", STEPS)
def test_weights_are_optimal_for_a_kernel_of_slopes_that_differences_confirm(server, step):
    places = weights.places_of(step)

    def log_density(at):
        u, v = at.T
        product = np.exp(u + v)
        return -((1 - product) ** 2) / (2 * weights.SIGMA**2) - np.exp(u) - np.exp(v) + u + v

    small = 1e-5
    for i in (0, 1):
        step_i = small * np.eye(2)[i]
        slope = (log_density(places + step_i) - log_density(places - step_i)) / (2 * small)
        np.testing.assert_allclose(weights.slopes(places)[:, i], slope, rtol=1e-5, atol=1e-7)
    found, least, equal = weights.weighed(tuple(places.ravel().tolist()))
    assert kkt_residual(weights.kernel(places), found) < 1e-5
    assert least < equal
    told = ", ".join(f"{weight:.0%}" for weight in found)
    assert told in bold(opened("weights", step))


def test_a_copy_gains_nothing():
    known = weights.facts()
    assert known["both"] == pytest.approx(known["alone"], abs=1e-4)
    assert known["off"] < 0.02
