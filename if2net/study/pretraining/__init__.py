"""Backbones that are trained on the classes a stream does not learn."""
