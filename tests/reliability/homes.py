"""Every command and page on homes that cannot be written; run as a program of its own, as root.

``unshare --mount python -m tests.reliability.homes FOLDER few|all`` prints one line of JSON: what
:class:`Counted` has counted. What it mounts is seen by nobody else, and gone with it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.cli import main
from bnmf_core.core.errors import DiskError
from bnmf_core.data.synthetic import low_rank
from bnmf_core.store import files
from tests.reliability.counted import Counted

PATIENCE = 240.0
SPEC = RunSpec("random_restarts", rank=3, particles=12)
WORDS = ("cannot be written", "No space left", "there is room for")
ROOM = 2**20
# These tell sizes, which are not the same on every disk.
OF_SIZES = ("usage", "forget", "backup")
LIBRARY = ("transforms", "--rank", "2", "--sets", "2", "--size", "8", "--restarts", "4")
# Of those that are tried, a few that take no long.
FEW = ("runs", "metrics", "export", "code", "run", "open", "metrics of what is not compared")
Said = tuple[int | None, str, str]


def filled(store: RunStore) -> dict[str, str]:
    """Two runs that are compared, one that is not, one that was broken off; their ids."""
    with closing(JobRunner(store)) as runner:
        data = laurberg("two", noise=0.01)
        first, second = runner.start(data, [SPEC, RunSpec("gibbs", rank=3, particles=12)])
        runner.wait_analysis([first, second])
        (alone,) = runner.start(data, [RunSpec("random_restarts", rank=2, particles=5, seed=1)])
        runner.wait_analysis([alone], "structure")
        shutil.rmtree(runner.analyse([alone], watched=False).folder, ignore_errors=True)
    claim = store.life.enter(store.run(first).dataset, SPEC)
    store.life.withdraw(claim, "The program stopped before this began.")
    A = store.particles(first).A[0]
    store.notes.keep(store.run(first).dataset, "mode", A, "a name")
    data_id = store.run(first).dataset
    return {
        "data": data_id,
        "first": first,
        "second": second,
        "alone": alone,
        "broken": claim.run_id,
    }


def left_by_a_killed_program(root: Path) -> dict[str, str]:
    """:func:`filled` in a process that ends without closing its list."""
    told = root.with_name("ids.json")
    process = os.fork()
    if process == 0:
        told.write_text(json.dumps(filled(RunStore(root))))
        os._exit(0)
    os.waitpid(process, 0)
    (root / "index.sqlite-shm").unlink()
    return json.loads(told.read_text())


def reading(ids: dict[str, str], out: Path) -> dict[str, tuple[str, ...]]:
    """Commands that write nothing at home; what they say is the same on every disk."""
    both = ids["first"], ids["second"]
    return {
        "runs": ("runs", "--json"),
        "runs --quick": ("runs", "--quick"),
        "metrics": ("metrics", *both, "--json"),
        "export": ("export", both[0], "--format", "npz", "--output", f"{out}/a.npz"),
        "report": ("report", *both, "--output", f"{out}/a.html"),
        "archive": ("archive", *both, "--output", f"{out}/a.zip"),
        "code": ("code", *both),
        "samples": ("samples",),
        "clean --dry-run": ("clean", "--dry-run"),
        "recover": ("recover",),
        "usage": ("usage",),
        "forget": ("forget", "local"),
        "backup": ("backup", f"{out}/saved.zip"),
        "ranks of a file": ("ranks", f"{out}/data.csv", "--ranks", "1:2", "--restarts", "3"),
    }


def writing(ids: dict[str, str], out: Path) -> dict[str, tuple[str, ...]]:
    """Commands that have to write at home."""
    data = f"{out}/data.csv"
    return {
        "run": ("run", data, "--rank", "2", "--particles", "2"),
        "resume": ("resume", ids["broken"]),
        "metrics of what is not compared": ("metrics", ids["alone"]),
        "report of what is not compared": ("report", ids["alone"], "--output", f"{out}/b.html"),
        "compare": ("compare", data, "--rank", "2", "--particles", "2"),
        "analyse": ("analyse", data, "--rank", "2", "--restarts", "4"),
        "open": ("open", f"{out}/whole.zip"),
        "bring": ("bring", ids["data"], f"{out}/a.npz"),
        "transforms": ("transforms", "--add", f"{out}/library.npz"),
    }


def in_child(act: Callable[[], int], aside: Path) -> Said:
    """The exit code, what was said and what was said beside it; no code after a hang."""
    process = os.fork()
    if process == 0:
        sys.stdout, sys.stderr = (aside / "out").open("w"), (aside / "err").open("w")
        os.dup2(sys.stdout.fileno(), 1)
        os.dup2(sys.stderr.fileno(), 2)
        code = 70
        try:
            code = act()
        except BaseException:
            import traceback  # noqa: PLC0415

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code, began = None, time.monotonic()
    while time.monotonic() < began + PATIENCE:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.01)
    else:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return code, (aside / "out").read_text(), (aside / "err").read_text()


def asked(home: Path, words: Sequence[str], aside: Path) -> Said:
    """What a command does on a home."""
    os.environ["BNMF_HOME"] = str(home)
    return in_child(lambda: main(list(words)), aside)


def page_words(home: Path, name: str, run_ids: Sequence[str], aside: Path, click: str = "") -> Said:
    """What a page says, also after a click; its exceptions stand beside."""
    os.environ["BNMF_HOME"] = str(home)

    def draw() -> int:
        from tests.pages.apps import page, words  # noqa: PLC0415

        shown = page(name, runs=",".join(run_ids))
        if click:
            shown.button(key=click).click().run()
        for one in shown.exception:
            print("Traceback", one.value, one.stack_trace, file=sys.stderr)
        print(words(shown))
        refused = click and any(said in error.value for error in shown.error for said in WORDS)
        if refused:
            print(*(error.value for error in shown.error), file=sys.stderr)
        return int(bool(shown.exception or refused))

    return in_child(draw, aside)


def goes_on(home: Path, run_id: str) -> int:
    """A program that is refused on a full disk, and goes on as soon as there is room."""
    with closing(JobRunner(RunStore(home))) as runner:
        try:
            runner.resume(run_id)
        except DiskError:
            (home.parent / "filler").unlink()
            runner.resume(run_id)
            runner.wait([run_id])
            print(runner.store.run(run_id).status)
    return 0


def fill(folder: Path) -> Path:
    """Take every byte of the disk."""
    path = folder / "filler"
    (folder / "home" / "index.reserve").unlink(missing_ok=True)
    with path.open("ab", buffering=0) as file:
        for size in (2**16, 512, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return path


def shell(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def homes(template: Path, work: Path) -> dict[str, Path]:
    """Copies of a store: on disks without a free byte, and where nothing can be written."""
    size = files.size_of(template) + ROOM
    found = {}
    for kind in ("tmpfs", "ext4", "read-only"):
        place = work / kind
        place.mkdir()
        if kind == "tmpfs":
            shell("mount", "-t", "tmpfs", "-o", f"size={2 * size}", "none", place)
        elif kind == "ext4":
            image = work / "image"
            with image.open("wb") as file:
                file.truncate(4 * size + 2**23)
            shell("mkfs.ext4", "-q", "-F", "-m", "0", image)
            shell("mount", "-o", "loop", image, place)
        shutil.copytree(template, place / "home")
        if kind == "read-only":
            shell("mount", "--bind", place, place)
            shell("mount", "-o", "remount,ro,bind", place)
        else:
            fill(place)
        found[kind] = place / "home"
    return found


def contents(home: Path) -> dict[str, bytes]:
    """What lies at home, but for what SQLite and a first visit keep beside it."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.name.startswith("index.")
    }


def clicks(ids: dict[str, str]) -> dict[str, str]:
    """What is clicked that has to write at home, and on which page."""
    runs = {f"{what}_{ids['broken']}": "runs" for what in ("resume_all", "rename")}
    return {"start_digits": "home", "show_to_others": "overview", **runs}


def unsized(said: str) -> str:
    """What is said, without its numbers."""
    return " ".join(re.findall("[A-Za-z]+", said))


def judge(counted: Counted, where: str, found: Said, said: str | None) -> None:
    """``said`` : what has to be said, None for a sentence that it cannot be written."""
    code, out, err = found
    counted.tried[where.partition(":")[0]] += 1
    if code is None:
        counted.fault("hangs", where)
    elif "Traceback" in err or code not in (0, 1, 3):
        counted.fault("tracebacks", f"{where}: {err[-600:]}")
    elif said is None:
        if code != 1 or not any(words in err for words in WORDS):
            counted.fault("losses", f"{where}: no sentence, {code}, {out[-200:]!r}, {err[-300:]!r}")
    elif where.rpartition(" ")[2] in OF_SIZES and unsized(out) == unsized(said):
        return
    elif code != 0 or out != said:
        counted.fault("losses", f"{where}: {code}, {err[-300:]!r}, {out[-200:]!r}")


def prepared(work: Path) -> tuple[Path, Path, dict[str, str]]:
    """The store that is copied, a folder elsewhere with files to read, and the ids of the runs."""
    template, out = work / "whole" / "home", work / "out"
    template.parent.mkdir()
    out.mkdir()
    ids = left_by_a_killed_program(template)
    rows = low_rank(12, 14, 2, noise=0.05).dense()
    (out / "data.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    return template, out, ids


def tried(work: Path, only: Sequence[str] = (), pages: Sequence[str] = ()) -> Counted:
    """These commands (none named: all) and pages on every home."""
    counted = Counted("commands and pages on homes that cannot be written")
    template, out, ids = prepared(work)
    both = [ids["first"], ids["second"]]
    readers, writers = (
        {name: words for name, words in of(ids, out).items() if name in only or not only}
        for of in (reading, writing)
    )
    places = homes(template, work)
    whole = work / "compared"
    shutil.copytree(template, whole)
    asked(whole, ("archive", ids["second"], "--output", f"{out}/whole.zip"), out)
    if "transforms" in writers:
        asked(whole, (*LIBRARY, "--source-rank", "2", "--output", f"{out}/library.npz"), out)
    expected = {name: asked(whole, words, out) for name, words in readers.items()}
    expected |= {f"page {name}": page_words(whole, name, both, out) for name in pages}
    assert all(code == 0 and said for code, said, _ in expected.values()), expected
    for kind, home in places.items():
        before = contents(home)
        for name, words in readers.items():
            judge(counted, f"{kind}: {name}", asked(home, words, out), expected[name][1])
        for page in pages:
            name = f"page {page}"
            found = page_words(home, page, both, out)
            judge(counted, f"{kind}: {name}", found, expected[name][1])
        for name, words in writers.items():
            if kind != "read-only":
                fill(home.parent)
            judge(counted, f"{kind}: {name}", asked(home, words, out), None)
        for click, page in clicks(ids).items() if len(pages) > 1 else ():
            found = page_words(home, page, both, out, click)
            judge(counted, f"{kind}: click {click}", found, None)
        after = contents(home)
        counted.faults["silent changes"] += [
            f"{kind}: {name}" for name in before if before[name] != after.get(name)
        ]
        if kind != "read-only":
            fill(home.parent)
            going_on = partial(goes_on, home, ids["broken"])
            judge(counted, f"{kind}: with room again", in_child(going_on, out), "complete\n")
    return counted


if __name__ == "__main__":
    from pages.frame import declared

    whole = sys.argv[2] == "all"
    keys = [page.key for page in declared.PAGES]
    found = tried(Path(sys.argv[1]), () if whole else FEW, keys if whole else keys[:1])
    print(json.dumps(vars(found)))
