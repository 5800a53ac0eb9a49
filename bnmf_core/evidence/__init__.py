"""How much of a posterior lies in each of its modes, and how well a rank explains the data."""
