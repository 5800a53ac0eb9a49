"""What is handed on: a report, an archive, the program that repeats a launch."""
