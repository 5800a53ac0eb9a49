"""Analysis of a set of runs: stages that are computed once in the background and stored."""
