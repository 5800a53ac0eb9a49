"""What nothing uses any more is found and removed on the page Runs."""

import json

from bnmf_core.analysis.unused import find_unused
from tests.pages.apps import page


def test_what_is_unused_is_listed_and_removed(server, finished):
    app = page("runs")
    app.button(key="find_unused").click().run()
    assert [message.value for message in app.success] == ["Everything that is kept is in use."]
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
