"""Lessons: eleven ideas, each one picture to touch."""

import streamlit as st

from pages.frame import guard, link
from pages.frame.words import plain
from pages.lessons_parts import drawing, touch
from pages.lessons_parts.registry import LESSONS

page = guard.arrive("lessons")
lesson = LESSONS.get(link.get("lesson") or "")
if lesson is None:
    guard.head(page)
    if requested := link.get("lesson"):
        st.error(f"There is no lesson {plain(requested)}; these are the ones there are.")
    drawing.cards()
else:
    step = link.one_of("step", drawing.STEPS)
    (drawing.presented if touch.presenting() else drawing.lesson_page)(lesson, step)
link.share("lesson", "step", "present")
