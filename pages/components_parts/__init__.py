"""What only the page Components uses."""
