"""Experiments of the papers: which runs, what is measured, what is put side by side."""
