"""Folders of images whose classes differ in colour."""

import numpy as np
from PIL import Image

CHANNELS = {"red": 0, "green": 1, "blue": 2}


def write_images(folder, classes, count, height=40, width=50, growth=0):
    """Write images of classes that are named after their colours; each is `growth` pixels higher than the last."""
    random = np.random.default_rng(0)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            pixels = random.integers(0, 100, (height + growth * number, width, 3), dtype=np.uint8)
            if name != "black":
                pixels[:, :, CHANNELS[name]] += 150
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder
