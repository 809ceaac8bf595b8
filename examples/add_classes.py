"""Add classes to a deployed classifier, without the data it was trained on.

usage: python examples/add_classes.py
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from if2net import IF2NetClassifier, load


def main() -> None:
    """Train on five digits, save, load elsewhere, add the other five one at a time."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "digits.if2"

        old = y < 5
        IF2NetClassifier(random_state=0).fit(X[old], y[old]).save(model)

        for new in range(5, 10):  # every week one class; only its own samples are needed
            classifier = load(model)
            classifier.partial_fit(X[y == new], y[y == new])
            classifier.save(model)
            known = np.isin(y_test, classifier.classes_)
            accuracy = classifier.score(X_test[known], y_test[known])
            first = y_test < 5
            print(
                f"{len(classifier.classes_):2} classes: accuracy {accuracy:.3f}, "
                f"on the first five {classifier.score(X_test[first], y_test[first]):.3f}"
            )

        at_once = load(model).fork().partial_fit(X, y)
        same = np.mean(load(model).predict(X_test) == at_once.predict(X_test))
        print(f"Predictions equal to those of learning everything at once: {100 * same:.1f} %")


if __name__ == "__main__":
    main()
