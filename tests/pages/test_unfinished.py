"""Coverage and Scoreboard while runs are being made: what each has seen so far."""

from bnmf_core import RunSpec
from tests.pages.apps import page, words


def test_what_runs_have_seen_grows_on_screen(server, labelled):
    slow = {"chains": 1, "warm_up": 0, "thinning": 20}
    specs = [
        RunSpec("random_restarts", 3, particles=8),
        RunSpec("gibbs", 3, particles=100_000, settings=slow),
    ]
    run_ids = server.start(labelled, specs)
    server.wait(run_ids[:1])
    try:
        while server.store.run(run_ids[1]).done < 5:
            pass
        for name in ("coverage", "scoreboard"):
            app = page(name, runs=",".join(run_ids))
            assert not app.exception
            growing = [c for c in app.get("plotly_chart") if "seen so far" in c.proto.spec]
            assert len(growing) == 1
            assert "still finding something different" in words(app)
        app = page("overview", runs=run_ids[1])
        best = [c for c in app.get("plotly_chart") if "made so far" in c.proto.spec]
        assert not app.exception and len(best) == 1
        assert "compared when the runs have ended" in words(app)
    finally:
        server.cancel(run_ids[1])
        server.wait(run_ids)
