"""What only the page Parts uses."""
