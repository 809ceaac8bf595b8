"""Merge what two sites have learned, without moving their data.

usage: python examples/merge_two_sites.py
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from if2net import IF2NetClassifier, load


def main() -> None:
    """Fork a common model, learn at two sites, merge, and forget one site's data again."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    start, north = np.arange(len(y)) < 300, np.arange(len(y)) % 2 == 0
    at_north, at_south = ~start & north, ~start & ~north & (y != 9)  # the southern site has never seen a nine

    with tempfile.TemporaryDirectory() as folder:
        common = IF2NetClassifier(random_state=0).fit(X[start], y[start])
        for site, rows in {"north": at_north, "south": at_south}.items():
            classifier = common.fork()  # the same frozen encoder, nothing learned
            classifier.partial_fit(X[rows], y[rows]).save(Path(folder) / f"{site}.if2")  # only this file travels

        merged = common.merge(load(Path(folder) / "north.if2")).merge(load(Path(folder) / "south.if2"))

    everything = start | at_north | at_south
    at_once = merged.fork().partial_fit(X[everything], y[everything])
    print(f"Merged:          accuracy {merged.score(X_test, y_test):.3f}")
    print(f"One learner:     accuracy {at_once.score(X_test, y_test):.3f}")

    merged.forget(X[at_south], y[at_south])  # the southern site withdraws its data
    without = merged.fork().partial_fit(X[start | at_north], y[start | at_north])
    same = np.mean(merged.predict(X_test) == without.predict(X_test))
    print(f"South forgotten: accuracy {merged.score(X_test, y_test):.3f}, {100 * same:.1f} % as if never learned")


if __name__ == "__main__":
    main()
