"""Weights follow their bases into one order."""

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis.comparison import Comparison

pytestmark = pytest.mark.slow


def test_aligned_weights_belong_to_aligned_bases(tmp_path):
    runner = JobRunner(RunStore(tmp_path))
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    run_ids = runner.start(data, [RunSpec("random_restarts", rank=3, particles=5)])
    comparison: Comparison = runner.wait_analysis(run_ids, "structure")
    A, W = comparison.factors(np.arange(5))
    aligned_A, aligned_W = comparison.aligned_factors(np.arange(5))
    np.testing.assert_array_equal(aligned_A, comparison.aligned(np.arange(5)))
    np.testing.assert_allclose(aligned_A @ aligned_W, A @ W, rtol=1e-9)
    runner.close()
