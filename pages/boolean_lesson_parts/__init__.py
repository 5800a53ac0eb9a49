"""What only the page Lesson: yes or no uses."""
