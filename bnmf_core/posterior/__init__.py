"""Posteriors made of particles: how far they are from the model's, and their best weights."""
