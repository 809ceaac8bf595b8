"""The copies of long data: one block is filled while the other is in use."""

from contextlib import nullcontext
from types import SimpleNamespace

import torch

from if2net.accelerate.streaming import copies


def test_a_slot_is_overwritten_after_its_use_and_read_after_its_copy(monkeypatch):
    log = []

    class Stream:
        def __init__(self, name):
            self.name = name

        def wait_stream(self, other):
            log.append(f"{self.name} waits for {other.name}")

        def wait_event(self, event):
            log.append(f"{self.name} waits for {event.name}")

    class Event:
        count = 0

        def __init__(self):
            self.name = ["copied 0", "used 0", "copied 1", "used 1"][Event.count]
            Event.count += 1

        def record(self, stream):
            log.append(f"{stream.name} has {self.name}")

        def synchronize(self):
            log.append(f"host waits for {self.name}")

    fake = SimpleNamespace(
        Stream=lambda device: Stream("copying"),
        current_stream=lambda device: Stream("working"),
        stream=lambda stream: nullcontext(),
        Event=Event,
    )
    monkeypatch.setattr(torch, "get_device_module", lambda device: fake)
    for place, _ in enumerate(copies(torch.ones(3, 2), 1, torch.device("cpu"))):
        log.append(f"block {place}")

    def copy_to(slot):
        return [f"host waits for copied {slot}", f"copying waits for used {slot}", f"copying has copied {slot}"]

    assert log == [
        "copying waits for working",
        *copy_to(0),
        *copy_to(1),
        "working waits for copied 0",
        "block 0",
        "working has used 0",
        *copy_to(0),
        "working waits for copied 1",
        "block 1",
        "working has used 1",
        "working waits for copied 0",
        "block 2",
        "working has used 0",
        "working waits for copying",
    ]
