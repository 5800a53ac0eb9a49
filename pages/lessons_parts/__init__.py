"""The page Lessons: one file per lesson, and shared parts."""
