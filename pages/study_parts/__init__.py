"""What only the page Study uses."""
