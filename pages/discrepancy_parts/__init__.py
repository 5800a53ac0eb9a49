"""What only the page Discrepancy uses."""
