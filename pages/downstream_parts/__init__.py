"""What only the page Labels uses."""
