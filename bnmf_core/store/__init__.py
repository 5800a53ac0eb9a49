"""What is kept on disk, and how it stays whole: datasets, runs, checkpoints."""
