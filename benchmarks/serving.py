"""Delay and throughput of `if2net serve`, while it learns and while it does not, beside an SGDClassifier service.

usage: python benchmarks/serving.py [--seconds 60] [--connections 64] [--width 5000] [--out FILE]

The clients run in their own process, on the same cores as the service. Each connection sends its next request when it
has the answer to the last one.
"""

import asyncio
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from recording import options, record

from if2net import IF2Net
from if2net.study.bench.environment import environment

FEATURES, CLASSES = 1280, 20
LEARNED, LARGE_BATCH = 6000, 4000
TOKEN = "benchmark"
YARDSTICK = """
import sys

import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from sklearn.linear_model import SGDClassifier

data = np.load(sys.argv[1])
model = SGDClassifier(loss="log_loss", random_state=0).partial_fit(data["X"], data["y"], np.unique(data["y"]))
app = FastAPI()


@app.post("/v1/predict")
async def predict(request: Request):
    rows = np.array((await request.json())["rows"], dtype=np.float32)
    probabilities = model.predict_proba(rows)
    best = (-probabilities).argsort(axis=1)[:, :3]
    return {
        "predictions": [
            {"label": str(model.classes_[order[0]]), "probability": float(row[order[0]])}
            for row, order in zip(probabilities, best)
        ]
    }


@app.get("/v2/health/ready")
async def ready():
    return {}


uvicorn.run(app, port=int(sys.argv[2]), log_level="error", http="httptools")
"""


def samples(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of slightly overlapping classes."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)) / 4
    y = random.integers(0, CLASSES, count)
    return (centres[y] + random.normal(size=(count, FEATURES))).astype(np.float32), y


# ---------------------------------------------------------------------- clients


def request_of(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(head[9:12]), await reader.readexactly(int(length.partition(b":")[2]))


async def load(port: int, connections: int, seconds: float, requests: list[bytes]) -> tuple[list[float], int]:
    """Keep connections busy, and return the delays and the number of errors."""
    delays: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = number
        while (start := time.perf_counter()) < end:
            try:
                status, _ = await exchange(reader, writer, requests[turn % len(requests)])
                errors += status != 200
            except (OSError, asyncio.IncompleteReadError):
                errors += 1
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            delays.append(time.perf_counter() - start)
            turn += connections
        writer.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return delays, errors


def clients(port: int, connections: int, seconds: float, requests: list[bytes], answer) -> None:
    answer.send(asyncio.run(load(port, connections, seconds, requests)))


def measure(port: int, connections: int, seconds: float, requests: list[bytes], meanwhile=None) -> dict[str, float]:
    """Measure under load, and call `meanwhile` at the same time."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=clients, args=(port, connections, seconds, requests, there))
    process.start()
    done = meanwhile(seconds) if meanwhile is not None else {}
    delays, errors = here.recv()
    process.join()
    p50, p99 = np.percentile(delays, [50, 99])
    facts = {"requests_per_second": len(delays) / seconds, "p50_ms": 1000 * p50, "p99_ms": 1000 * p99}
    return {name: round(value, 2) for name, value in facts.items()} | {"errors": errors} | done


def learning(port: int, batches: int):
    """Return a function that sends large batches to learn, one after the other, for some seconds."""
    bodies = []
    for number in range(batches):
        X, y = samples(LARGE_BATCH, 100 + number)
        lines = [",".join([*(f"f{place}" for place in range(FEATURES)), "label"])]
        lines += [",".join([*(f"{value:.2f}" for value in row), str(label)]) for row, label in zip(X, y, strict=True)]
        # A table has 16 MB at most.
        parts = np.array_split(np.arange(1, len(lines)), 4)
        bodies.append(["\n".join([lines[0], *(lines[place] for place in part)]).encode() for part in parts])

    def work(seconds: float) -> dict[str, float]:
        end, learned = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            for body in bodies[(learned // LARGE_BATCH) % batches]:
                asked = urllib.request.Request(f"http://127.0.0.1:{port}/v1/learn", body)
                asked.add_header("Content-Type", "text/csv")
                asked.add_header("Authorization", f"Bearer {TOKEN}")
                with urllib.request.urlopen(asked, timeout=600) as answer:
                    learned += json.load(answer)["learned"]
        return {"learned": learned}

    return work


# ---------------------------------------------------------------------- services


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


class Running:
    """A service in its own process, until the block ends."""

    def __init__(self, words: list[str], port: int) -> None:
        environment = {**os.environ, "IF2NET_WRITE_TOKEN": TOKEN}
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = port

    def __enter__(self) -> int:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v2/health/ready", timeout=5):
                    return self.port
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("The service does not start.")

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait()


def main() -> None:
    parser = options(__file__, __doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--width", type=int, default=5000)
    arguments = parser.parse_args()
    X, _ = samples(256, 7)
    rows = np.round(X.astype(float), 3).tolist()
    requests = [request_of("/v1/predict", json.dumps({"rows": [row]}).encode()) for row in rows]
    seconds, many = arguments.seconds, arguments.connections
    report: dict[str, object] = {"seconds": seconds, "connections": many, "features": FEATURES}
    report |= {"width": arguments.width, "environment": environment("cpu"), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder, "model.if2"), Path(folder, "samples.npz")
        learned, labels = samples(LEARNED, 1)
        names = [f"f{place}" for place in range(FEATURES)]
        net = IF2Net(width=arguments.width, device="cpu").learn(learned, [str(label) for label in labels])
        net.feature_names = names
        net.solve().save(model)
        np.savez(table, X=learned, y=labels)
        port = free_port()
        words = [sys.executable, "-m", "if2net", "serve", str(model), "--port", str(port), "--device", "cpu"]
        with Running([*words, "--requests-per-second", "0", "--log-level", "warning"], port):
            measure(port, many, 2, requests)  # warms up
            report["one at a time"] = measure(port, 1, min(seconds, 20), requests)
            report["many"] = measure(port, many, seconds, requests)
            report["many while learning"] = measure(port, many, seconds, requests, learning(port, 3))
        port = free_port()
        with Running([sys.executable, "-c", YARDSTICK, str(table), str(port)], port):
            measure(port, many, 2, requests)
            report["SGDClassifier, many"] = measure(port, many, seconds, requests)
    idle, busy, alone = (report[name] for name in ("many", "many while learning", "one at a time"))
    report["ratios"] = {
        "p99 / p50": round(idle["p99_ms"] / idle["p50_ms"], 2),
        "p50 while learning / p50": round(busy["p50_ms"] / idle["p50_ms"], 2),
        "p99 while learning / p99": round(busy["p99_ms"] / idle["p99_ms"], 2),
        "throughput, many / one at a time": round(idle["requests_per_second"] / alone["requests_per_second"], 2),
    }
    record(arguments.out, report)


if __name__ == "__main__":
    main()
