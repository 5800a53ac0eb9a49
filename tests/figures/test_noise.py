"""Residuals of counts lie along the line of the model that made them."""

import numpy as np

from bnmf_core.evidence.variation import variation
from bnmf_core.figures.noise import variance_by_mean
from tests.evidence.test_variation import planted

SHAPE = (96, 40, 4, 20)


def drawn(ratio):
    found = variation(planted(SHAPE, ratio))
    figure = variance_by_mean(*found.binned(), found.dispersion, found.constant)
    return {trace.name.split(":")[0]: trace for trace in figure.data}, figure, found


def test_each_model_has_its_line_on_log_axes():
    traces, figure, found = drawn(3)
    assert list(traces) == ["Poisson", "negative binomial", "Gaussian", "residuals"]
    poisson, varied, gaussian, _ = traces.values()
    np.testing.assert_allclose(poisson.y, poisson.x)
    np.testing.assert_allclose(varied.y, varied.x + np.square(varied.x) / found.dispersion)
    np.testing.assert_allclose(gaussian.y, found.constant)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.title.text == "Variance of the residuals by fitted mean"


def test_residuals_of_poisson_counts_lie_along_their_line_and_others_above():
    plain, varied = (drawn(ratio)[0]["residuals"] for ratio in (1, 3))
    assert 0.8 < np.median(np.divide(plain.y, plain.x)) < 1.2
    assert np.median(np.divide(varied.y, varied.x)) > 2


def test_without_a_dispersion_there_is_no_line_of_it():
    one = np.array([1.0, 10.0])
    names = [trace.name for trace in variance_by_mean(one, one, np.inf, 5.0).data]
    assert "negative binomial" not in names
