"""What only the page Lesson uses."""
