"""All tests as one: both parts are run, counted together, and a failure in either is one."""

import pytest

from tests import whole

FILES = {
    "test_well.py": "def test_one(): pass\ndef test_two(): pass\n",
    "test_ill.py": "def test_three(): assert False\n",
    "test_left.py": "import pytest\n@pytest.mark.skip(reason='no')\ndef test_four(): pass\n",
    "test_broken.py": (
        "import pytest\n@pytest.fixture\ndef bad(): raise OSError\ndef test_five(bad): pass\n"
    ),
}


@pytest.mark.parametrize(
    ("parts", "code", "said"),
    [
        (("test_well.py", "test_left.py"), 0, "2 passed, 0 failed, 1 skipped"),
        (("test_ill.py", "test_well.py"), 1, "2 passed, 1 failed, 0 skipped"),
        (("test_well.py", "test_broken.py"), 1, "2 passed, 1 failed, 0 skipped"),
        (
            ("test_well.py", "test_none.py"),
            1,
            "2 passed, 0 failed, 0 skipped; part 2 stopped before its end",
        ),
    ],
)
def test_both_parts_are_run_and_counted_in_one_line(
    tmp_path, capfd, monkeypatch, parts, code, said
):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    options = ("-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null")
    assert whole.run([(*options, str(tmp_path / part)) for part in parts]) == code
    assert capfd.readouterr().out.strip().splitlines()[-1] == said


def test_every_test_but_the_long_ones_is_in_one_part():
    first, second = (part[1] for part in whole.PARTS)
    for browser in (False, True):
        for long in (False, True):
            chosen = [eval(one, {"browser": browser, "long": long}) for one in (first, second)]
            assert chosen == [not browser and not long, browser and not long]
