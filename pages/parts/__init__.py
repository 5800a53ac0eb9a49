"""Views that more than one page shows."""
