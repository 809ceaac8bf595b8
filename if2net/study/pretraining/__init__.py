"""Backbones of a seed: pre-trained on held-out classes, or adapted to the first task."""
