"""What only the page Home uses."""
