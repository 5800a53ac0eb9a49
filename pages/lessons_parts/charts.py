"""Charts of lessons: they fill the window, and have larger fonts in a talk."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.frame import looks, view
from pages.lessons_parts import touch

# Font sizes in a talk, of text and of numbers in the cells of a matrix, in pixels.
LETTERS, IN_CELLS = 17, 13


def first() -> DeltaGenerator:
    """Container of the chart above its controls, visible at once on any screen."""
    return st.container(gap="xsmall")


def chart(figure: go.Figure, reading: str, *, name: str, origin: str, table: pd.DataFrame) -> None:
    """Draw a figure with its reading help; in a talk without buttons."""
    if not touch.presenting():
        with st.container(key=f"{looks.ROOMY}_{name}"):
            view.chart(figure, reading, name=name, origin=origin, table=table, tall=True)
        return
    figure.update_layout(font_size=LETTERS)
    figure.update_traces(textfont_size=IN_CELLS, selector={"type": "heatmap"})
    with st.container(key=f"{looks.LARGE}_{name}"):
        view.chart(figure, reading, name=name, origin=origin, table=table, talk=True)
