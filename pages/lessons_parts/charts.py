"""Charts of lessons: as on every page, and larger letters where they are presented."""

import pandas as pd
import plotly.graph_objects as go

from pages.frame import view
from pages.lessons_parts import touch

# Of a talk: points of letters, and by how much a picture grows.
LETTERS, TALLER = 17, 1.2


def chart(figure: go.Figure, reading: str, *, name: str, origin: str, table: pd.DataFrame) -> None:
    """Draw a figure with what it needs to be read."""
    if touch.presenting():
        figure.update_layout(font_size=LETTERS, height=TALLER * figure.layout.height)
    view.chart(figure, reading, name=name, origin=origin, table=table)
