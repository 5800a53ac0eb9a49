"""What only the page Rank uses."""
