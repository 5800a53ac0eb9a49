"""Lessons in a browser: what is dragged, what keys do, and that each says its point at once."""

import re
import time

import numpy as np
import pytest
from playwright.sync_api import expect

from bnmf_core.posterior.stein import ksd
from pages.lessons_parts import ridge, settled, uniqueness, weights
from pages.lessons_parts.registry import LESSONS
from tests.browser.conftest import CHROMIUM, browser_page, running_server, settle, until

pytestmark = pytest.mark.browser

# The point of each lesson, as its sentence says it with the defaults.
POINTS = {
    "uniqueness": "exactly two triangles hold all six points: two factorizations without error",
    "scale": "The entries of A have moved by 163%, those of A W not at all; the largest angle",
    "covering": "one mode needs 3 balls and two modes need 2, so a single small radius takes the",
    "crossing": "and none of their 400 draws is near the second answer; restarts ended there 47",
    "mass": "Both modes fit exactly, and restarts end in them 53% to 47%. Their probabilities are",
    "threshold": "50 of 50 restarts are good enough, and equally likely; under Gaussian noise",
    "weights": "5 would only do harm; with equal weights the discrepancy is 1.3 times as large",
    "ridge": "two islands: on the best path found the error rises to 5.9%",
    "settled": "every chain looks settled by itself; together they have not settled: R̂ = 1.7",
    "doubt": "With 3,000 counts in a column, 90% of the resamples lie 1.6° to 3.5° from the best",
    "yes_no": "No choice of 0 and 1 explains a, b and c",
}
# Seconds from the click on a link until a lesson has said its point, on a server that is warm.
SOON = 3.0
DRAWN = """() => [...document.querySelectorAll("[data-testid=stPlotlyChart]")]
    .every(chart => chart.querySelector(".js-plotly-plot"))"""
# Where the plots of a page end and its toolbars begin, and where the small print ends; in pixels.
PLACES = """() => {
  const box = element => element.getBoundingClientRect();
  const right = plot => Math.max(...[...plot.querySelectorAll(".nsewdrag")].map(e => box(e).right));
  const left = plot => plot.querySelector(".modebar") && box(plot.querySelector(".modebar")).left;
  const print = [...document.querySelectorAll('[data-testid="stCaptionContainer"]')];
  return {
    plots: [...document.querySelectorAll(".js-plotly-plot")].map(plot => [right(plot), left(plot)]),
    end: box(print.filter(element => element.checkVisibility()).at(-1)).bottom,
  };
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server that has shown every lesson once."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed.")
    with running_server(tmp_path_factory.mktemp("lessons")) as found:
        with browser_page(1280, 720) as page:
            for key, point in POINTS.items():
                page.goto(f"{found}/lessons?lesson={key}")
                page.get_by_text(point).wait_for()
                settle(page)
        yield found


def number(text: str) -> float:
    return float(re.search(r"[\d.]+", text)[0])


def _inside(inner: dict[str, float], outer: dict[str, float]) -> bool:
    """Whether a box lies in another one, but for half the width of a line."""
    return all(
        inner[least] >= outer[least] - 1
        and inner[least] + inner[size] <= outer[least] + outer[size] + 1
        for least, size in (("x", "width"), ("y", "height"))
    )


def places(page) -> np.ndarray:
    """Where the handles of a picture are, in its own units, y downwards."""
    groups = page.locator(".handle")
    moved = [groups.nth(k).get_attribute("transform") for k in range(groups.count())]
    return np.array([[float(x) for x in re.findall(r"-?[\d.]+(?:e-?\d+)?", t)] for t in moved])


def test_every_lesson_makes_its_point_within_three_seconds(chromium, address):
    assert set(POINTS) == set(LESSONS)
    took = {}
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons")  # the program itself is in the browser's memory
        settle(page)
        for key, point in POINTS.items():
            began = time.perf_counter()
            page.goto(f"{address}/lessons?lesson={key}", wait_until="commit")
            expect(page.get_by_text(point)).to_be_visible()
            took[key] = round(time.perf_counter() - began, 2)
            settle(page)
    assert max(took.values()) < SOON, took


@pytest.mark.parametrize("present", [False, True])
def test_nothing_of_a_lesson_is_cut_or_covered_on_a_small_screen(chromium, address, present):
    with chromium(1280, 720) as page:
        for key in LESSONS:
            page.goto(f"{address}/lessons?lesson={key}" + "&present=1" * present)
            page.get_by_text(POINTS[key]).wait_for()
            settle(page)
            found = page.evaluate(PLACES)
            assert found["end"] <= 720, (key, found)
            for plot, toolbar in found["plots"]:
                assert toolbar is None if present else toolbar > plot, (key, found)


def test_pictures_are_whole_and_take_most_of_the_first_screen(chromium, address):
    for width, height in ((1360, 850), (400, 850)):
        with chromium(width, height) as page:
            for key in LESSONS:
                page.goto(f"{address}/lessons?lesson={key}")
                page.get_by_text(POINTS[key]).wait_for()
                settle(page)
                until(page, DRAWN)  # else the first of them may be the second chart
                box = page.locator(".picture svg, .js-plotly-plot").first.bounding_box()
                assert box["y"] + box["height"] <= height, (key, box)
                assert box["x"] >= 0 and box["x"] + box["width"] <= width, (key, box)
                if width > 1000:
                    assert box["height"] > 400 and (box["width"] > 900 or key == "yes_no"), key


def test_old_addresses_and_cards_lead_to_lessons(chromium, address):
    with chromium(1280, 720) as page:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        moved = {"lesson": "A chain in its mode", "boolean_lesson": "Between 0 and 1"}
        for old, title in moved.items():
            page.goto(f"{address}/{old}")
            page.get_by_role("heading", name=title).wait_for()
            settle(page)
        page.goto(f"{address}/lessons")
        page.get_by_role("button", name="Open").nth(4).click()
        expect(page.get_by_text(POINTS["mass"])).to_be_visible()
        page.wait_for_url("**/lessons?lesson=mass&step=1")
        page.get_by_role("button", name="All lessons").click()
        expect(page.get_by_role("button", name="Open")).to_have_count(len(LESSONS))
        pictures = page.get_by_role("main").get_by_role("img")
        shown = [picture.bounding_box() for picture in pictures.all()]
        assert len(shown) == len(LESSONS) and min(box["height"] for box in shown) > 80
        assert errors == []


def test_the_triangle_is_moved_by_keys_and_mouse_with_the_error_of_the_engine(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=uniqueness")
        error = page.locator(".error")
        expect(error).to_have_text("Error 0.00%")
        corner = page.get_by_role("slider", name="Corner 2 of the triangle")
        corner.focus()
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        expect(error).not_to_have_text("Error 0.00%")

        def by_engine() -> float:
            corners = places(page) * [1, -1]
            return 100 * uniqueness.error(0.5, corners)

        shown = number(error.text_content())
        assert shown > 0.5 and shown == pytest.approx(by_engine(), abs=0.006)
        # The page says the same, by the engine, once the key is up.
        expect(page.get_by_text(f"as you have drawn it misses X by {shown:.2f}%")).to_be_visible()
        # Dragged inwards, the triangle holds fewer points; outside the room it cannot go.
        box = page.get_by_role("slider", name="Corner 1 of the triangle").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 60, steps=4)
        assert number(error.text_content()) > shown
        assert number(error.text_content()) == pytest.approx(by_engine(), abs=0.006)
        page.mouse.move(x, y - 200, steps=4)
        page.mouse.up()
        np.testing.assert_allclose(places(page)[0], [0, -1], atol=1e-6)

        # Turned by 60 degrees it is the second answer; by 30 it is none.
        turn = page.get_by_role("slider", name="Turn the triangle")
        turn.fill("60")
        expect(error).to_have_text("Error 0.00%")
        turn.fill("30")
        expect(error).not_to_have_text("Error 0.00%")
        assert number(error.text_content()) == pytest.approx(by_engine(), abs=0.006)


def test_the_triangle_is_turned_by_its_inside_also_in_a_talk(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=uniqueness&present=1")
        error = page.locator(".error")
        expect(error).to_have_text("Error 0.00%")
        x, y = page.locator(".picture svg").evaluate(
            "area => { const {e, f} = area.getScreenCTM(); return [e, f]; }"
        )
        # By 30 degrees it holds none, by 60 it is the second answer.
        page.mouse.move(x + 60, y)
        page.mouse.down()
        page.mouse.move(x + 60 * np.cos(np.pi / 6), y - 60 * np.sin(np.pi / 6), steps=4)
        assert number(error.text_content()) > 1
        page.mouse.move(x + 30, y - 60 * np.sin(np.pi / 3), steps=4)
        page.mouse.up()
        expect(error).to_have_text("Error 0.00%")
        corners = places(page)
        assert corners[0] @ [0, -1] == pytest.approx(0.5 * np.linalg.norm(corners[0]), abs=1e-3)


def test_particles_are_weighed_in_the_browser_as_by_the_engine(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=weights")
        shown = page.locator(".weight")

        def compared(places_now: np.ndarray) -> None:
            found, least, _ = weights.weighed(tuple(places_now.ravel().tolist()))
            said = [number(text) for text in shown.all_text_contents()]
            np.testing.assert_allclose(said, 100 * found, atol=0.15)
            told = number(page.locator(".discrepancy").text_content())
            assert told == pytest.approx(least, rel=0.01)
            assert least <= ksd(weights.kernel(places_now), np.full(5, 0.2)) + 1e-9

        expect(shown).to_have_count(5)
        compared(weights.places_of(1))
        before = shown.all_text_contents()
        page.get_by_role("slider", name="Particle 5").focus()
        for _ in range(3):
            page.keyboard.press("Shift+ArrowDown")
        assert shown.all_text_contents() != before
        side, left, top = 270, 34, 4
        on_screen = places(page)
        span = weights.MOST - weights.LEAST
        compared(
            np.column_stack(
                [
                    weights.LEAST + (on_screen[:, 0] - left) / side * span,
                    weights.LEAST + (1 - (on_screen[:, 1] - top) / side) * span,
                ]
            )
        )
        page.get_by_role("button", name="Put 5 where 4 is").click()
        expect(page.get_by_text("4 and 5 are in one place")).to_be_visible()
        weight = [number(text) for text in shown.all_text_contents()]
        assert weight[3] == weight[4]
        page.get_by_role("button", name="Reset").click()
        compared(weights.places_of(1))


def test_the_radius_and_the_chain_are_moved_without_the_server(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=covering")
        counts = page.locator(".count")
        expect(counts).to_have_text(["3 balls", "2 balls"])
        page.get_by_role("slider", name="Radius ε of the balls").fill("2.5")
        expect(counts).to_have_text(["1 ball", "2 balls"])
        expect(page.get_by_text("At ε = 2.5 one mode needs 1 ball and")).to_be_visible()
        for radius in (0, 1.6, 3.2, 5):
            page.get_by_role("slider", name="Radius ε of the balls").fill(str(radius))
            panels = [panel.bounding_box() for panel in page.locator("svg rect").all()]
            for panel, group in zip(panels, page.locator(".balls").all(), strict=True):
                for ball in group.locator("circle").all():
                    assert _inside(ball.bounding_box(), panel), radius
        page.goto(f"{address}/lessons?lesson=crossing")
        expect(page.get_by_text("first 53 · second 47")).to_be_visible()
        page.get_by_role("slider", name="Made so far").fill("1")
        expect(page.get_by_text("first 1 · second 0").first).to_be_visible()
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_text("first 53 · second 47")).to_be_visible(timeout=20_000)


@pytest.mark.parametrize("present", ["", "&present=1"])
def test_a_triangle_is_moved_along_the_path_with_the_error_of_the_engine(
    chromium, address, present
):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=ridge{present}")
        mark = page.get_by_role("slider", name="Place on the curve")
        mark.focus()
        for _ in range(6):
            page.keyboard.press("ArrowLeft")
        told = 100 * ridge.errors(*ridge.SHOWN[1])[ridge.HALFWAY - 6]
        expect(mark).to_have_attribute("aria-valuetext", f"{told:.2f}%")
        expect(page.get_by_text(f"here it is {told:.2f}%")).to_be_visible()
        if not present:
            page.get_by_role("slider", name="Place on the path").fill("0")
            expect(mark).to_have_attribute("aria-valuetext", "0.00%")


def test_chains_are_made_longer_without_the_server(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=settled&step=2")
        expect(page.get_by_text("Chain 1: R̂ by itself 0.99")).to_be_visible()
        for number, one in enumerate(settled.lengths()):
            page.get_by_role("slider", name="Length of the chains").fill(str(number))
            for chain, alone in enumerate(one["alone"], 1):
                said = f"Chain {chain}: R̂ by itself {alone:.2f}"
                expect(page.get_by_text(said)).to_be_visible()
            expect(page.get_by_text(settled.sentence(number))).to_be_visible()


def test_a_talk_is_given_from_the_keyboard(chromium, address):
    with chromium(1280, 720) as page:
        page.goto(f"{address}/lessons?lesson=uniqueness&step=1&present=1")

        def at(lesson: int, step: int) -> None:
            expect(
                page.get_by_text(f"Lesson {lesson} of {len(LESSONS)} · step {step} of 3")
            ).to_be_visible()
            settle(page)

        at(1, 1)
        expect(page.get_by_text("Esc: leave")).to_be_visible()
        expect(page.get_by_role("navigation")).to_be_hidden()
        assert page.locator("button:visible, input:visible").count() == 0
        for key, where in (
            ("ArrowRight", (1, 2)),
            ("PageDown", (1, 3)),
            (" ", (2, 1)),
            ("ArrowLeft", (1, 3)),
            ("PageUp", (1, 2)),
            ("PageUp", (1, 1)),
            ("PageUp", (1, 1)),
        ):
            page.keyboard.press(key)
            at(*where)
        # A handle that is focused takes the arrows; the pages still turn by Page down.
        page.keyboard.press("Tab")
        page.get_by_role("slider", name="Corner 1 of the triangle").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".error")).not_to_have_text("Error 0.00%")
        at(1, 1)
        page.keyboard.press("PageDown")
        at(1, 2)
        # Escape leaves, whatever has the keys.
        page.get_by_role("slider", name="Corner 1 of the triangle").focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Present")).to_be_visible()
        expect(page).to_have_url(re.compile("lesson=uniqueness&step=2$"))
