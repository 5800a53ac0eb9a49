"""What is kept from one redraw to the next is never old, and never another owner's."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from bnmf_core.analysis import downstream, evidence, islands, likelihood_power, structure
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.scoreboard import scoreboard
from bnmf_core.findings import answer
from bnmf_core.share import archive
from bnmf_core.share.opening import open_archive
from bnmf_core.store import folders
from bnmf_core.store.manifest import DONE
from pages.downstream_parts import classes
from pages.frame import owners, services
from pages.parts.answer import Answer
from pages.scoreboard_parts import board_of
from tests.pages.apps import page, table_with, words

METRIC, THRESHOLD = "max_angle", 15.0


@pytest.fixture(autouse=True)
def nothing_kept():
    """Nothing that other tests have left in memory."""
    st.cache_data.clear()


def opened(runner, run_ids):
    """The comparison of these runs, read anew."""
    return open_comparison(runner.store, run_ids)


def seen(kind, comparison):
    """The answer of a ``kind`` at a threshold."""
    return kind(comparison, METRIC, structure.modes_at(comparison, METRIC, THRESHOLD))


def board(comparison):
    """The comparison as the scoreboard sees it."""
    return Board(comparison, METRIC, structure.modes_at(comparison, METRIC, THRESHOLD), THRESHOLD)


def put_away(stage, comparison):
    """As if the stage were not done."""
    done = stage.folder(comparison) / DONE
    done.rename(done.with_name("away.json"))


def bring_back(stage, comparison):
    """The stage is done."""
    done = stage.folder(comparison) / DONE
    done.with_name("away.json").rename(done)


def agrees(comparison):
    """What is kept says what is made from nothing; that answer."""
    kept, told = seen(Answer, comparison), seen(answer.Answer, comparison)
    assert kept.facts == told.facts
    pd.testing.assert_frame_equal(kept.table, told.table)
    asked = board(comparison)
    pd.testing.assert_frame_equal(board_of._scored(asked), scoreboard(asked))
    return kept


def test_an_answer_is_made_anew_when_a_stage_is_gone_or_there_again(server, finished):
    stages = (islands.STAGE, likelihood_power.STAGE, evidence.STAGE)
    moves = [*((put_away, stage) for stage in stages), *((bring_back, one) for one in stages[::-1])]
    for move, stage in moves:
        agrees(opened(server, finished))
        move(stage, opened(server, finished))
    agrees(opened(server, finished))


def test_what_becomes_ready_while_a_page_is_drawn_is_not_kept_as_if_it_had_been(server, finished):
    stages = (likelihood_power.STAGE, evidence.STAGE)
    for stage in stages:
        put_away(stage, opened(server, finished))
    early = seen(Answer, opened(server, finished))
    assert early.evidence is None
    for stage in stages:
        bring_back(stage, opened(server, finished))
    assert early.table["mass"].isna().all() and early.facts
    assert agrees(opened(server, finished)).table["mass"].notna().any()


def test_another_distance_or_threshold_is_another_answer(server, finished):
    comparison = opened(server, finished)
    for metric in comparison.metrics:
        for threshold in (structure.suggested_threshold(comparison, metric), 1e-9):
            modes = structure.modes_at(comparison, metric, threshold)
            kept, told = (kind(comparison, metric, modes) for kind in (Answer, answer.Answer))
            assert kept.facts == told.facts
            pd.testing.assert_frame_equal(kept.table, told.table)
            for radius in (threshold, 2 * threshold):
                asked = Board(comparison, metric, modes, radius)
                pd.testing.assert_frame_equal(board_of._scored(asked), scoreboard(asked))


def test_a_run_that_was_resumed_in_vain_has_taken_longer(server, finished):
    runs = ",".join(finished)
    assert not page("scoreboard", runs=runs).exception
    before = server.analyse(finished)
    assert server.analyse(finished) is before
    # As if a part of it had been made and lost.
    server.store.database.write(
        "UPDATE runs SET busy = 1234, seconds = 1234, status = 'cancelled' WHERE id = ?",
        (finished[0],),
    )
    after = server.analyse(finished)
    assert after.key == before.key and after.runs[0].busy == 1234
    app = page("scoreboard", runs=runs)
    found = table_with(app, "criterion", "better").set_index("criterion")
    assert found.eq("1,234").any(axis=None)
    assert "cancelled after" in words(app)


@pytest.fixture
def shared(server, finished, monkeypatch, tmp_path):
    """A shared server on which Anna has opened the finished runs; who asks is set by a name."""
    monkeypatch.setenv("BNMF_SHARED", "1")
    archive.write(tmp_path / "runs.zip", seen(answer.Answer, opened(server, finished)))
    anna = services.places().of("anna").runner
    assert set(open_archive(anna.store, tmp_path / "runs.zip").run_ids) == set(finished)
    anna.wait_analysis(finished)
    return lambda name: monkeypatch.setattr(owners, "owner", lambda: name)


def forged(runner, run_ids, path):
    """An archive of these runs, under the same ids, of other factorizations of the same data."""
    comparison = opened(runner, run_ids)
    others = []
    for record, particles in zip(comparison.runs, comparison.particles, strict=True):
        rng = np.random.default_rng(5)
        A, W = (
            np.asarray(part) * rng.uniform(0.2, 5.0, part.shape)
            for part in (particles.A, particles.W)
        )
        others.append(replace(particles, A=A, W=W))
        folders.write_particles(runner.store.run_folder(record.id), others[-1], final=True)
    shutil.rmtree(comparison.folder)
    runner.wait_analysis(run_ids)
    archive.write(path, seen(answer.Answer, opened(runner, run_ids)))


def test_ids_of_anothers_runs_show_nothing_of_them_and_change_nothing(
    server, finished, shared, tmp_path
):
    shared("anna")
    anna = services.places().of("anna").runner
    hers = opened(anna, finished)
    of_hers = agrees(hers)
    of_label = classes.of(hers.cache_key, "kind", downstream.STAGE.of(hers))
    first = page("overview", part="modes", runs=",".join(finished))
    # Ben knows the ids, and calls runs of his own so.
    forged(server, finished, tmp_path / "forged.zip")
    ben = services.places().of("ben").runner
    assert set(open_archive(ben.store, tmp_path / "forged.zip").run_ids) == set(finished)
    ben.wait_analysis(finished)
    his = opened(ben, finished)
    assert his.key == hers.key and his.cache_key != hers.cache_key
    kept = agrees(his)
    assert not kept.table.equals(of_hers.table)
    assert classes.of(his.cache_key, "kind", downstream.STAGE.of(his)) is not of_label
    shared("ben")
    app = page("overview", part="modes", runs=",".join(finished))
    assert not app.exception and words(app) != words(first)
    shared("anna")
    assert words(page("overview", part="modes", runs=",".join(finished))) == words(first)
