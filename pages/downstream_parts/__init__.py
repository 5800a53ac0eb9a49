"""What only the page Does it matter? uses."""
