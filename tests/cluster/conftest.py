"""One Ray on this machine for all tests of the cluster, and the processes that belong to it."""

import os
from pathlib import Path

import pytest


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
        _system_config={"worker_niceness": 0},  # other tests must not keep its workers from the cores
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def own_processes():
    """Return a function that lists the processes started by this one: their titles, by their numbers."""

    def find():
        parents, titles = {}, {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                status = (folder / "status").read_text()
                title = (folder / "cmdline").read_bytes()
            except OSError:
                continue  # the process has just ended
            parents[int(folder.name)] = int(status.split("PPid:")[1].split()[0])
            titles[int(folder.name)] = title.rstrip(b"\0").decode()

        def is_own(process):
            while process in parents and process != os.getpid():
                process = parents[process]
            return process == os.getpid()

        return {process: title for process, title in titles.items() if is_own(process)}

    return find
