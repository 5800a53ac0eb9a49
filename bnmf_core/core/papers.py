"""The works that are cited, in full: those made here by their numbers, others by author and year.

References of algorithms, models and distances are written in short, "paper 3, §6.2; Neal 2011";
:func:`cited` says what these are.
"""

import re

PAPERS = {
    1: "A. Masood, W. Pan and F. Doshi-Velez: An Empirical Comparison of Sampling Quality Metrics: "
    "A Case Study for Bayesian Nonnegative Matrix Factorization, arXiv:1606.06250, 2016.",
    2: "M. A. Masood and F. Doshi-Velez: Rapid Posterior Exploration in Bayesian Non-negative "
    "Matrix Factorization, arXiv:1610.08928, 2016.",
    3: "M. A. Masood and F. Doshi-Velez: A Particle-Based Variational Approach to Bayesian "
    "Non-negative Matrix Factorization, Journal of Machine Learning Research 20, 2019.",
    4: "F. Gonsior: Obtaining trustable results for Probabilistic Boolean Matrix Factorization "
    "using SGD/MCMC, master's thesis, TU Dortmund, 2019.",
}
WORKS = {
    "Andrieu, Doucet & Holenstein 2010": "C. Andrieu, A. Doucet and R. Holenstein: Particle Markov "
    "Chain Monte Carlo Methods, Journal of the Royal Statistical Society B 72(3), 269–342, 2010.",
    "Ang & Gillis 2019": "A. M. S. Ang and N. Gillis: Accelerating Nonnegative Matrix "
    "Factorization Algorithms Using Extrapolation, Neural Computation 31(2), 417–439, 2019.",
    "Benjamini & Hochberg 1995": "Y. Benjamini and Y. Hochberg: Controlling the False Discovery "
    "Rate: A Practical and Powerful Approach to Multiple Testing, Journal of the Royal Statistical "
    "Society B 57(1), 289–300, 1995.",
    "Borgen & Kowalski 1985": "O. S. Borgen and B. R. Kowalski: An Extension of the Multivariate "
    "Component-Resolution Method to Three Components, Analytica Chimica Acta 174, 1–26, 1985.",
    "Bertsekas 1982": "D. P. Bertsekas: Projected Newton Methods for Optimization Problems with "
    "Simple Constraints, SIAM Journal on Control and Optimization 20(2), 221–246, 1982.",
    "Bouma 2009": "G. Bouma: Normalized (Pointwise) Mutual Information in Collocation Extraction, "
    "Proceedings of the Biennial GSCL Conference, 31–40, 2009.",
    "Boutsidis & Gallopoulos 2008": "C. Boutsidis and E. Gallopoulos: SVD Based Initialization: A "
    "Head Start for Nonnegative Matrix Factorization, Pattern Recognition 41(4), 1350–1362, 2008.",
    "Carbonetto and others 2021": "P. Carbonetto, A. Sarkar, Z. Wang and M. Stephens: Non-negative "
    "Matrix Factorization Algorithms Greatly Improve Topic Model Fits, arXiv:2105.13440, 2021.",
    "Cemgil 2009": "A. T. Cemgil: Bayesian Inference for Nonnegative Matrix Factorisation Models, "
    "Computational Intelligence and Neuroscience, 785152, 2009.",
    "Chu, Keerthi & Ong 2004": "W. Chu, S. S. Keerthi and C. J. Ong: Bayesian Support Vector "
    "Regression Using a Unified Loss Function, IEEE Transactions on Neural Networks 15(1), 29–44, "
    "2004.",
    "Cichocki & Phan 2009": "A. Cichocki and A.-H. Phan: Fast Local Algorithms for Large Scale "
    "Nonnegative Matrix and Tensor Factorizations, IEICE Transactions on Fundamentals E92-A(3), "
    "708–721, 2009.",
    "Del Moral, Doucet & Jasra 2006": "P. Del Moral, A. Doucet and A. Jasra: Sequential Monte "
    "Carlo Samplers, Journal of the Royal Statistical Society B 68(3), 411–436, 2006.",
    "Févotte, Bertin & Durrieu 2009": "C. Févotte, N. Bertin and J.-L. Durrieu: Nonnegative Matrix "
    "Factorization with the Itakura–Saito Divergence: With Application to Music Analysis, Neural "
    "Computation 21(3), 793–830, 2009.",
    "Gabriel 1971": "K. R. Gabriel: The Biplot Graphic Display of Matrices with Application to "
    "Principal Component Analysis, Biometrika 58(3), 453–467, 1971.",
    "Gershman, Hoffman & Blei 2012": "S. Gershman, M. Hoffman and D. Blei: Nonparametric "
    "Variational Inference, International Conference on Machine Learning, arXiv:1206.4665, 2012.",
    "Gillis 2020": "N. Gillis: Nonnegative Matrix Factorization, SIAM, 2020.",
    "Gillis & Rajkó 2023": "N. Gillis and R. Rajkó: Partial Identifiability for Nonnegative Matrix "
    "Factorization, SIAM Journal on Matrix Analysis and Applications 44(1), 27–52, 2023.",
    "Hamming 1950": "R. W. Hamming: Error Detecting and Error Correcting Codes, Bell System "
    "Technical Journal 29(2), 147–160, 1950.",
    "Hess, Morik & Piatkowski 2017": "S. Hess, K. Morik and N. Piatkowski: The PRIMPING Routine – "
    "Tiling through Proximal Alternating Linearized Minimization, Data Mining and Knowledge "
    "Discovery 31(4), 1090–1131, 2017.",
    "Hsieh & Dhillon 2011": "C.-J. Hsieh and I. S. Dhillon: Fast Coordinate Descent Methods with "
    "Variable Selection for Non-negative Matrix Factorization, Proceedings of the 17th ACM SIGKDD "
    "Conference, 1064–1072, 2011.",
    "Jaccard 1912": "P. Jaccard: The Distribution of the Flora in the Alpine Zone, New Phytologist "
    "11(2), 37–50, 1912.",
    "Lawton & Sylvestre 1971": "W. H. Lawton and E. A. Sylvestre: Self Modeling Curve Resolution, "
    "Technometrics 13(3), 617–633, 1971.",
    "Lee & Seung 1999": "D. D. Lee and H. S. Seung: Learning the Parts of Objects by Non-negative "
    "Matrix Factorization, Nature 401, 788–791, 1999.",
    "Lee & Seung 2001": "D. D. Lee and H. S. Seung: Algorithms for Non-negative Matrix "
    "Factorization, Advances in Neural Information Processing Systems 13, 2001.",
    "Levandowsky & Winter 1971": "M. Levandowsky and D. Winter: Distance between Sets, Nature 234, "
    "34–35, 1971.",
    "Lin 2007": "C.-J. Lin: Projected Gradient Methods for Nonnegative Matrix Factorization, "
    "Neural Computation 19(10), 2756–2779, 2007.",
    "Liu & Wang 2016": "Q. Liu and D. Wang: Stein Variational Gradient Descent: A General Purpose "
    "Bayesian Inference Algorithm, Advances in Neural Information Processing Systems 29, 2016.",
    "Mandt, Hoffman & Blei 2017": "S. Mandt, M. D. Hoffman and D. M. Blei: Stochastic Gradient "
    "Descent as Approximate Bayesian Inference, Journal of Machine Learning Research 18, 2017.",
    "Marin, Mengersen & Robert 2005": "J.-M. Marin, K. Mengersen and C. P. Robert: Bayesian "
    "Modelling and Inference on Mixtures of Distributions, Handbook of Statistics 25, 459–507, "
    "2005.",
    "Masood & Doshi-Velez 2016": PAPERS[2],
    "Masood, Pan & Doshi-Velez 2016": PAPERS[1],
    "Metropolis and others 1953": "N. Metropolis, A. W. Rosenbluth, M. N. Rosenbluth, A. H. Teller "
    "and E. Teller: Equation of State Calculations by Fast Computing Machines, The Journal of "
    "Chemical Physics 21(6), 1087–1092, 1953.",
    "Neal 2001": "R. M. Neal: Annealed Importance Sampling, Statistics and Computing 11(2), "
    "125–139, 2001.",
    "Neal 2003": "R. M. Neal: Slice Sampling, The Annals of Statistics 31(3), 705–767, 2003.",
    "Neal 2011": "R. M. Neal: MCMC Using Hamiltonian Dynamics, in Handbook of Markov Chain Monte "
    "Carlo, Chapman & Hall/CRC, 113–162, 2011.",
    "Paatero, Eberly, Brown & Norris 2014": "P. Paatero, S. Eberly, S. G. Brown and G. A. Norris: "
    "Methods for Estimating Uncertainty in Factor Analytic Solutions, Atmospheric Measurement "
    "Techniques 7(3), 781–797, 2014.",
    "Paatero & Tapper 1994": "P. Paatero and U. Tapper: Positive Matrix Factorization: A "
    "Non-negative Factor Model with Optimal Utilization of Error Estimates of Data Values, "
    "Environmetrics 5(2), 111–126, 1994.",
    "Roberts & Tweedie 1996": "G. O. Roberts and R. L. Tweedie: Exponential Convergence of "
    "Langevin Distributions and Their Discrete Approximations, Bernoulli 2(4), 341–363, 1996.",
    "Roberts, Gelman & Gilks 1997": "G. O. Roberts, A. Gelman and W. R. Gilks: Weak Convergence "
    "and Optimal Scaling of Random Walk Metropolis Algorithms, The Annals of Applied Probability "
    "7(1), 110–120, 1997.",
    "Rukat, Holmes, Titsias & Yau 2017": "T. Rukat, C. C. Holmes, M. K. Titsias and C. Yau: "
    "Bayesian Boolean Matrix Factorisation, International Conference on Machine Learning, 2017.",
    "Röder, Both & Hinneburg 2015": "M. Röder, A. Both and A. Hinneburg: Exploring the Space of "
    "Topic Coherence Measures, ACM International Conference on Web Search and Data Mining, "
    "399–408, 2015.",
    "Schmidt, Winther & Hansen 2009": "M. N. Schmidt, O. Winther and L. K. Hansen: Bayesian "
    "Non-negative Matrix Factorization, Independent Component Analysis and Signal Separation, "
    "540–547, 2009.",
    "Sievert & Shirley 2014": "C. Sievert and K. Shirley: LDAvis: A Method for Visualizing and "
    "Interpreting Topics, Workshop on Interactive Language Learning, Visualization, and "
    "Interfaces, 63–70, 2014.",
    "Steihaug 1983": "T. Steihaug: The Conjugate Gradient Method and Trust Regions in Large Scale "
    "Optimization, SIAM Journal on Numerical Analysis 20(3), 626–637, 1983.",
    "Tauler 2001": "R. Tauler: Calculation of Maximum and Minimum Band Boundaries of Feasible "
    "Solutions for Species Profiles Obtained by Multivariate Curve Resolution, Journal of "
    "Chemometrics 15(8), 627–646, 2001.",
    "Tierney 1994": "L. Tierney: Markov Chains for Exploring Posterior Distributions, The Annals "
    "of Statistics 22(4), 1701–1728, 1994.",
    "Vehtari & others 2021": "A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner: "
    "Rank-Normalization, Folding, and Localization: An Improved R̂ for Assessing Convergence of "
    "MCMC, Bayesian Analysis 16(2), 667–718, 2021.",
    "Yao, Vehtari & Gelman 2022": "Y. Yao, A. Vehtari and A. Gelman: Stacking for Non-mixing "
    "Bayesian Computations: The Curse and Blessing of Multimodal Posteriors, Journal of Machine "
    "Learning Research 23(79), 1–45, 2022.",
    "Zhou & Carin 2015": "M. Zhou and L. Carin: Negative Binomial Process Count and Mixture "
    "Modeling, IEEE Transactions on Pattern Analysis and Machine Intelligence 37(2), 307–320, "
    "2015.",
}
# Citations of the numbered papers.
AUTHORS = {
    1: "Masood, Pan & Doshi-Velez 2016",
    2: "Masood & Doshi-Velez 2016",
    3: "Masood & Doshi-Velez 2019",
    4: "Gonsior 2019",
}
_SHORT = {f"paper {number}": work for number, work in PAPERS.items()} | WORKS


def by_authors(text: str) -> str:
    """Replace numbers of papers by authors and year.

    >>> by_authors("paper 4, §2.2; Masood, Pan & Doshi-Velez 2016 (paper 1), section 4.2")
    'Gonsior 2019, §2.2; Masood, Pan & Doshi-Velez 2016, section 4.2'
    """
    for number, authors in AUTHORS.items():
        text = text.replace(f"{authors} (paper {number})", authors)
        text = re.sub(rf"\bpaper {number}\b", authors, text)
    return text


def cited(text: str) -> list[str]:
    """The works that a text names in short, each in full, in the order in which they are named.

    >>> [one[:21] for one in cited("Neal and others; Neal 2011; paper 3, algorithms 1–4")]
    ['Neal 2011: R. M. Neal', 'paper 3: M. A. Masood']
    """
    found: dict[str, tuple[int, str]] = {}
    for short, work in _SHORT.items():
        written = re.escape(short).replace(r"\ \&\ ", r"(?: & |,? and )")
        if named := re.search(rf"(?<![\w-]){written}(?!\d)", text):
            found.setdefault(work, (named.start(), short))
    return [
        f"{short}: {work}" for work, (_, short) in sorted(found.items(), key=lambda one: one[1])
    ]
