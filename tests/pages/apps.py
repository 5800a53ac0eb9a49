"""Pages opened by Streamlit's own test harness."""

import re
from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest

from pages.frame import declared

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page.key for page in declared.PAGES]
EXPLORE = [page.key for page in declared.PAGES if "runs" in page.parameters]
# The key of a run or of data, as no page shows it.
HEXADECIMAL = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b")


def page(name: str, **parameters) -> AppTest:
    app = AppTest.from_file(declared.SHELL, default_timeout=30)
    for key, value in parameters.items():
        app.query_params[key] = value
    app.switch_page(str(declared.page(name).script))
    return app.run()


def words(app: AppTest) -> str:
    shown = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning, *app.title]
    return "\n".join(element.value for element in shown)


def table_with(app: AppTest, *columns: str) -> pd.DataFrame:
    """The first table on a page that has these columns."""
    return next(t.value for t in app.dataframe if set(columns) <= set(t.value.columns))
