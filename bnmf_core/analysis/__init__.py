"""Everything the pages show of a set of runs, computed once in the background and stored."""
