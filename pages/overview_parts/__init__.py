"""What only the page Overview uses."""
