"""What only the page Posterior uses."""
