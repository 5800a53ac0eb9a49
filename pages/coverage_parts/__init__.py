"""What only the page Coverage uses."""
