"""What only the page Runs uses."""
