"""The bodies of requests: JSON, CSV or a form with pictures, as samples and labels.

Nothing here opens a file: the names of uploaded pictures are only text.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from if2net.server.refusal import Refusal
from if2net.server.service import Published
from if2net.server.settings import Settings
from if2net.tables.columns import LABEL_TYPES, columns_to_learn, columns_to_predict, of_type, type_of

JSON, CSV, FORM = "application/json", "text/csv", "multipart/form-data"
# The most bytes of JSON and CSV. In memory, lists can take twenty times as much.
LONGEST_TEXT = 16 << 20
# The most columns of a table.
MOST_COLUMNS = 100_000
# Fields of a form besides one picture and one label per sample.
MORE_FIELDS = 16
# Characters of the name of a picture that are kept.
LONGEST_NAME = 200

Label = str | int | float | bool


@dataclass
class Samples:
    """The samples of a request: rows, or pictures, or ids of samples that were predicted."""

    rows: np.ndarray | None = None
    pictures: list[tuple[str, bytes]] = field(default_factory=list)  # names and contents
    ids: list[str] = field(default_factory=list)
    labels: list[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    top: int = 3
    unknown: float | None = None
    digest: bytes = b""

    def __len__(self) -> int:
        return len(self.rows) if self.rows is not None else len(self.pictures) or len(self.ids)


def parse_samples(
    kind: str, body: bytes, query: Mapping[str, str], settings: Settings, published: Published, *, labelled: bool
) -> Samples:
    """Return the samples of a body of this content type, with labels if `labelled`.

    The features and classes of the model decide how a table is read.
    """
    name = kind.partition(";")[0].strip().lower()
    if name == JSON:
        samples = _of_json(body, labelled)
    elif name == CSV:
        samples = _of_csv(body, query.get("label"), published, labelled)
    elif name == FORM:
        samples = _of_form(kind, body, settings, list(published.classes))
    else:
        raise Refusal(415, f"Send samples as {JSON}, {CSV} or {FORM}, and name it as the Content-Type.")
    for key in ("top", "unknown"):
        if key in query:
            _set_option(samples, key, query[key])
    if not len(samples):
        raise Refusal(422, "The request has no samples; send at least one row or picture.")
    if len(samples) > settings.samples:
        raise Refusal(413, f"The request has {len(samples):,} samples; send at most {settings.samples:,} at a time.")
    if labelled:
        samples.labels = _checked(samples.labels, len(samples), settings)
    return samples


def parse_json(body: bytes) -> Any:
    """Return the value of a body of JSON."""
    _check_length(body)
    try:
        return json.loads(body, parse_constant=_no_constant)
    except RecursionError as error:
        raise Refusal(400, "The JSON is nested too deeply; send an object with lists of numbers.") from error
    except ValueError as error:
        raise Refusal(400, f"The body is not valid JSON ({_short(error)}); correct it.") from error


def _check_length(body: bytes) -> None:
    if len(body) > LONGEST_TEXT:
        raise Refusal(413, f"JSON and CSV may have at most {LONGEST_TEXT >> 20} MB; send the samples in parts.")


def array_of_numbers(value: Any) -> np.ndarray | None:
    """Return a list of numbers, or of such lists of one length, as an array; None if it is something else.

    NumPy stores each text in the size of the longest one, so a small body of texts could fill the memory.
    """
    if not isinstance(value, list):
        return None
    for row in value if value and isinstance(value[0], list) else [value]:
        if not isinstance(row, list) or not set(map(type, row)) <= {int, float}:
            return None
    try:
        return np.array(value, dtype=np.float64)
    except (ValueError, OverflowError):
        return None


# ---------------------------------------------------------------------- JSON


def _of_json(body: bytes, labelled: bool) -> Samples:
    value = parse_json(body)
    allowed = {"rows", "ids", "labels"} if labelled else {"rows", "top", "unknown"}
    if not isinstance(value, dict) or not value.keys() <= allowed or ("rows" in value) == ("ids" in value):
        others = " and labels, or ids and labels" if labelled else ", and perhaps top and unknown"
        raise Refusal(422, f"The body must be an object with rows{others}.")
    samples = Samples(labels=value.get("labels"), digest=hashlib.sha256(body).digest())
    for key in ("top", "unknown"):
        if value.get(key) is not None:
            _set_option(samples, key, value[key])
    if "rows" in value:
        samples.rows = array_of_numbers(value["rows"])
        if samples.rows is None or samples.rows.ndim != 2:
            raise Refusal(422, "rows must be a list of samples, each a list of numbers, all of one length.")
    elif isinstance(value["ids"], list) and all(isinstance(name, str) for name in value["ids"]):
        samples.ids = value["ids"]
    else:
        raise Refusal(422, "ids must be a list of ids of predictions.")
    return samples


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


# ---------------------------------------------------------------------- CSV


def _of_csv(body: bytes, label: str | None, published: Published, labelled: bool) -> Samples:
    _check_length(body)
    try:
        lines = csv.reader(body.decode("utf-8-sig").splitlines(), strict=True)
        names, *table = [line for line in lines if line]
    except UnicodeDecodeError as error:
        raise Refusal(400, "The table is not in UTF-8; save it in that encoding.") from error
    except (csv.Error, ValueError) as error:
        raise Refusal(
            400, "The table must have a line with the names of the columns, then one per sample."
        ) from error
    if len(names) > MOST_COLUMNS or len(set(names)) < len(names):
        raise Refusal(422, f"The columns must have different names, and there may be at most {MOST_COLUMNS:,}.")
    for number, line in enumerate(table, 1):
        if len(line) != len(names):
            raise Refusal(422, f"Row {number:,} has {len(line)} cells, but there are {len(names)} columns.")
    choose = columns_to_learn if labelled else columns_to_predict
    columns = choose(names, label, published.feature_names)
    place_of = {name: place for place, name in enumerate(names)}
    places = [place_of[name] for name in columns.features]
    rows = np.array(
        [[_number(line[place], number, names[place]) for place in places] for number, line in enumerate(table, 1)]
    )
    samples = Samples(rows, feature_names=columns.features)
    samples.digest = hashlib.sha256(f"{label}\n".encode() + body).digest()
    if columns.label is not None:
        place = place_of[columns.label]
        samples.labels = _typed([line[place] for line in table], list(published.classes))
    return samples


def _number(text: str, row: int, column: str) -> float:
    try:
        if "_" not in text:  # Python would read 1_000
            return float(text)
    except ValueError:
        pass
    raise Refusal(422, f"Row {row:,} of the column {column[:50]!r} holds {text[:50]!r}, which is not a number.")


def _typed(labels: list[str], classes: Sequence[Any]) -> list[Any]:
    """Return labels that were sent as text in the type of the model's classes, or of all first labels."""
    kind = type_of(np.array(labels, dtype=object), classes)
    typed = [of_type(label, kind) for label in labels]
    if None in typed:
        raise Refusal(422, f"The classes of this model are {LABEL_TYPES[kind]}s; give such labels.")
    return typed


# ---------------------------------------------------------------------- forms


def _of_form(kind: str, body: bytes, settings: Settings, classes: list[Any]) -> Samples:
    samples, labels = Samples(), list[str]()
    one_label: str | None = None
    digest = hashlib.sha256()
    for part in _parts(kind, body, 2 * settings.samples + MORE_FIELDS):
        if part.filename is not None:
            samples.pictures.append((part.filename[:LONGEST_NAME], bytes(part.content)))
            digest.update(hashlib.sha256(part.content).digest())
            continue
        text = part.content.decode("utf-8", "replace")
        if part.name == "labels":
            labels.append(text)
        elif part.name == "label":
            one_label = text
        elif part.name in ("top", "unknown"):
            _set_option(samples, part.name, text)
        else:
            raise Refusal(422, f"The field {part.name[:50]!r} is unknown; use files, label, labels, top and unknown.")
    digest.update(json.dumps([one_label, labels]).encode())
    samples.digest = digest.digest()
    if not labels and one_label is not None:
        labels = [one_label] * len(samples.pictures)
    if labels:
        samples.labels = _typed(labels, classes or ["text"])
    return samples


@dataclass
class _Part:
    name: str = ""
    filename: str | None = None
    content: bytearray = field(default_factory=bytearray)


def _parts(kind: str, body: bytes, most: int) -> list[_Part]:
    """Return the parts of a form. All of it stays in memory, because pictures must not reach a disk."""
    _, options = parse_options_header(kind)
    parts: list[_Part] = []
    header: list[bytearray] = [bytearray(), bytearray()]

    def begin() -> None:
        if len(parts) >= most:
            raise Refusal(413, f"The form has more than {most:,} parts; send fewer at a time.")
        parts.append(_Part())

    def header_end() -> None:
        if bytes(header[0]).lower() == b"content-disposition":
            _, facts = parse_options_header(bytes(header[1]))
            parts[-1].name = facts.get(b"name", b"").decode("utf-8", "replace")
            if b"filename" in facts:
                parts[-1].filename = facts[b"filename"].decode("utf-8", "replace")
        header[0].clear()
        header[1].clear()

    try:
        parser = MultipartParser(
            options.get(b"boundary", b""),
            {
                "on_part_begin": begin,
                "on_part_data": lambda data, start, end: parts[-1].content.extend(data[start:end]),
                "on_header_field": lambda data, start, end: header[0].extend(data[start:end]),
                "on_header_value": lambda data, start, end: header[1].extend(data[start:end]),
                "on_header_end": header_end,
            },
        )
        parser.write(body)
        parser.finalize()
    except FormParserError as error:
        raise Refusal(400, f"The form cannot be read ({_short(error)}); send it whole, as {FORM}.") from error
    return parts


# ---------------------------------------------------------------------- fields


def _set_option(samples: Samples, key: str, value: Any) -> None:
    try:
        if isinstance(value, bool):
            raise ValueError
        if key == "top":
            number = int(str(value))
            if not 1 <= number <= MOST_COLUMNS:
                raise ValueError
            samples.top = number
        else:
            share = float(value)
            if not 0 < share < 1:
                raise ValueError
            samples.unknown = share
    except (ValueError, TypeError, OverflowError) as error:
        wanted = "a whole number from 1" if key == "top" else "a share between 0 and 1, such as 0.05"
        raise Refusal(422, f"{key} must be {wanted}.") from error


def _checked(labels: Any, count: int, settings: Settings) -> list[Label]:
    if not isinstance(labels, list) or len(labels) != count:
        raise Refusal(422, f"Give one label for each of the {count:,} samples, in labels.")
    for label in labels:
        check_label(label, settings)
    return labels


def check_label(label: Any, settings: Settings) -> None:
    """Refuse a label that cannot be the name of a class."""
    if not isinstance(label, str | int | float) or (isinstance(label, float) and not math.isfinite(label)):
        raise Refusal(422, "A label must be text or a number.")
    if isinstance(label, str) and not (label.strip() and len(label) <= settings.label_length):
        raise Refusal(422, f"A label must have 1 to {settings.label_length} characters; shorten it, or fill it in.")
    if label in (".", ".."):  # in an address, clients remove them, so the class could not be renamed or forgotten
        raise Refusal(422, "A label cannot be . or .. alone; add some letters.")


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:100].rstrip(".") if str(error) else type(error).__name__
