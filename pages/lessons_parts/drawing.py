"""Lessons on screen: the cards, a lesson, a lesson for a talk."""

from pathlib import Path

import streamlit as st

from pages.frame import link, looks, view
from pages.frame.words import plain
from pages.lessons_parts import touch
from pages.lessons_parts.lesson import Lesson
from pages.lessons_parts.registry import LESSONS

STEPS = (1, 2, 3)
IN_A_ROW = 6
CARDS = Path(__file__).with_name("cards")


def cards() -> None:
    """All lessons: the picture of each, its title and a button that opens it."""
    for first in range(0, len(LESSONS), IN_A_ROW):
        row = list(LESSONS.values())[first : first + IN_A_ROW]
        for lesson, column in zip(row, st.columns(IN_A_ROW, gap="small"), strict=False):
            with column.container(border=True, height="stretch"):
                view.image(CARDS / f"{lesson.key}.svg", lesson.idea)
                with st.container(height="stretch"):
                    st.markdown(f"**{number(lesson):d}. {plain(lesson.title)}**")
                # A link from a page to itself would leave the address as it is.
                st.button(
                    "Open",
                    key=f"open_{lesson.key}",
                    help=plain(lesson.idea),
                    on_click=go,
                    args=(lesson.key, STEPS[0]),
                )


def number(lesson: Lesson) -> int:
    """Number of a lesson, from 1."""
    return list(LESSONS).index(lesson.key) + 1


def beside(lesson: Lesson, step: int, way: int) -> tuple[str, int] | None:
    """The next (``way`` 1) or previous (−1) lesson and step; None at the ends."""
    at = (number(lesson) - 1) * len(STEPS) + step - 1 + way
    if not 0 <= at < len(LESSONS) * len(STEPS):
        return None
    return list(LESSONS)[at // len(STEPS)], STEPS[at % len(STEPS)]


def go(key: str | None, step: int | None = None) -> None:
    """Open a step of a lesson, or the cards; in a callback only."""
    link.put("lesson", key)
    link.put("step", step)


def lesson_page(lesson: Lesson, step: int) -> None:
    """One lesson: the picture and its sentence on the left, the texts on the right."""
    _above(lesson)
    left, right = st.columns([10, 3], gap="medium")
    with left:
        _picture(lesson, step)
    with right:
        st.segmented_control(
            "Step",
            STEPS,
            key=link.key("step"),
            required=True,
            label_visibility="collapsed",
            format_func=lambda chosen: f"Step {chosen:d}",
        )
        st.markdown(plain(lesson.filled(lesson.steps[step - 1])))
        for question in lesson.questions:
            with st.expander(plain(lesson.filled(question.text))):
                st.markdown(plain(lesson.filled(question.answer)))
        with st.container(border=True):
            st.markdown(f"**On your data.** {plain(lesson.on_your_data)}")
            link.to(lesson.page)


def _above(lesson: Lesson) -> None:
    title, turning = st.columns([7, 5], vertical_alignment="bottom")
    title.title(f"{number(lesson):d}. {plain(lesson.title)}", anchor=False)
    with turning, st.container(horizontal=True, horizontal_alignment="right"):
        st.button("All lessons", icon=":material/apps:", on_click=go, args=(None,))
        for way, icon, words in ((-1, "arrow_back", "Back"), (1, "arrow_forward", "Next")):
            at = number(lesson) - 1 + way
            known = 0 <= at < len(LESSONS)
            st.button(
                "",
                icon=f":material/{icon}:",
                key=f"turn_{words}",
                help=plain(f"{words} lesson"),
                disabled=not known,
                on_click=go,
                args=(list(LESSONS)[at] if known else None, 1),
            )
        st.button(
            "Present",
            icon=":material/present_to_all:",
            help="Large and without controls, for a talk; keys turn the steps.",
            on_click=link.put,
            args=("present", "1"),
        )
    st.markdown(plain(lesson.idea))


def _picture(lesson: Lesson, step: int) -> None:
    # Close together: all of it is seen at once, on a small screen and in a talk.
    with st.container(gap="xsmall"):
        above = st.empty()

        def say(sentence: str) -> None:
            above.markdown(f"**{plain(sentence)}**")

        lesson.show(step, say)
        st.caption(plain(lesson.paper))


def presented(lesson: Lesson, step: int) -> None:
    """A lesson for a talk: large, one step at a time, next and back by key."""
    looks.present()
    st.title(f"{number(lesson):d}. {plain(lesson.title)}", anchor=False)
    left, right = st.columns([9, 4], gap="medium")
    with left:
        _picture(lesson, step)
    with right:
        st.markdown(plain(lesson.filled(lesson.steps[step - 1])))
        st.markdown(f":small[Lesson {number(lesson):d} of {len(LESSONS):d} · step {step:d} of 3]")
        touch.keys(lambda way: _pressed(lesson, step, way))


def _pressed(lesson: Lesson, step: int, way: str) -> None:
    if way == "leave":
        link.put("present", None)
    elif found := beside(lesson, step, 1 if way == "next" else -1):
        go(*found)
