"""Mistakes to plant in the engine, one file a room, and what plants them."""
