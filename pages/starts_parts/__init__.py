"""What only the page Starts uses."""
