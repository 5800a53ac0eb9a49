"""What every study shares: its documentation, its command line, how cells are made."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from bnmf_core.core.errors import Cancelled, NotFoundError, StoreError
from studies.__main__ import STUDIES, main
from studies.coverage.plan import CoverageStudy, StudyPlan
from studies.report import DOCS, Report
from studies.result import StudyResult, full, values_of
from studies.rrt.plan import RRTPlan, RRTStudy
from studies.runner import Progress, Study, Task
from studies.stein.plan import SteinPlan, SteinStudy
from studies.transfer.plan import TransferPlan, TransferStudy


def report_of(name) -> Report:
    return import_module(f"studies.{name}.report").REPORT


@pytest.mark.parametrize("name", STUDIES)
def test_the_documentation_is_of_the_stored_study(name):
    study, report = full(name), report_of(name)
    if study is None:
        assert not (DOCS / f"{name}-study.md").exists()
        pytest.skip("This study has not been measured in full yet.")
    drawn = report.figures(study)
    page, tables = report.document(study, drawn)
    assert (DOCS / f"{name}-study.md").read_text() == page
    stored = {path.name: path.read_text() for path in (DOCS / f"{name}-study").glob("*.*")}
    assert stored == {**drawn, **tables}


@pytest.mark.parametrize("name", STUDIES)
def test_the_command_line_names_its_options(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    told = capsys.readouterr().out
    assert f"python -m studies {name}" in told
    own = {
        "boolean": "--part --problem --column --start --rank --size --iterations",
        "coverage": "--repetitions --samples --only --problem --column --no-capped --calibrate",
        "stein": "--data --repetitions --only --model --algorithm",
        "rrt": "--data --repetitions --seconds --only --noise --method",
        "transfer": "--part",
        "topics": "--algorithm --repetitions --particles --iterations",
        "counts": "--data --part --repetitions --restarts --documents",
        "atlas": "--data --problem --kind --only --seeds --restarts --minutes",
        "practice": "--data --problem --practice --starts --runs",
    }
    for option in f"{own[name]} --short --keep --out --workers --json".split():
        assert option in told


def test_options_change_the_study_they_name(monkeypatch, capsys):
    asked = []

    def made(self, *args, **more):
        asked.append(self)
        raise NotFoundError("Enough.")

    monkeypatch.setattr(Study, "make", made)
    for words in (
        "coverage --only large --column gibbs hmc --samples 70 --no-capped",
        "coverage --short --repetitions 3 --only small --problem two_small two_large",
        "stein --only faces 10 --model silf --data here",
        "rrt --short --seconds 0.5",
        "transfer --part noise --targets 1",
    ):
        assert main([*words.split(), "--workers", "1"]) == 1
    assert "Enough." in capsys.readouterr().err
    large = ("unique_large", "two_large", "infinite_large")
    plan = StudyPlan(samples=70, capped=False)
    assert asked == [
        CoverageStudy(large, plan, ("gibbs", "hmc")),
        CoverageStudy(("two_small",), StudyPlan(3, 500)),
        SteinStudy(("faces", "faces_hidden_10"), SteinPlan(), (), ("silf",), Path("here")),
        RRTStudy(("laurberg_dense",), RRTPlan(1, 0.5), ("demonstration_tight",)),
        TransferStudy(TransferPlan(targets=1), ("noise",)),
    ]
    monkeypatch.undo()
    assert main(["stein", "--only", "nonsense", "--workers", "1", "--short"]) == 1
    assert "There is no data set 'nonsense'; there are faces" in capsys.readouterr().err


def test_an_unknown_study_is_answered_with_those_there_are(capsys):
    assert main(["nonsense"]) == main([]) == 2
    assert "coverage,stein,rrt,transfer,boolean,topics,counts" in capsys.readouterr().err


@dataclass(frozen=True)
class Squares(Study):
    """Each batch holds a number and its square, which needs the number."""

    numbers: tuple[int, ...]
    title: ClassVar[str] = "the squares"

    @property
    def decides(self):
        return list(self.numbers)

    def batches(self):
        return [
            [Task((n, power), f"{n}/{power}.json", f"{n} to the {power}") for power in (1, 2)]
            for n in self.numbers
        ]

    def measure(self, task, before, cancel):
        n, power = task.of
        assert list(before) == [(n, p) for p in range(1, power)]
        return {"value": n if power == 1 else before[n, 1]["value"] ** 2}

    def result(self, cells):
        return StudyResult(
            values_of(["n", "power"], [(*k, "x", c["value"]) for k, c in cells.items()])
        )


def test_batches_are_made_elsewhere_in_any_order_and_put_together_in_theirs(tmp_path):
    seen: list[Progress] = []
    study = Squares((3, 1, 2))
    with ThreadPoolExecutor(3) as executor:
        found = study.make(tmp_path, seen.append, executor=executor)
    assert found.values["value"].tolist() == [3, 9, 1, 1, 2, 4]
    assert [progress.done for progress in seen] == [0, 2, 4, 6]
    assert len(list(tmp_path.rglob("*.json"))) == 6
    assert found.values.equals(study.make().values)


def test_what_has_not_begun_is_cancelled_and_the_rest_is_kept(tmp_path):
    seen = []
    with ThreadPoolExecutor(1) as executor, pytest.raises(Cancelled, match="the squares"):
        Squares(tuple(range(50))).make(tmp_path, seen.append, lambda: len(seen) > 1, executor)
    assert 1 <= len(list(tmp_path.rglob("1.json"))) < 50


def test_a_compressed_study_is_read_again_and_a_torn_one_refused(tmp_path):
    study = Squares((5,)).make()
    for name in ("study.json", "study.json.gz"):
        study.save(tmp_path / name)
        assert StudyResult.load(tmp_path / name).values.equals(study.values)
    whole = (tmp_path / "study.json.gz").read_bytes()
    study.save(tmp_path / "study.json.gz")
    assert (tmp_path / "study.json.gz").read_bytes() == whole
    (tmp_path / "study.json.gz").write_bytes(whole[:-20])
    with pytest.raises(StoreError, match=r"study\.json\.gz is not a stored study"):
        StudyResult.load(tmp_path / "study.json.gz")
