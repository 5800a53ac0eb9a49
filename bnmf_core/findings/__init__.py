"""What follows from an analysis: typed facts, and the sentences that say them."""
