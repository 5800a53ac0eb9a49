"""Linear algebra and sums over entries that every room uses."""
