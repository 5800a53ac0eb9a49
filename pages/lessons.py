"""Lessons: ten ideas, each one picture to touch."""

import streamlit as st

from pages.frame import guard, link
from pages.frame.words import plain
from pages.glossary_parts import drawer
from pages.lessons_parts import drawing, touch
from pages.lessons_parts.registry import LESSONS

page = guard.arrive("lessons")
lesson = LESSONS.get(link.get("lesson") or "")
if lesson is None:
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.title(plain(page.title), anchor=False, width="content")
        st.space("stretch")
        drawer.button()
    st.markdown(page.question)
    if asked := link.get("lesson"):
        st.error(f"There is no lesson {plain(asked)}; these are the ones there are.")
    drawing.cards()
else:
    step = link.one_of("step", drawing.STEPS)
    (drawing.presented if touch.presenting() else drawing.lesson_page)(lesson, step)
link.share("lesson", "step", "present")
