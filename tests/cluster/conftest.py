"""A Ray of our own on this machine, and the processes that belong to it."""

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Keep these tests in one process when tests run side by side, so that only one Ray is started."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("ray"))


@pytest.fixture(scope="package", autouse=True)
def running_ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80_000_000,
        logging_level="ERROR",
        log_to_driver=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def own_processes():
    """A function that gives the titles of all processes that descend from this one, by their numbers."""

    def find():
        parents, titles = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                status = (folder / "status").read_text()
                title = (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it has just ended
            parents[int(folder.name)] = int(status.split("PPid:")[1].split()[0])
            titles[int(folder.name)] = title.rstrip(b"\0").decode()

        def ours(process):
            while process in parents and process != os.getpid():
                process = parents[process]
            return process == os.getpid()

        return {process: title for process, title in titles.items() if ours(process)}

    return find
