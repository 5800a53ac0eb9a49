"""What only the page Modes uses."""
