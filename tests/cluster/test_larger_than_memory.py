"""Data that is larger than memory: blocks are released after they are counted."""

import threading
from pathlib import Path

import numpy as np
import pytest

from if2net import IF2Net, cluster

FEATURES = 250
ROWS = 10_000  # per block of 10 MB
ALLOWED = 4e9  # bytes


def generated(blocks):
    """Return blocks that are generated when they are read: two classes that differ in their mean."""
    import ray

    def rows(batch):
        y = np.arange(ROWS) % 2
        X = np.random.default_rng(int(batch["id"][0])).random((ROWS, FEATURES), dtype=np.float32)
        return {"X": X + y[:, None].astype(np.float32), "y": y}

    return ray.data.range(blocks, override_num_blocks=blocks).map_batches(rows, batch_size=1)


class Peak:
    """The most memory that these processes use together, measured each second; a shared page counts once."""

    def __init__(self, processes):
        self.processes, self.bytes, self.stopped = processes, 0, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def _watch(self):
        while not self.stopped.wait(1):
            self.bytes = max(self.bytes, sum(map(self._share, self.processes())))

    @staticmethod
    def _share(process):
        try:
            return int(Path(f"/proc/{process}/smaps_rollup").read_text().split("\nPss:")[1].split()[0]) * 1024
        except (OSError, IndexError):
            return 0


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [12, 2000], ids=["120 MB with a store of 80 MB", "20 GB with a memory of 4 GB"])
def test_data_larger_than_memory_is_learned(blocks, own_processes):
    counted = []
    net = IF2Net(encoder="linear", device="cpu")
    with Peak(own_processes) as peak:
        cluster.learn(net, generated(blocks), workers=1, report=counted.append)
    assert sum(counted) == blocks * ROWS
    assert net.decision.total.counts.tolist() == [blocks * ROWS // 2] * 2
    print(f"peak: {peak.bytes / 1e9:.2f} GB")
    assert 0 < peak.bytes < ALLOWED
