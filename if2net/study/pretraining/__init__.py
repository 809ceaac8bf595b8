"""Backbones that are pre-trained on the classes that a stream does not learn."""
