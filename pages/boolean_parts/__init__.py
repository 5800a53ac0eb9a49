"""What only the page Boolean uses."""
