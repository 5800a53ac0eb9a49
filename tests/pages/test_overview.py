"""Overview: the map and four verdicts, whatever is known so far."""

import json

import numpy as np
import pandas as pd

from pages.overview_parts.weights import stacking_sentence
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


def test_stacking_weights_prefer_no_mode_where_the_gain_is_chance():
    table = pd.DataFrame({"mass": [0.9, 0.1], "mass_low": [0.8, 0.0], "mass_high": [1.0, 0.2]})
    weights = np.array([0.4, 0.6])
    chance = stacking_sentence(weights, table, lambda mode: (3.0, 4.0))
    assert "no better than mode 1 alone, the most probable, by more than chance leaves" in chance
    clear = stacking_sentence(weights, table, lambda mode: (30.0, 4.0))
    # Of one family only one mode has the mass: there is no most probable one.
    whole = stacking_sentence(weights, table.assign(mass=[1.0, np.nan]), lambda mode: (30.0, 4.0))
    assert "the most probable" not in whole
    assert "better than mode 1 alone, the most probable, by 30 ± 4 nats" in clear
    assert stacking_sentence(np.array([0.995, 0.005]), table, lambda mode: (0.1, 1.0)).endswith(
        "99.5 %."
    )
