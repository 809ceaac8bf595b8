"""Damaged bodies, pictures and models are refused or used. None crashes the service, hangs or fills the memory."""

import io
import json
import resource
import time

import numpy as np
import pytest
from PIL import Image

from if2net.learner import IF2Net

# A request may take longer on a busy machine, but none may hang.
MOST_SECONDS = 20
MOST_BYTES = 600 << 20
NUMBERS = [
    b"0",
    b"-1",
    b"1e308",
    b"1e999",
    b"99999999999999999999",
    b"null",
    b'"x"',
    b"[]",
    b"{}",
    b"NaN",
    b"\xff\xfe",
]


def mutated(content, random):
    """Return the content with a few random changes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 5)):
        place = int(random.integers(0, len(content) + 1))
        length = int(random.integers(1, 1 + min(64, len(content) or 1)))
        kind = random.integers(0, 6)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << int(random.integers(0, 8))
        elif kind == 1:
            del content[place : place + length]
        elif kind == 2:
            content[place:place] = random.bytes(length)
        elif kind == 3:
            content[place:place] = content[place : place + length] * int(random.integers(1, 50))
        elif kind == 4:
            content[place : place + length] = NUMBERS[random.integers(0, len(NUMBERS))]
        else:
            del content[place:]
    return bytes(content)


def picture(kind, random):
    file = io.BytesIO()
    Image.fromarray(random.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(file, kind)
    return file.getvalue()


def form(pictures, label):
    lines = [b'--edge\r\nContent-Disposition: form-data; name="label"\r\n\r\n' + label + b"\r\n"]
    for place, content in enumerate(pictures):
        head = f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{place}.png"\r\n\r\n'
        lines.append(head.encode() + content + b"\r\n")
    return b"".join(lines) + b"--edge--\r\n"


def attack(client, seeds, count, random):
    """Send mutated requests, and check that the service still stands."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    statuses = set()
    for number in range(count):
        route, kind, content = seeds[number % len(seeds)]
        headers = {"Content-Type": kind}
        if route.endswith("infer"):
            headers["Inference-Header-Content-Length"] = (
                str(random.integers(0, 200)) if random.random() < 0.1 else "98"
            )
        start = time.perf_counter()
        answer = client.post(route, content=mutated(content, random), headers=headers)
        assert time.perf_counter() - start < MOST_SECONDS
        assert answer.status_code < 500, (route, answer.text)
        if answer.status_code >= 400:
            assert len(answer.json()["error"].split()) > 3
        statuses.add(answer.status_code)
    assert client.get("/v2/health/ready").status_code == 200
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < MOST_BYTES
    return statuses


def attack_rows(served, model, three_classes, count):
    random = np.random.default_rng(0)
    X, y = three_classes(6, seed=1)
    labelled = json.dumps({"rows": X.tolist(), "labels": y.tolist()}).encode()
    asked = json.dumps({"rows": X.tolist(), "top": 2, "unknown": 0.05}).encode()
    table = b"a,b,c,d,e,label\n" + b"".join(b",".join(b"%.3f" % value for value in row) + b",ant\n" for row in X)
    tensor = {"name": "input", "shape": [6, 5], "datatype": "FP32", "parameters": {"binary_data_size": 120}}
    binary = json.dumps({"inputs": [tensor]}).encode().ljust(98)
    assert len(binary) >= 98
    other = IF2Net.load(model, "cpu").fork().learn(X, y)
    other.save(model.parent / "other.if2")
    seeds = [
        ("/v1/learn", "application/json", labelled),
        ("/v1/forget", "application/json", labelled),
        ("/v1/predict", "application/json", asked),
        ("/v1/learn", "text/csv", table),
        ("/v1/predict", "text/csv", table),
        ("/v2/models/model/infer", "application/octet-stream", binary + X.astype("<f4").tobytes()),
        ("/v1/merge", "application/octet-stream", (model.parent / "other.if2").read_bytes()),
    ]
    with served(model, requests_per_second=0) as client:
        return attack(client, seeds, count, random)


def attack_pictures(served, path, count):
    random = np.random.default_rng(1)
    kind = "multipart/form-data; boundary=edge"
    formats = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")
    forms = [form([picture(name, random)] * 2, b"ant") for name in formats]
    seeds = [(route, kind, content) for content in forms for route in ("/v1/predict", "/v1/learn")]
    with served(path, rows=False, backbone="pixels,size=8", requests_per_second=0) as client:
        assert client.post("/v1/learn", content=forms[0], headers={"Content-Type": kind}).status_code == 200
        return attack(client, seeds, count, random)


def test_mutated_bodies_and_models_are_refused_or_used(served, model, three_classes):
    assert attack_rows(served, model, three_classes, 210) >= {200, 400, 422}


def test_mutated_pictures_are_refused_or_used(served, tmp_path):
    assert attack_pictures(served, tmp_path / "pets.if2", 140) >= {200, 400, 422}


@pytest.mark.attack
def test_mutated_requests_by_the_thousand(served, model, tmp_path, three_classes):
    attack_rows(served, model, three_classes, 6000)
    attack_pictures(served, tmp_path / "pets.if2", 4000)
