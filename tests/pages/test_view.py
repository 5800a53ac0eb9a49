"""What pages draw charts with."""

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest


@pytest.mark.parametrize("polled", [False, True])
def test_a_chart_is_no_fragment_in_a_fragment(polled, monkeypatch):
    """Streamlit may send what is in an inner one without what it is in: a white page."""
    found = set()
    register = MemoryFragmentStorage.register

    def registered(self, fragment_id, *given, **named):
        found.add(fragment_id)
        return register(self, fragment_id, *given, **named)

    def page(polled):
        import pandas as pd  # noqa: PLC0415
        import plotly.graph_objects as go  # noqa: PLC0415

        from pages.frame import view, watch  # noqa: PLC0415

        def draw() -> None:
            for name in ("one", "two"):
                view.chart(go.Figure(), "What to see.", name=name, origin="", table=pd.DataFrame())

        watch.until_done(lambda: True, draw) if polled else draw()

    monkeypatch.setattr(MemoryFragmentStorage, "register", registered)
    shown = AppTest.from_function(page, args=(polled,)).run()
    assert not shown.exception
    assert len(found) == (1 if polled else 2)
