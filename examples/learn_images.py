"""Learn a folder of images, then another one, and sort new images.

usage: python examples/learn_images.py

The program draws circles, squares and triangles. For images of your own, give `learn_images` a folder that has a
sub-folder for each class.
"""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from if2net import IF2Net, learn_images, predict_images

# The images themselves at 8 × 8: light enough for an example. For photographs leave the backbone out; the default
# is a network trained on ImageNet.
BACKBONE = "pixels,size=8"


def draw(folder: Path, shape: str, number: int, random: np.random.Generator) -> None:
    """Draw a number of images of a shape at random places, in random colours."""
    folder.mkdir(parents=True)
    for index in range(number):
        image = Image.new("RGB", (48, 48), "white")
        x, y = random.integers(4, 12, 2)
        box = (int(x), int(y), int(x) + 30, int(y) + 30)
        colour = tuple(random.integers(0, 120, 3).tolist())
        brush = ImageDraw.Draw(image)
        if shape == "circle":
            brush.ellipse(box, outline=colour, width=5)
        elif shape == "square":
            brush.rectangle(box, fill=colour)
        else:
            brush.polygon([(box[0], box[3]), (box[2], box[3]), ((box[0] + box[2]) // 2, box[1])], fill=colour)
        image.save(folder / f"{index:02}.png")


def main() -> None:
    """Learn circles and squares today and triangles tomorrow."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        today, tomorrow, unknown = (Path(folder) / name for name in ("today", "tomorrow", "unknown"))
        for shape in ("circle", "square", "triangle"):
            draw((tomorrow if shape == "triangle" else today) / shape, shape, 20, random)
            draw(unknown / shape, shape, 5, random)
        (today / "circle" / "broken.png").write_bytes(b"not an image")

        model = IF2Net(encoder="linear", seed=0)
        for images in (today, tomorrow):
            learned = learn_images(model, [images], backbone=BACKBONE)
            print(f"Learned {learned.samples} images; {len(learned.left_out)} left out.")
            for reason in learned.left_out.values():
                print(reason)

        predicted = predict_images(model, [unknown])
        for path, name in zip(predicted.paths, predicted.predictions, strict=True):
            print(f"{path.relative_to(unknown)}: {name}")


if __name__ == "__main__":
    main()
