"""Mistakes to plant in ``bnmf_core/samplers``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "Gibbs: the prior does not shift the mean",
        "samplers/truncated_normal.py",
        "shift, scale, c = rate * noise_variance, diagonal * sd",
        "shift, scale, c = 0.0, diagonal * sd",
        "tests/algorithms/test_gibbs.py tests/algorithms/test_invariance.py",
    ),
    Mutant(
        "Gibbs: the weights are drawn given the basis of before",
        "samplers/gibbs.py",
        "    A = draw(A, problem.times_rows(W), gram(W), variance, drawn.A, rng)\n"
        "    W = draw(W, problem.times_columns(A), gram(A), variance, drawn.W, rng)\n",
        "    before, A = A, draw(A, problem.times_rows(W), gram(W), variance, drawn.A, rng)\n"
        "    W = draw(W, problem.times_columns(before), gram(before), variance, drawn.W, rng)\n",
        "tests/algorithms/test_gibbs.py tests/algorithms/test_invariance.py",
    ),
    Mutant(
        "Gibbs: chains that are swept in parts all get the first part's",
        "samplers/gibbs.py",
        "swept = [sweep(problem, A[part], W[part], rng) for part in parts]",
        "swept = [sweep(problem, A[parts[0]], W[parts[0]], rng) for part in parts]",
        "tests/algorithms/test_gibbs.py -k one_after",
    ),
    Mutant(
        "HMC: no Jacobian in log coordinates",
        "samplers/coordinates.py",
        "values = values + place.sum(axis=(1, 2))",
        "pass",
        "tests/algorithms/test_hmc.py",
    ),
    Mutant(
        "Metropolis–Hastings: a proposal that is always accepted",
        "samplers/metropolis.py",
        "return accept(point, -point.value, end, at_rest, rng)",
        "return accept(point, np.full(step.size, np.inf), end, at_rest, rng)",
        "tests/algorithms/test_invariance.py -k metropolis",
    ),
    Mutant(
        "Langevin: the step goes on rejecting after the warm-up",
        "samplers/langevin.py",
        "return outcome._replace(point=end, accepted=~outcome.divergent)",
        "return outcome",
        "tests/algorithms/test_walking.py",
    ),
    Mutant(
        "scale move: no Jacobian",
        "samplers/scale_move.py",
        " + (D - N) * log_s",
        "",
        "tests/algorithms/test_invariance.py -k scale",
    ),
    Mutant(
        "tempered: incremental weights left out of the particles",
        "samplers/tempered_smc.py",
        "chosen = systematic(weights, rng)",
        "chosen = systematic(np.ones_like(weights), rng)",
        "tests/algorithms/test_tempered_smc.py -k weighted_mean",
    ),
    Mutant(
        "tempered: incremental weights left out of the evidence",
        "samplers/tempered_smc.py",
        "float(top + np.log(weights.mean()))",
        "float(rise * log_likelihood.mean())",
        "tests/algorithms/test_tempered_smc.py -k tiny",
    ),
    Mutant(
        "tempered: populations count the same",
        "samplers/tempered_smc.py",
        "log_weights=np.full(size, state.log_evidence - np.log(size))",
        "log_weights=np.full(size, -np.log(size))",
        "tests/algorithms/test_tempered_smc.py -k own_evidence",
    ),
    Mutant(
        "tempered: sweeps at the whole likelihood",
        "samplers/gibbs.py",
        "drawn.noise_variance if variance is None else variance",
        "drawn.noise_variance",
        "tests/algorithms/test_invariance.py -k power",
    ),
    Mutant(
        "jumps: a place that its pilot chains left counts as a mode",
        "samplers/adaptation.py",
        "(stayed if stayed.any() else ~stayed)",
        "(stayed | ~stayed)",
        "tests/algorithms/test_mode_jumps.py",
    ),
    Mutant(
        "jumps: moments over all pilot chains, stayed or not",
        "samplers/adaptation.py",
        "share = modes /",
        "share = np.ones_like(modes) /",
        "tests/algorithms/test_mode_jumps.py",
    ),
    Mutant(
        "fitted jump: no q-ratio",
        "samplers/fitted_jump.py",
        "< gained + correction",
        "< gained",
        "tests/algorithms/test_invariance.py -k fitted",
    ),
    Mutant(
        "fitted jump: no Jacobian",
        "samplers/fitted_jump.py",
        "gained -= log_joint(A.transpose(0, 2, 1), W) + now.sum(axis=1)",
        "gained -= log_joint(A.transpose(0, 2, 1), W) + proposed.sum(axis=1)",
        "tests/algorithms/test_invariance.py -k fitted",
    ),
    Mutant(
        "annealed jump: no weights",
        "samplers/annealed_jump.py",
        "rise = powers[t] - powers[t - 1]",
        "rise = 0.0 * powers[t]",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
    Mutant(
        "annealed jump: products not normalised by their truncation",
        "samplers/annealed_jump.py",
        " - 0.5 * np.log(2 * np.pi) - inside",
        " - 0.5 * np.log(2 * np.pi)",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
    Mutant(
        "annealed jump: the place it leaves has no weight",
        "samplers/annealed_jump.py",
        "gained -= log_w + now[chains, label]",
        "gained -= now[chains, label]",
        "tests/algorithms/test_invariance.py -k annealed",
    ),
)
