"""What only the page Run uses."""
