"""What nothing uses any more is found and removed on the page Runs."""

import json

from bnmf_core.analysis.unused import disk_usage, find_computed, find_unused
from bnmf_core.store import files
from pages.frame.words import size
from tests.pages.apps import page, words


def test_what_is_unused_is_listed_and_removed(server, finished):
    app = page("runs")
    app.button(key="find_unused").click().run()
    # What is in use can be removed where it would be computed again, but only if somebody says so.
    assert app.multiselect(key="unused_picked").value == []
    whole = files.size_of(server.store.root)
    assert f"What is kept takes {size(whole)}: data" in words(app)
    server.store.delete_run(finished[0])
    app.button(key="find_unused").click().run()
    assert not app.success
    (comparison,) = find_unused(server.store)
    picked = app.multiselect(key="unused_picked")
    assert picked.value == [comparison.key] and comparison.label in picked.options[0]
    app.button(key="remove_unused").click().run()
    assert find_unused(server.store) == [] and not app.exception


def test_data_without_runs_are_removed_only_if_chosen(server, labelled):
    server.store.add_dataset(labelled)
    app = page("runs")  # it says that nothing has been run, and still offers to free space
    app.button(key="find_unused").click().run()
    assert app.multiselect(key="unused_picked").value == []
    assert app.button(key="remove_unused").disabled
    app.multiselect(key="unused_picked").select(labelled.hash).run()
    app.button(key="remove_unused").click().run()
    assert server.store.datasets() == {} and not app.exception


def test_a_run_of_another_version_is_told_and_can_be_removed(server, finished):
    spec = server.store.run(finished[0]).spec.to_dict() | {"flavour": "strange"}
    server.store.database.write(
        "UPDATE runs SET spec = ? WHERE id = ?", (json.dumps(spec), finished[0])
    )
    app = page("runs")
    assert "another version" in app.warning[0].value
    app.button(key=f"remove_{finished[0]}").click().run()
    assert not app.warning and not app.exception
    assert [run.id for run in server.store.runs()] == [finished[1]]


def test_a_comparison_that_is_removed_is_computed_again(server, finished):
    app = page("runs")
    app.button(key="find_unused").click().run()
    (one,) = find_computed(server.store)
    assert one.label == "Comparison of Random restarts, Gibbs"
    before = disk_usage(server.store)
    assert before["comparisons"] >= one.bytes > 0
    app.multiselect(key="unused_picked").select(one.key).run()
    app.button(key="remove_unused").click().run()
    assert disk_usage(server.store)["comparisons"] == before["comparisons"] - one.bytes
    assert disk_usage(server.store)["runs"] == before["runs"]
    server.wait_analysis(finished, "distances")
    assert find_computed(server.store)[0].key == one.key


def test_runs_and_data_say_what_they_take_on_the_disk(server, finished):
    store, run_ids = server.store, list(finished)
    taken = sum(files.size_of(store.run_folder(run_id)) for run_id in run_ids)
    assert f"On the disk: {size(taken)}" in words(page("runs"))
    data = store.run(run_ids[0]).dataset
    taken = files.size_of(store.root / "datasets" / data)
    assert f"On the disk: {size(taken)}" in words(page("data", data=data))
