"""Pages opened by Streamlit's own test harness."""

from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.frame import declared

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page.key for page in declared.PAGES]
EXPLORE = [page.key for page in declared.PAGES if "runs" in page.parameters]


def page(name: str, **parameters) -> AppTest:
    app = AppTest.from_file(ROOT / "app.py", default_timeout=30)
    app.run()
    for key, value in parameters.items():
        app.query_params[key] = value
    app.switch_page(str(declared.page(name).script))
    return app.run()


def words(app: AppTest) -> str:
    shown = [*app.markdown, *app.caption, *app.info, *app.error, *app.warning, *app.title]
    return "\n".join(element.value for element in shown)
