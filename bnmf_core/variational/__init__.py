"""Mixtures of Gaussians that approximate a posterior: their bound, and how they are found."""
