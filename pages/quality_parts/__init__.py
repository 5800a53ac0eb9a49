"""What only the page Fit and weights uses."""
