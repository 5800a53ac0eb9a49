"""Passes over X in blocks: what one block adds, in which order, and the steps between passes."""
