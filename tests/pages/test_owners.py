"""On a server that several share nobody sees or changes what is another's, unless it is shown."""

import os
import secrets
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
import streamlit as st

from bnmf_core import RunSpec, RunStore, laurberg
from bnmf_core.core.errors import NotFoundError
from bnmf_core.core.limits import Limits
from bnmf_core.store.home import OWNERS
from pages.frame import declared, owners, places, services
from pages.frame.places import Places
from pages.serving import identity
from tests.pages.apps import EXPLORE, PAGES, page, words
from tests.pages.conftest import made_once

MARKER = "Marker of Anna"
# Pages that show a guest nothing.
REFUSED = ("home", "data", "run", "runs", "rank", "study")
SPEC = RunSpec("random_restarts", rank=3, particles=4)


@pytest.fixture(scope="module")
def of_anna_once(tmp_path_factory):
    """A store with runs, a launch and a note, all of whose names say that they are Anna's."""
    dataset = replace(laurberg("two", noise=0.01), name=MARKER)
    names = {"names": [f"{MARKER}'s run"], "launch_name": f"{MARKER}'s launch"}
    root, ids = made_once(tmp_path_factory.mktemp("anna"), dataset, [SPEC], **names)
    store = RunStore(root)
    A = store.particles(ids[0]).A[0]
    store.notes.keep(store.run(ids[0]).dataset, "mode", A, f"{MARKER}'s mode")
    return root, ids


@pytest.fixture
def shared(tmp_path, monkeypatch, request):
    """A shared server with runs of one person; who asks is set by calling it with a name."""
    if "of_anna" in request.fixturenames:
        root, _ = request.getfixturevalue("of_anna_once")
        shutil.copytree(root, tmp_path / OWNERS / "anna")
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("BNMF_SHARED", "1")
    st.cache_resource.clear()
    st.cache_data.clear()

    def is_asking(name: str) -> None:
        monkeypatch.setattr(owners, "owner", lambda: name)

    is_asking("anna")
    yield is_asking
    services.places().close()
    st.cache_resource.clear()


@pytest.fixture
def of_anna(shared, of_anna_once) -> list[str]:
    """The ids of Anna's runs."""
    return list(of_anna_once[1])


def all_said(app) -> str:
    """Everything on a page that is text, tables and choices included."""
    return "\n".join([words(app), repr(app)])


@pytest.mark.slow
def test_no_page_says_anything_of_what_is_anothers(shared, of_anna):
    dataset = services.places().of("anna").store.run(of_anna[0]).dataset
    assert MARKER in all_said(page("runs"))
    shared("ben")
    for key in PAGES:
        asked = {"runs": ",".join(of_anna)} if key in EXPLORE else {}
        asked |= {"data": dataset} if "data" in declared.page(key).parameters else {}
        app = page(key, **asked)
        assert not app.exception, key
        assert MARKER not in all_said(app), key
        if asked:
            assert "not found" in words(app) or "Nothing has been run" in words(app), key
    shared("anna")
    assert MARKER in all_said(page("overview", runs=",".join(of_anna)))


def test_the_same_data_are_each_ones_own(shared, of_anna):
    ben = services.places().of("ben").store
    dataset = services.places().of("anna").store.dataset_entries()[0].id
    assert ben.datasets() == {} and ben.notes.of(dataset) == []
    with pytest.raises(NotFoundError):
        ben.dataset(dataset)
    with pytest.raises(NotFoundError):
        ben.delete_run(of_anna[0])
    with pytest.raises(NotFoundError):
        services.places().of("ben").runner.cancel(of_anna[0])


@pytest.mark.slow
def test_a_link_shows_runs_and_changes_nothing_until_it_is_taken_back(shared, of_anna):
    app = page("overview", runs=",".join(of_anna))
    app.button(key="show_to_others").click().run()
    (share,) = services.places().shares.of("anna")
    assert share.token in app.code[0].value
    refused = {declared.page(key).address for key in REFUSED}
    app = page("traces", runs=",".join(of_anna))
    assert refused & {link.proto.page for link in app.get("page_link")}
    shared("ben")
    for key in EXPLORE:
        app = page(key, shown=share.token, runs=",".join(of_anna))
        assert not app.exception, key
        assert "is shared with you" in words(app), key
        assert app.query_params["shown"] == share.token, key
        assert not [b for b in app.button if b.label in ("Delete", "Analyse", "Rename")], key
        led_to = {link.proto.page for link in app.get("page_link")}
        assert not led_to & refused, key
    assert MARKER in all_said(page("overview", shown=share.token, runs=",".join(of_anna)))
    for key in REFUSED:
        assert "for runs of your own" in words(page(key, shown=share.token)), key
    # On a page that he goes on to by its menu he still looks at what he is shown.
    app = page("overview", shown=share.token, runs=",".join(of_anna))
    app.query_params.clear()
    app.switch_page(str(declared.page("components").script)).run()
    assert "is shared with you" in words(app)
    app.button(key="to_my_own").click().run()
    assert "Nothing has been run yet" in words(app)
    shared("anna")
    app = page("runs")
    app.button(key=f"take_back_{share.token}").click().run()
    shared("ben")
    app = page("overview", shown=share.token, runs=",".join(of_anna))
    assert "taken back" in words(app) and MARKER not in all_said(app)


def test_a_link_made_while_a_run_goes_on_shows_that_run_too(shared, of_anna):
    runner = services.places().of("anna").runner
    spec = RunSpec("gibbs", 3, particles=100_000, settings={"thinning": 100})
    (chains,) = runner.start(runner.store.run(of_anna[0]).dataset, [spec])
    both = [*of_anna, chains]
    app = page("overview", runs=",".join(both))
    assert [one for one in app.button if one.label == "Cancel"]
    app.button(key="show_to_others").click().run()
    (share,) = services.places().shares.of("anna")
    assert set(share.run_ids) == set(both)
    shared("ben")
    app = page("overview", shown=share.token, runs=",".join(both))
    assert not [one for one in app.button if one.label == "Cancel"]
    shared("anna")
    while not runner.store.run(chains).done:
        time.sleep(0.05)
    runner.cancel(chains)
    runner.wait_analysis(both, "structure", "islands")
    assert share.token in page("overview", runs=",".join(both)).code[0].value


def test_who_looks_at_what_is_shown_waits_for_nothing_that_is_computed_already(shared, of_anna):
    every = services.places()
    share = every.shares.make("anna", of_anna)
    guest, host = every.shown(share.token), every.of("anna")
    assert guest.runner.analyses is host.runner.analyses
    other = host.runner.start(laurberg("two"), [SPEC])
    host.runner.wait(other)
    with pytest.raises(NotFoundError):
        guest.runner.analyse(other)


def test_a_cookie_that_was_not_signed_here_is_nobodys(shared, monkeypatch, tmp_path):
    owner = identity.new_owner()
    cookie = identity.signed(owner)
    assert identity.owner_of({identity.COOKIE: cookie}) == owner
    number, _, signature = cookie.partition(".")
    for forged in ("", number, f"{identity.new_owner()}.{signature}", f"{number}.{signature[:-1]}"):
        assert identity.owner_of({identity.COOKIE: forged}) is None
    # The key stays when the server is started again, and nobody else can read it.
    identity._key.cache_clear()
    assert identity.owner_of({identity.COOKIE: cookie}) == owner
    assert (tmp_path / identity.KEY).stat().st_mode & 0o077 == 0
    monkeypatch.setenv("BNMF_HOME", str(tmp_path / "elsewhere"))
    assert identity.owner_of({identity.COOKIE: cookie}) is None
    signed_by_us_but_no_number = identity._signer().sign("../anna").decode()
    assert identity.owner_of({identity.COOKIE: signed_by_us_but_no_number}) is None


def test_servers_that_begin_at_once_have_one_whole_key(monkeypatch, tmp_path):
    made = secrets.token_bytes

    def slowly(count):
        time.sleep(0.2)
        return made(count)

    monkeypatch.setattr(secrets, "token_bytes", slowly)
    with ThreadPoolExecutor(4) as threads:
        keys = [*threads.map(identity._key.__wrapped__, [tmp_path] * 4)]
    assert len({*keys}) == 1
    assert len(keys[0]) == 32


def test_where_people_sign_in_nothing_is_shown_before(shared, monkeypatch):
    monkeypatch.setenv("BNMF_SHARED", "sign-in")
    monkeypatch.setattr(owners, "must_sign_in", lambda: True)
    for key in ("home", "runs", "study"):
        app = page(key)
        assert [one.value for one in app.title] == ["Sign in"] and len(app.button) == 1, key


def test_an_account_is_one_person_and_another_issuers_is_another(monkeypatch):
    monkeypatch.setenv("BNMF_SHARED", "sign-in")
    found = set()
    for account in ({"iss": "a", "sub": "1"}, {"iss": "b", "sub": "1"}, {"iss": "a", "sub": "2"}):
        monkeypatch.setattr(owners.st, "user", account)
        found |= {owners.owner(), owners.owner()}
    assert len(found) == 3 and all(identity.NUMBER.fullmatch(one) for one in found)


def test_a_browser_that_keeps_no_cookies_is_told_what_that_means(shared, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("BNMF_SHARED", "1")
    assert "does not keep cookies" in words(page("home").run())  # seen when it comes again


def test_a_link_of_a_server_of_one_person_changes_nothing_either(server, finished):
    runs = ",".join(finished)
    app = page("overview", runs=runs)
    app.button(key="show_to_others").click().run()
    (share,) = services.places().shares.of(owners.EVERYBODY)
    assert share.token in app.code[0].value
    app = page("components", shown=share.token, runs=runs)
    assert "is shared with you" in words(app)
    assert not [button for button in app.button if button.label == "To my own runs"]
    names = [field for field in app.text_input if field.key.startswith("name_")]
    assert names and all(field.disabled for field in names)
    assert "for runs of your own" in words(page("runs", shown=share.token))
    services.places().shares.take_back(owners.EVERYBODY, share.token)
    assert "taken back" in words(page("overview", shown=share.token, runs=runs))


def test_who_has_not_come_for_long_is_removed_with_all_that_is_his(tmp_path, monkeypatch):
    with closing(Places(tmp_path, Limits(keep_days=30))) as every:
        for name in ("old", "new"):
            every.of(name).store.add_dataset(laurberg("two"))
        token = every.shares.make("old", ["r"]).token
        old = time.time() - 31 * places.DAY
        os.utime(tmp_path / "owners" / "old" / places.SEEN, (old, old))
        monkeypatch.setattr(places, "EVERY", -1.0)
        every.of("new")
        assert (tmp_path / "owners" / "old").exists()  # somebody has it open
        monkeypatch.setattr(places, "IDLE", -1.0)
        every.of("new")
        assert sorted(one.name for one in (tmp_path / "owners").iterdir()) == ["new"]
        with pytest.raises(NotFoundError):
            every.shares.find(token)
        assert len(RunStore(tmp_path / "owners" / "new").datasets()) == 1


def test_a_place_where_something_runs_is_not_put_away(tmp_path, monkeypatch):
    with closing(Places(tmp_path, Limits())) as every:
        busy, idle = every.of("busy"), every.of("idle")
        spec = RunSpec("gibbs", 3, particles=100_000, settings={"thinning": 1})
        (run_id,) = busy.runner.start(laurberg("two"), [spec])
        monkeypatch.setattr(places, "EVERY", -1.0)
        monkeypatch.setattr(places, "IDLE", -1.0)
        every.of("third")
        assert every.of("busy") is busy and every.of("idle") is not idle
        busy.runner.cancel(run_id)
        busy.runner.wait([run_id])
