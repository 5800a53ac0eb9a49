"""What only the page Mixture uses."""
