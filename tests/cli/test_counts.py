"""Counts on the command line: what they are, which model is proposed, what is refused."""

import numpy as np
import pytest

from tests.evidence.test_variation import planted

SHAPE = (15, 20, 2, 20)


@pytest.fixture
def file(tmp_path):
    """Write a matrix, features in columns, as a file; its path."""

    def write(X):
        path = tmp_path / "counts.csv"
        np.savetxt(path, X.T, delimiter=",", fmt="%.12g")
        return path

    return write


def changed(change):
    X = planted(SHAPE, 1).X.copy()
    change(X)
    return X


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X: X.__setitem__((3, 4), -2.0), "is negative; every entry must be"),
        (lambda X: X.__setitem__((3, 4), 2.5), "holds 2.5, and counts are whole numbers"),
        (lambda X: X.__imul__(2.0**45), "divide them by a common number"),
    ],
    ids=["negative", "fractional", "beyond 2^53"],
)
def test_what_is_no_count_is_refused_in_one_sentence(command, file, change, said):
    words = ("--algorithm", "random_restarts", "--rank", 2, "--particles", 2, "--model", "poisson")
    code, out, err = command("run", file(changed(change)), *words)
    assert (code, out) == (1, "")
    (sentence,) = [line for line in err.splitlines() if said in line]
    assert sentence.rstrip().endswith(".") and "Traceback" not in err


@pytest.mark.parametrize(
    "change",
    [
        lambda X: (X.__setitem__(3, 0.0), X.__setitem__((slice(None), 5), 0.0)),
        lambda X: X.__imul__(1e9),
    ],
    ids=["lines of zeros", "large"],
)
def test_lines_of_zeros_and_large_counts_are_factorized(command, file, change):
    words = ("--algorithm", "random_restarts", "--rank", 2, "--particles", 2, "--model", "poisson")
    code, out, err = command("run", file(changed(change)), *words)
    assert code == 0 and "2/2" in out and "These are counts" in err


def test_ranks_are_compared_under_the_model_that_is_proposed(ask, file):
    path = file(planted(SHAPE, 1).X)
    words = ("ranks", path, "--ranks", "1:2", "--restarts", "2")
    told = ask(*words)
    assert told["model"] == "poisson" and "about as Poisson predicts" in told["model_said"]
    assert told["rank"] == 2
    other = ask(*words, "--sigma", "2.0")
    assert other["model"] == "gaussian"
    assert other["model_said"].startswith("“Gaussian noise, exponential priors” was asked for.")
    assert "X holds counts" in other["noise"]


@pytest.mark.slow
def test_an_analysis_of_counts_names_the_model_and_the_deviance(ask, file):
    path = file(planted(SHAPE, 1).X)
    told = ask("analyse", path, "--rank", 2, "--restarts", 2)
    assert told["model"] == "poisson" and "Poisson predicts" in told["model_said"]
    said = str(told["sentences"])
    assert "of the deviance" in said and "relative error" not in said and "‖X" not in said
