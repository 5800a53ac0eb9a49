"""What only the page Side by side uses."""
