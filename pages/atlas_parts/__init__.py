"""Parts of the page Atlas."""
