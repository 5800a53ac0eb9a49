"""What only the page Topics uses."""
