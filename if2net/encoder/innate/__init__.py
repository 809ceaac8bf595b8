"""The innate encoder: a small convolutional network, trained on drawings that a program makes and on nothing else.

Read `drawings`, `network`, `training` and `weights` for how it is made, and `encoder` for how a learner uses it.
"""
