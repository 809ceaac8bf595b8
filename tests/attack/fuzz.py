"""Damage files at random and read them: ``python fuzz.py models,results,tables COUNT [FIRST]``.

Every case is a function of its number, so a failure is repeated with COUNT 1 and FIRST its number. Memory is limited,
and a case that takes too long is a failure. Anything but success or an error of if2net is a failure.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch

from if2net import IF2Net, load, modelfile
from if2net.errors import IF2NetError, ModelFileError
from if2net.tables import table_to_learn, table_to_predict

MEMORY = 1 << 30  # bytes on top of those that the libraries take
SECONDS = 20
VALUES = [None, True, False, 0, 1, -1, 2, 3.5, -0.0, 2**31, 2**53 + 1, 2**63, 2**70, 10**400, 1e308, 1e-320]
VALUES += [float("nan"), float("inf"), -float("inf"), "", "x", "30000", "30000x30000", "\x00", "\ud800", "é" * 300]
VALUES += [[], {}, [1], [[]], {"a": 1}, ["a", "a"], [None], "analytic", "per-task", "ewc", "paper", "float64"]
CELLS = ["", " ", "x", "nan", "inf", "-1e400", "1e300", "9" * 30, "18446744073709551616", '"', '"a\nb"', "é", "1;2"]
CELLS += ["1,5", "0x10", "TRUE", "2020-01-01", "\x00", "\ufeff1", "١", "1_000", "--1", "NULL", "'", "a" * 5000]


# ---------------------------------------------------------------------- damage


def places(tree):
    """Yield (container, key) of every value in a JSON tree."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            if isinstance(node[key], dict | list):
                stack.append(node[key])


def damage_tree(tree, chance):
    """Change one value of a JSON tree."""
    found = list(places(tree))
    if not found:
        return
    node, key = chance.choice(found)
    old, kind = node[key], chance.randrange(6)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(old, int | float) and not isinstance(old, bool):
        node[key] = old * chance.choice([-1, 2, 1000, 10**12]) + chance.choice([0, 1, 0.5])
    elif kind == 2 and isinstance(old, list):
        old.append(chance.choice(old) if old else 0)
    elif kind == 3:
        other, name = chance.choice(found)
        node[key] = json.loads(json.dumps(other[name]))
    else:
        node[key] = chance.choice(VALUES)


def damage_bytes(content, chance):
    """Flip, cut, insert, repeat or overwrite some bytes."""
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        start = chance.randrange(len(content) + 1)
        stop = min(len(content), start + chance.choice([1, 4, 64]))
        kind = chance.randrange(6)
        if kind == 0 and start < len(content):
            content[start] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del content[start:]
        elif kind == 2:
            del content[start:stop]
        elif kind == 3:
            content[start:start] = chance.randbytes(stop - start)
        elif kind == 4:
            content[start:start] = content[start:stop] * chance.choice([1, 50])
        else:
            content[start:stop] = chance.choice([b"\x00", b"\xff", b'"', b"\n", b"9"]) * (stop - start)
    return bytes(content)


def damage_tensors(tensors, chance):
    """Change one tensor."""
    name = chance.choice(sorted(tensors))
    tensor, kind = tensors[name], chance.randrange(8)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[chance.choice(["other", "beta", "P", "fisher", "tweak.0.0", "encoder.weights.9"])] = tensor.clone()
    elif kind == 2:
        tensors[name] = torch.zeros([chance.choice([0, 1, 2, size, size + 1]) for size in tensor.shape])
    elif kind == 3:
        tensors[name] = tensor.to(
            chance.choice([torch.float64, torch.float32, torch.int64, torch.float16, torch.bool])
        )
    elif kind == 4:
        tensors[name] = tensor.unsqueeze(chance.choice([0, -1])) if chance.random() < 0.5 else tensor.flatten()
    elif kind == 5:
        tensors[name] = tensors[chance.choice(sorted(tensors))].clone()
    elif tensor.numel():
        value = chance.choice([0, 1, -1, 1e30, -1e30, 1e-40, float("nan"), float("inf"), 2**40, 127])
        flat = tensor.view(-1)
        flat[chance.randrange(len(flat))] = value if tensor.is_floating_point() or abs(value) < 2**31 else -1
        if kind == 7:
            flat[:] = flat[chance.randrange(len(flat))].clone()


# ---------------------------------------------------------------------- models


def models(folder):
    """Return the function that tries one damaged model."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4)) + np.repeat(np.arange(3), 20)[:, None] * 4
    y = np.repeat(np.arange(3), 20)
    paths = []
    settings = [
        {"encoder": "linear"},
        {"width": 20},
        {"width": 20, "dtype": "float64", "ridge": 0.1},
        {"encoder": "paper", "layers": "3x2,4x2", "representation": "per-task"},
        {"representation": "per-task", "width": 9},
        {"encoder": "linear", "rule": "gradient", "projector": "recursive", "epochs": 1},
        {"encoder": "linear", "rule": "ewc", "epochs": 1},
    ]
    for number, chosen in enumerate(settings):
        labels = y if number % 2 else np.array(["owl", "wren", "jay"])[y]
        net = IF2Net(device="cpu", **chosen).learn(X[:40], labels[:40]).learn(X[40:], labels[40:])
        if number in (0, 2):
            net.predict(X, **({"task": 0} if "representation" in chosen else {}))
        if number == 1:
            net.feature_names = ["a", "b", "c", "d"]
        paths += [folder / f"good-{number}.if2", folder / f"small-{number}.if2"]
        net.save(paths[-2])
        net.predictor().save(paths[-1], int8=number % 2 == 0)
    target = folder / "bad.if2"

    def attempt(chance):
        path = chance.choice(paths)
        if chance.random() < 0.3:
            target.write_bytes(stamped(path.read_bytes(), chance))
        else:
            tensors, header = modelfile.read(path)
            for _ in range(chance.choice([1, 1, 1, 2, 3])):
                if chance.random() < 0.5 and tensors:
                    damage_tensors(tensors, chance)
                else:
                    damage_tree(header, chance)
            modelfile.write(target, tensors, header)
        try:
            net = IF2Net.load(target, device="cpu")
        except ModelFileError:
            return
        use(net, target)

    return attempt


def use(net, path):
    """Call everything on a loaded model; each call succeeds or is refused in a sentence."""
    if net.encoder.inputs > 10_000 or net.config.epochs > 100:  # large and slow, but possible
        return
    X = np.random.default_rng(1).normal(size=(5, net.encoder.inputs))
    y = net.classes[np.zeros(5, dtype=int)] if len(net.classes) else np.zeros(5, dtype=int)
    task = 0 if net.config.representation == "per-task" else None
    for call in (
        lambda: net.predict(X, task=task),
        lambda: net.probabilities(X, task=task),
        net.free_share,
        lambda: net.fork().learn(X, y),
        lambda: net.forget(X[:1], y[:1]),
        lambda: net.learn(X, y),
        lambda: net.save(path),
        lambda: load(path, "cpu"),
    ):
        with suppress(IF2NetError):
            call()


def stamped(content, chance):
    """Damage the table of tensors or the header as text, and give the file a right checksum again."""
    length = int.from_bytes(content[:8], "little")
    entries, data = json.loads(content[8 : 8 + length]), content[8 + length :]
    for _ in range(chance.choice([1, 1, 2])):
        damage_tree(entries, chance)
    metadata = entries.get("__metadata__")
    if isinstance(metadata, dict):
        metadata["checksum"] = "0" * 64
    if chance.random() < 0.2:
        data = damage_bytes(data, chance)
    raw = json.dumps(entries, separators=(",", ":")).encode()
    blank = len(raw).to_bytes(8, "little") + raw + data
    return blank.replace(b'"checksum":"' + b"0" * 64, b'"checksum":"' + hashlib.sha256(blank).hexdigest().encode(), 1)


# ---------------------------------------------------------------------- results


def results(folder):
    """Return the function that tries one damaged results file."""
    from if2net.study.bench.results import Results, Run, Seconds, merge_folders, pack
    from if2net.study.bench.runner import previous
    from if2net.study.bench.settings import resolve
    from if2net.study.bench.stream import Plan
    from if2net.study.data import parse_scenario
    from if2net.study.report.gather import read_sources, sections_of
    from if2net.study.report.page import render

    scenario = parse_scenario("digits-4/2")
    plan = Plan(scenario, resolve(["if2net", "ncm"], "agnostic", []), (0, 1))
    counts = pack(np.diag([10, 20, 30, 40]))
    R, machines = [[0.9], [0.5, 0.8]], [{"if2net": "0.2.0", "device": device} for device in ("cpu", "NVIDIA H200")]
    runs = [
        Run(name, seed, [3, 1, 0, 2], R, [0.9, 0.9], Seconds(1.0, 0.5), 100, 0, 50, machines[seed], "", counts)
        for name in plan.settings
        for seed in plan.seeds
    ]
    good = Results(scenario.name, "agnostic", plan.as_dict()["methods"], runs)
    for name in ("good", "bad"):
        (folder / name).mkdir()
    good.write(folder / "good" / "results.json")
    text = (folder / "good" / "results.json").read_text()
    target = folder / "bad" / "results.json"

    def attempt(chance):
        if chance.random() < 0.3:
            target.write_bytes(damage_bytes(text.encode(), chance))
        else:
            tree = json.loads(text)
            for _ in range(chance.choice([1, 1, 2, 4])):
                damage_tree(tree, chance)
            target.write_text(json.dumps(tree))
        for call in (
            lambda: merge_folders([folder / "bad", folder / "good"], folder / "merged"),
            lambda: previous(plan, folder / "bad", lambda seed: None),
            lambda: render(sections_of(read_sources([folder / "bad"]))) if chance.random() < 0.1 else None,
        ):
            with suppress(IF2NetError):
                call()

    return attempt


# ---------------------------------------------------------------------- tables


def tables(folder):
    """Return the function that tries one damaged table."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others take a gigabyte of addresses in advance
    import pyarrow as pa
    import pyarrow.parquet

    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)).round(3), np.repeat(["owl", "wren", "jay"], 10)

    def rows(chance):
        names, cells = ["a", "b", "c", "label"], [[*map(str, row), label] for row, label in zip(X, y, strict=True)]
        if chance.random() < 0.3:
            cells = [[*row[:-1], str(number % 3)] for number, row in enumerate(cells)]
        for _ in range(chance.randrange(3)):
            chance.choice([names, *cells])[chance.randrange(3 if chance.random() < 0.7 else 4)] = chance.choice(CELLS)
        return [names, *cells]

    def text(chance):
        stream = io.StringIO()
        csv.writer(stream, delimiter=chance.choice(",,,\t;")).writerows(rows(chance))
        written = stream.getvalue()
        if chance.random() < 0.2:
            written = written.replace("owl", chance.choice(CELLS))
        return written.encode(chance.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), errors="replace")

    def column(chance):
        kinds = ["float64", "float32", "int64", "uint64", "bool", "complex128", "datetime64[ns]", "datetime64[D]"]
        kinds += ["timedelta64[s]", "U3", "S3", "float16", ">f8", "longdouble", "i2"]
        shape = chance.choice([(30,), (30, 1), (30, 2), (30, 2, 2), (29,), (0,), (), (1, 30), (30, 0)])
        values = np.arange(int(np.prod(shape))).reshape(shape) % 3
        values = values.astype(chance.choice(kinds))
        if values.dtype.kind == "f" and values.size:
            values.flat[0] = chance.choice([0, np.nan, np.inf, 1e300 if values.dtype.itemsize > 4 else 1, 0.5])
        return np.asfortranarray(values) if chance.random() < 0.2 else values

    def array(values):
        stream = io.BytesIO()
        np.save(stream, values)
        return stream.getvalue()

    def arrow(chance):
        makers = [
            lambda: pa.array(X[:, 0]),
            lambda: pa.array(y),
            lambda: pa.array(np.arange(30) % 3),
            lambda: pa.array([2**64 - 1, *range(29)], pa.uint64()),
            lambda: pa.array([None, *range(29)]),
            lambda: pa.array(np.arange(30).astype("datetime64[D]")),
            lambda: pa.array(np.arange(30).astype("datetime64[ns]")),
            lambda: pa.array(range(30), pa.time64("us")),
            lambda: pa.array(range(30), pa.duration("s")),
            lambda: pa.array([[1.0, 2.0]] * 30),
            lambda: pa.array([[1.0], [1.0, 2.0]] * 15),
            lambda: pa.array([[None, 1.0]] * 30),
            lambda: pa.array([["a"]] * 30),
            lambda: pa.array([{"a": 1}] * 30),
            lambda: pa.array([b"a"] * 30),
            lambda: pa.array([True, False] * 15),
            lambda: pa.array([None] * 30),
            lambda: pa.array(y).dictionary_encode(),
            lambda: pa.array(range(30), pa.decimal128(20, 2)),
            lambda: pa.array([[("k", 1)]] * 30, pa.map_(pa.string(), pa.int64())),
            lambda: pa.array([1e300, np.inf, *range(28)], pa.float64()),
        ]
        names = ["a", chance.choice(["b", "a", "é", "", "b.c"]), chance.choice(["label", "y", "c"])]
        stream = io.BytesIO()
        pa.parquet.write_table(pa.Table.from_arrays([chance.choice(makers)() for _ in names], names), stream)
        return stream.getvalue()

    def attempt(chance):
        ending = chance.choice([".csv", ".csv", ".tsv", ".csv.gz", ".npz", ".npy", ".parquet"])
        label = None
        if ending == ".parquet":
            content = arrow(chance)
        elif ending == ".npy":
            content, label = array(column(chance) if chance.random() < 0.5 else X), folder / "labels.npy"
            label.write_bytes(array(column(chance) if chance.random() < 0.5 else y))
        elif ending == ".npz":
            stream = io.BytesIO()
            arrays = {"X": column(chance) if chance.random() < 0.5 else X, "y": column(chance)}
            chance.choice([np.savez, np.savez_compressed])(stream, **arrays)
            content = stream.getvalue()
        else:
            content = text(chance)
        if chance.random() < 0.4:
            content = damage_bytes(content, chance)
        if ending == ".csv.gz":
            content = gzip.compress(content)
            content = damage_bytes(content, chance) if chance.random() < 0.3 else content
        path = folder / f"table{ending}"
        path.write_bytes(content)
        for call in (
            lambda: list(table_to_learn(path, label and str(label))),
            lambda: list(table_to_predict(path)),
        ):
            try:
                call()
            except IF2NetError as error:
                if str(path) not in str(error):
                    raise AssertionError("The error does not name the file.") from error
        with suppress(IF2NetError):
            IF2Net(encoder="linear", device="cpu").learn(table_to_learn(path, label and str(label)))

    return attempt


# ---------------------------------------------------------------------- images


def images(folder):
    """Return the function that tries one damaged image."""
    from PIL import Image

    from if2net.errors import InputError
    from if2net.images.cache import FeatureCache
    from if2net.images.extraction import extract
    from if2net.images.extractor import load_extractor
    from if2net.images.read import Framing, read_image

    extractor, cache, path = load_extractor("pixels,size=8"), FeatureCache("images", folder), folder / "image.png"
    formats = [
        "JPEG",
        "PNG",
        "BMP",
        "GIF",
        "TIFF",
        "WEBP",
        "PPM",
        "EPS",
        "ICO",
        "TGA",
        "PDF",
        "SGI",
        "JPEG2000",
        "ICNS",
    ]
    modes = ["RGB", "RGB", "L", "LA", "RGBA", "P", "CMYK", "I;16", "I", "F", "1", "YCbCr", "PA"]

    def good(chance):
        width, height = (chance.choice([1, 2, 7, 40, 300]) for _ in range(2))
        pixels = np.frombuffer(chance.randbytes(width * height * 3), np.uint8).reshape(height, width, 3)
        image, settings, stream = Image.fromarray(pixels), {}, io.BytesIO()
        mode = chance.choice(modes)
        image = image.convert("L").convert("I").convert("I;16") if mode == "I;16" else image.convert(mode)
        if chance.random() < 0.3:
            settings["exif"] = Image.Exif()
            settings["exif"][chance.choice([0x0112, 0x8769, 0x010E])] = chance.randrange(12)
        if chance.random() < 0.3:
            settings |= {"save_all": True, "append_images": [image, image]}
        if chance.random() < 0.3:
            settings |= chance.choice(
                [{"progressive": True}, {"interlace": 1}, {"lossless": True}, {"compression": "tiff_lzw"}]
            )
        try:
            image.save(stream, chance.choice(formats), **settings)
        except Exception:  # the format does not have this mode or setting
            image.convert("RGB").save(stream, "PNG")
        return stream.getvalue()

    def attempt(chance):
        content = good(chance)
        if chance.random() < 0.8:
            content = damage_bytes(content, chance)
        if chance.random() < 0.3:  # most sizes and lengths are near the start
            content = damage_bytes(content[:64], chance) + content[64:]
        path.write_bytes(content)
        try:
            read_image(path, Framing(10, 8))
        except InputError as error:
            if str(path) not in str(error):
                raise AssertionError("The error does not name the file.") from error
        extract([path], extractor, cache)

    return attempt


# ---------------------------------------------------------------------- the loop


def main(kinds, count, first=0):
    """Try `count` cases of each kind, print the failures, and return their number."""
    torch.set_num_threads(1)
    warnings.simplefilter("error", RuntimeWarning)
    signal.signal(signal.SIGALRM, too_long)
    failures = Counter()
    with tempfile.TemporaryDirectory() as name:
        attempts = {}
        for kind in kinds:
            folder = Path(name) / kind
            folder.mkdir()
            attempts[kind] = {"models": models, "results": results, "tables": tables, "images": images}[kind](folder)
            for number in range(20):  # loads the libraries
                attempts[kind](random.Random(number))
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))
        for kind, attempt in attempts.items():
            for number in range(first, first + count):
                signal.alarm(SECONDS)
                try:
                    attempt(random.Random(number))
                except Exception as error:
                    failure = f"{type(error).__name__} at {places_of(error)}"
                    if not failures[failure]:
                        print(f"{kind}, case {number}: {failure}: {str(error)[:200]!r}", flush=True)
                    failures[failure] += 1
                finally:
                    signal.alarm(0)
    print(f"{count:,} of {', '.join(kinds)}: {sum(failures.values()):,} failures of {len(failures)} kinds")
    return sum(failures.values())


def too_long(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def places_of(error):
    """Return the innermost lines of if2net that an error passed through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "if2net" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[::-1][:4])


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1].split(","), *map(int, sys.argv[2:]))))
