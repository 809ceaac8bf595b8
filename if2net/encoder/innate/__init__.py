"""The innate encoder: a small convolutional network, trained on drawings that a program makes and on nothing else.

Work in progress: `drawings`, `network`, `training` and `weights` make an encoder and read it back. No classifier or
learner uses its features yet, and no weights are part of the package.
"""
