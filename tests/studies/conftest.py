"""What the tests of several studies share."""

import pytest

from bnmf_core.core.errors import Cancelled


@pytest.fixture
def goes_on(tmp_path, monkeypatch):
    """Cancelled after some cells, one of which is then torn, a study measures only the others."""

    def check(study, module, name, stop, total):
        seen = []
        with pytest.raises(Cancelled, match=study.title):
            study.make(tmp_path, seen.append, lambda: len(seen) > stop)
        kept = sorted(tmp_path.rglob("*.json"))
        assert len(kept) == seen[-1].done == stop and seen[-1].total == total
        kept[0].write_text(kept[0].read_text()[:-20])
        measured, whole = [], getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: measured.append(args) or whole(*args))
        found = study.make(tmp_path)
        assert len(measured) == total - stop + 1
        return found

    return check
