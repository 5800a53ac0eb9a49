"""``bnmf ranks``: the study that Python makes."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis.ranks import FOLDER, RankQuestion, answered, read
from bnmf_core.data.synthetic import low_rank
from bnmf_core.evidence.rank_study import rank_study


@pytest.mark.slow
def test_ranks_are_those_that_python_compares(ask, command, home):
    generated = ["low_rank", "--data-seed", "1"]
    for value in ("features=10", "observations=12", "rank=2", "noise=0.1", "sparsity=0"):
        generated += ["--data-set", value]
    words = ["ranks", *generated, "--ranks", "1:3", "--sigma", "0.1", "--restarts", "4"]
    told = ask(*words, "--seed", "3")
    data = low_rank(10, 12, 2, 0.1, rng=np.random.default_rng(1))
    study = rank_study(data, [1, 2, 3], sigma=0.1, restarts=4, rng=np.random.default_rng(3))
    pd.testing.assert_frame_equal(pd.DataFrame(told["ranks"]), study.table)
    assert told["criteria"]["evidence"] == {
        **vars(study.criteria["evidence"]),
        "runners_up": list(study.criteria["evidence"].runners_up),
    }
    assert (told["noise"], told["prior"]) == (study.noise, study.prior)
    # The page Rank shows it.
    ((dataset, _),) = home.datasets().items()
    (asked,) = answered(home.root, dataset)
    assert asked == RankQuestion(dataset, (1, 2, 3), "same", 0.1, 4, seed=3)
    stored = read(home.root / FOLDER / dataset / asked.key)
    pd.testing.assert_frame_equal(stored.table, study.table)
    code, table, _ = command(*words, "--seed", "3")
    assert code == 0 and study.criteria["evidence"].said in table and study.noise in table
    # Without the evidence, which would be quick here.
    fewer = ask("ranks", *generated, "--ranks", "1:3", "--restarts", "4", "--no-evidence")
    assert [row["log_evidence"] for row in fewer["ranks"]] == [None] * 3
    assert "left out to save time" in fewer["criteria"]["evidence"]["said"]
    # Half of the matrix has no rank 8.
    large = ask("ranks", *generated, "--ranks", "8", "--sigma", "0.1", "--restarts", "2")
    assert large["ranks"][0]["hidden_error"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "two"], "write the first and the last as 2:8"),
        (["--ranks", "5:4"], "No rank was given"),
        (["--ranks", "0:3"], "Rank 0 was among those to try"),
        (["--seed", "-1"], "The seed was -1"),
        (["--model", "nothing"], "nothing"),
        (["--model", "silf"], "components are compared under gaussian"),
        (["--model", "kl", "--sigma", "0.1"], "has no size σ"),
        (["--model", "kl", "--noise", "same"], "has no size σ"),
    ],
)
def test_ranks_that_make_no_sense_are_refused(command, words, said):
    code, _, err = command("ranks", "laurberg_two", *words)
    assert code == 1 and said in err


def test_a_model_that_data_speak_against_is_refused(command, tmp_path):
    np.savetxt(tmp_path / "X.csv", np.eye(5), delimiter=",")
    code, _, err = command("ranks", tmp_path / "X.csv", "--model", "itakura_saito")
    assert code == 1 and "takes entries above 0 only" in err


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_ranks_under_another_model_are_told_in_its_words(command, tmp_path, whole):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.exponential(3, (8, 2)) @ rng.exponential(2, (2, 10)))
    np.savetxt(tmp_path / "X.csv", X if whole else X + 0.5, delimiter=",")
    words = ["ranks", tmp_path / "X.csv", "--model", "kl", "--ranks", "1:2", "--restarts", "2"]
    code, told, err = command(*words)
    assert code == 0, err
    table, colon, _ = told.partition("Held out and fit: unexplained deviance, D(X ‖ AW)")
    assert colon and "σ" not in table and "‖X − AW‖" not in told
    assert ("evidence" in table) is whole
    assert ("a distribution of whole numbers" in told) is not whole


@pytest.mark.slow
def test_ranks_come_back_from_a_cluster_that_does_not_answer(ask, command):
    words = ["ranks", "laurberg_two", "--ranks", "1:2", "--sigma", "0.1", "--restarts", "2"]
    code, out, err = command(*words, "--scheduler", "nonsense")
    assert code == 0 and "check the address" in err and "computed on this machine now" in err
    assert out == command(*words)[1]
