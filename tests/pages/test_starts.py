"""The Starts page: the stored study, data of one's own, libraries in and out."""

import io
import time

import pytest

from bnmf_core import laurberg
from bnmf_core.explorers import library
from bnmf_core.explorers.transforms import Recipe, learn
from pages.frame import services
from studies.transfer.own import OwnStarts
from studies.transfer.plan import PARTS
from tests.pages.apps import page, words


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_stored_study_is_shown(server, part):
    app = page("starts", part=part)
    assert not app.exception and not app.error
    assert len(app.get("plotly_chart")) == 1
    assert f"{PARTS[part][1]} of the paper" in words(app)
    assert app.query_params["part"] == part
    assert "There are no data yet" in words(app)


def test_starts_on_data_of_ones_own_are_measured_in_the_background(server):
    server.store.add_dataset(laurberg("two", noise=0.01))
    app = page("starts")
    app.number_input(key="starts_rank").set_value(3).run()
    app.button(key="own_starts_start").click().run()
    services.place().wait(60)
    app.run()
    assert not app.exception and not app.error
    assert len(app.get("plotly_chart")) == 2
    assert "rank 3, transfer rank 3, 50 starts of each kind" in words(app)
    app.segmented_control(key="own_scale").set_value("scaled").run()
    assert not app.exception


def test_a_measurement_can_be_cancelled_and_goes_on(server, monkeypatch):
    """Each cell is held up, so that the request comes in the middle."""
    measure = OwnStarts.measure
    monkeypatch.setattr(OwnStarts, "measure", lambda *args: time.sleep(0.3) or measure(*args))
    server.store.add_dataset(laurberg("two", noise=0.01))
    app = page("starts")
    app.button(key="own_starts_start").click().run()
    app.button(key="own_starts_cancel").click().run()
    services.place().wait(10)
    app.run()
    assert "The study was cancelled" in words(app)
    kept = len(list((server.store.root / "studies").rglob("*.json")))
    assert 0 <= kept < 9
    app.button(key="own_starts_start").click().run()
    services.place().wait(60)
    app.run()
    assert len(app.get("plotly_chart")) == 2


def test_a_library_that_is_brought_in_can_be_used_by_its_key(server):
    made = learn(Recipe(rank=2), 2)
    buffer = io.BytesIO()
    made.save(buffer)
    app = page("starts")
    upload = app.file_uploader(key="library_upload")
    upload.set_value(("mine.npz", buffer.getvalue(), "application/octet-stream")).run()
    assert not app.exception and not app.error
    assert app.code[0].value == made.key
    assert library.given(made.key).count == 10
    app.file_uploader(key="library_upload").set_value(("torn.npz", b"PK", "x")).run()
    assert not app.exception
    assert "is not a library of transforms" in app.error[0].value
