"""What only the page Lessons uses: one file a lesson, and what all of them share."""
