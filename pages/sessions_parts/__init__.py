"""What only the page Sessions uses."""
