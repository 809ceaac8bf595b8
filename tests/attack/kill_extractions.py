"""Kill extractions at random moments, two at a time: ``python kill_extractions.py KILLS``.

All of them work on the same images and the same cache. It fails if a feature in the cache is wrong, if finished work
is lost, or if a later extraction fails.
"""

import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from if2net.images.cache import FeatureCache
from if2net.images.extraction import extract
from if2net.images.extractor import load_extractor

IMAGES = 400
LONGEST = 0.3  # seconds until a kill


def stored(paths, extractor):
    """Return the number of features in the cache."""
    digests = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
    return len(list(FeatureCache(extractor.identity).rows(digests)))


def started(paths, extractor):
    """Fork a process that extracts, and return its number."""
    if process := os.fork():
        return process
    try:
        extract(paths, extractor)
    finally:
        os._exit(0)


def main(kills):
    """Kill this number of processes."""
    chance = random.Random(0)
    extractor = load_extractor("pixels,size=8")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IF2NET_CACHE"] = folder
        paths = [Path(folder, f"{number}.png") for number in range(IMAGES)]
        for number, path in enumerate(paths):
            Image.new("RGB", (40, 40), (number % 256, number // 256, 7)).save(path)
        most, interrupted = 0, 0
        for _ in range(kills // 2):
            running = [started(paths, extractor) for _ in range(2)]
            for process in running:
                time.sleep(chance.uniform(0, LONGEST))
                os.kill(process, signal.SIGKILL)
                interrupted += os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != 0
            found = stored(paths, extractor)
            assert found >= most, "finished features were lost"
            most = found
            if found == IMAGES:
                FeatureCache(extractor.identity).path.unlink()
                most = 0
        os.environ["IF2NET_CACHE"] = str(Path(folder, "fresh"))
        expected = extract(paths, extractor).X
        os.environ["IF2NET_CACHE"] = folder
        np.testing.assert_array_equal(extract(paths, extractor).X, expected)
        assert stored(paths, extractor) == IMAGES
    print(f"{interrupted} of {kills} processes were killed before they had finished")


if __name__ == "__main__":
    main(int(sys.argv[1]))
