"""What only the page Data uses."""
