"""Overview: the map and four verdicts, whatever is known so far."""

import json

from tests.pages.apps import page, words


def titles(app):
    return [
        json.loads(one.proto.spec)["layout"].get("title", {}).get("text")
        for one in app.get("plotly_chart")
    ]


def test_the_map_and_its_verdicts_come_before_the_sentences(finished):
    app = page("overview", runs=",".join(finished))
    assert not app.exception and not app.error
    assert "modes of" in titles(app)[0] or "mode of" in titles(app)[0]
    shown = [element.value for element in app.markdown]
    tiles = [shown.index(f"**{name}**") for name in ("Explanations", "Components", "Chains")]
    assert tiles == sorted(tiles)
    assert "**Does the choice matter?**" in shown  # the data have labels
    assert "Circle: a mode" in words(app)
    assert app.segmented_control(key="view_part").value == "findings"
