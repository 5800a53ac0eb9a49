"""By hand: components held and entries moved on the pages, kept in the address, computed once."""

import time

from bnmf_core import RunSpec
from bnmf_core.core.errors import Cancelled
from pages.frame import services
from tests.pages.apps import page, words


def button(app, begins):
    return next(one for one in app.button if one.label.startswith(begins))


def test_a_link_restores_what_is_held_and_nothing_starts_by_itself(finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, lock="1,3", moved="2", rise="3")
    assert not app.exception
    assert app.session_state["view_lock"] == ["1", "3"]
    assert app.query_params["lock"] == "1,3" and app.query_params["moved"] == "2"
    assert app.query_params["rise"] == "3"
    assert button(app, "Look for what remains")
    assert not services.place().at_work("exploration")


def test_numbers_that_no_component_has_are_left_out(finished):
    app = page("components", runs=",".join(finished), lock="2,9,x", moved="7", rise="50")
    assert not app.exception
    assert app.session_state["view_lock"] == ["2"] and app.session_state["view_moved"] is None
    assert app.session_state["view_rise"] == "1"


def test_all_held_leaves_nothing_to_look_for(finished):
    app = page("components", runs=",".join(finished), lock="1,2,3")
    assert not app.exception and "leave at least one" in words(app)


def test_what_remains_is_looked_for_once_and_told_in_words(finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, lock="1,2")
    button(app, "Look for what remains").click().run()
    services.place().wait(60)
    app = page("components", runs=runs, lock="1,2")
    assert not app.exception
    said = words(app)
    assert "With components 1 and 2 held" in said and "for the other component" in said
    assert "41 of 41 factorizations have converged" in said
    assert not [one for one in app.button if one.label.startswith("Look for")]


def test_entries_are_moved_and_told_beside_the_draws(finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, moved="2", rise="1")
    button(app, "Move all entries of component 2").click().run()
    services.place().wait(60)
    app = page("components", runs=runs, moved="2", rise="1")
    assert not app.exception
    said = words(app)
    assert "Within 1 % more error, “word" in said and "of the 12 shown could be zero" in said
    assert "of this mode" in said or "in this mode" in said
    # Another rise is another question.
    app = page("components", runs=runs, moved="2", rise="10")
    assert button(app, "Move all entries of component 2")
    assert "Within 10 % more error" not in words(app)


def test_a_second_exploration_waits_and_the_first_can_be_ended(finished):
    class Endless:
        key, lane, label = "endless", "exploration", "Moving entries"

        def ready(self):
            return False

        def make(self, report, stopped):
            report(0.25, "Going on")
            while not stopped():
                time.sleep(0.001)
            raise Cancelled("ended")

    place = services.place()
    place.start(Endless())
    app = page("components", runs=",".join(finished), lock="1")
    button(app, "Look for what remains").click().run()
    assert not app.exception and "Waits until what you started before is done." in words(app)
    assert len(place.at_work("exploration")) == 2
    other = app.button(key="held_cancel_other")
    assert other.label == "Cancel “Moving entries”, which is before it"
    other.click().run()
    place.wait(60)
    assert place.status(Endless()).status == "cancelled"
    app.run()
    assert not app.exception and "factorizations have converged" in words(app)


def test_contributions_are_moved_once_and_said_with_their_numbers(finished):
    runs = ",".join(finished)
    app = page("components", runs=runs, moved="2", rise="3")
    button(app, "Find the smallest").click().run()
    services.place().wait(60)
    app = page("components", runs=runs, moved="2", rise="3")
    assert not app.exception and "Within 3 % more error, component" in words(app)
    table = next(one.value for one in app.dataframe if "largest" in one.value)
    widest = int((table["largest"] - table["smallest"]).argmax()) + 1
    assert app.session_state["amounts_of"] == str(widest)


def test_regions_and_what_is_proved_are_shown_in_their_fold(finished):
    app = page("components", runs=",".join(finished))
    app.session_state["regions_fold"] = True
    app.run()
    assert not app.exception
    said = words(app)
    assert "of its fit AW alone" in said
    assert "unique" in said or "can be mixed with" in said or "another component" in said


def test_two_components_have_bands_and_classes_are_matrices_of_their_own(server, labelled):
    runner = services.runner()
    runs = runner.start(labelled, [RunSpec("random_restarts", rank=2, particles=4)])
    runner.wait_analysis(runs)
    app = page("components", runs=",".join(runs))
    assert not app.exception
    said = words(app)
    assert "whatever the other one is" in said and "Lock a component" not in said
    known = next(table.value for table in app.dataframe if "known" in table.value)
    assert known["known"].tolist()[:4] == [
        "kind 0 alone: no entry of A and W below 0",
        "kind 1 alone: no entry of A and W below 0",
        "kind 2 alone: no entry of A and W below 0",
        "all together: no entry of A and W below 0",
    ]
    assert (known.iloc[3, 1:] <= known.iloc[:3, 1:].min()).all()


def test_bands_that_were_cut_off_are_said_to_be(finished, monkeypatch):
    monkeypatch.setattr("bnmf_core.compare.bands.TRIALS", 1)
    address = {"runs": ",".join(finished), "moved": "1", "rise": "10"}
    for begins in ("Move all entries of component 1", "Find the smallest"):
        button(page("components", **address), begins).click().run()
        services.place().wait(60)
    app = page("components", **address)
    assert not app.exception and "bands were cut off after 16 steps" in words(app)
    assert "Some were cut off after 16 steps" in words(app)
