"""Names and notes on Overview and Components: given once, they stand on every page."""

from tests.pages.apps import page, words


def test_a_mode_and_a_component_are_called_by_their_names_everywhere(server, finished):
    runs = ",".join(finished)
    app = page("components", runs=runs)
    assert not app.exception
    kind = {box.key: box for box in app.selectbox}
    assert {"naming_mode", "naming_component"} <= set(kind)
    given = (("mode", "Early", "An early kind."), ("component", "Sport", "Balls, *mostly*."))
    for named, (what, name, text) in enumerate(given, 1):
        field = next(f for f in app.text_input if f.key.startswith(f"name_{what}_"))
        field.set_value(name)
        next(f for f in app.text_area if f.key.startswith(f"text_{what}_")).set_value(text)
        keep = [b for b in app.button if b.label == "Keep" and f"note_{what}_" in b.key]
        keep[0].click().run()
        assert not app.exception
        dataset = server.store.run(finished[0]).dataset
        assert len(server.store.notes.of(dataset)) == named
    assert "An early kind." in words(app)
    assert any("Early" in option for option in app.selectbox(key="view_focus").options)
    assert "mode 1 (Early)" in words(app)
    for other in ("overview", "components"):
        shown = page(other, runs=runs)
        assert not shown.exception
    assert any("Sport" in chart.proto.spec for chart in shown.get("plotly_chart"))
    assert "1 (Sport)" in words(shown)
    # What was noted stands beside the picture, and not in the fold only.
    assert "component 1**: Sport: Balls, \\*mostly\\*." in words(shown)
    assert "mode 1**: Early: An early kind." in words(shown)
    remove = next(b for b in app.button if b.label == "Remove" and "note_component_" in b.key)
    remove.click().run()
    assert [note.name for note in server.store.notes.of(dataset)] == ["Early"]


def test_a_note_without_anything_is_one_sentence(server, finished):
    app = page("components", runs=",".join(finished))
    next(b for b in app.button if b.label == "Keep").click().run()
    assert "A note needs a name or a text" in words(app)
