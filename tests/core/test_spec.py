"""What a run is asked to do: values of every type are taken for what they are, or refused."""

import json

import numpy as np
import pytest

from bnmf_core.core.errors import BNMFError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.planning import check

RIGHT = RunSpec("gibbs", 3, settings={"chains": 2}, model_settings={"sigma": 0.5})


@pytest.mark.parametrize("value", [True, "2", None, float("nan"), np.array([1, 2]), [3]])
@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("rank", "The rank was {}; a whole number of 1 or more is needed."),
        ("particles", "{} factorizations were asked for; a whole number from 1 to"),
        ("seed", "The seed was {}; a whole number ≥ 0 is needed."),
        ("holdout", "The held-out fraction was {}; 0 to 0.5 is allowed."),
        ("seconds", "The budget was {} seconds; a number ≥ 0 is needed, 0 for none."),
        ("algorithm", "There is no algorithm {}; there are "),
        ("model", "There is no model {}; there are "),
        ("settings", "The settings of Gibbs were {}; "),
        ("model_settings", "The settings of Gaussian noise, exponential priors were {}; "),
    ],
)
def test_a_value_of_another_type_is_refused_with_a_sentence(field, sentence, value):
    with pytest.raises(BNMFError) as caught:
        check(laurberg("two"), RunSpec(**{**vars(RIGHT), field: value}))
    assert str(caught.value).startswith(sentence.format(repr(value)))


def test_numbers_of_numpy_can_be_run_and_stored():
    spec = RunSpec(
        np.str_("gibbs"),
        np.int64(3),
        particles=np.int32(100),
        seed=np.uint8(0),
        settings={"chains": np.int64(2)},
        model_settings={"sigma": np.float64(0.5)},
        holdout=np.float32(0),
    )
    check(laurberg("two"), spec)
    assert spec == RIGHT
    assert RunSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == RIGHT
