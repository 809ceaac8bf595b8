"""The Open Inference Protocol, version 2, of KServe and Triton: JSON, and tensors in binary form."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from if2net.server.bodies import array_of_numbers, parse_json
from if2net.server.intake import whole_number
from if2net.server.refusal import Refusal
from if2net.server.service import Published
from if2net.version import __version__

# The header with the length of the JSON, if tensors in binary form follow it.
JSON_LENGTH = "inference-header-content-length"
INPUT, LABEL, PROBABILITIES = "input", "label", "probabilities"
DTYPES: dict[str, np.dtype[Any]] = {"FP32": np.dtype("<f4"), "FP64": np.dtype("<f8")}
SERVER = {"name": "if2net", "version": __version__, "extensions": ["binary_tensor_data"]}


@dataclass(frozen=True)
class Inference:
    """A request: its rows, and the requested outputs, each in binary form or not."""

    id: str | None
    rows: np.ndarray
    outputs: dict[str, bool]


def describe(name: str, published: Published) -> dict[str, Any]:
    """Return the metadata of the model."""
    classes = len(published.classes)
    return {
        "name": name,
        "versions": [str(published.version)],
        "platform": "if2net",
        "inputs": [{"name": INPUT, "datatype": "FP32", "shape": [-1, published.features or -1]}],
        "outputs": [
            {"name": LABEL, "datatype": "BYTES", "shape": [-1]},
            {"name": PROBABILITIES, "datatype": "FP32", "shape": [-1, classes]},
        ],
    }


def parse(body: bytes, json_length: str | None) -> Inference:
    """Read the body of an inference request."""
    end = len(body) if json_length is None else whole_number(json_length)
    if end is None or end > len(body):
        raise Refusal(400, f"The header {JSON_LENGTH} must be the length of the JSON at the start of the body.")
    request = parse_json(body[:end])
    inputs = request.get("inputs") if isinstance(request, dict) else None
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise Refusal(400, f"The request needs one tensor in inputs, named {INPUT}.")
    name = request.get("id")
    if name is not None and not isinstance(name, str):
        raise Refusal(400, "The id of a request must be text.")
    return Inference(name, _rows(inputs[0], body[end:]), _outputs(request))


def _rows(tensor: dict[str, Any], binary: bytes) -> np.ndarray:
    shape, kind = tensor.get("shape"), tensor.get("datatype")
    if tensor.get("name") != INPUT or not isinstance(kind, str) or kind not in DTYPES:
        raise Refusal(400, f"The input must be named {INPUT} and have the datatype {' or '.join(DTYPES)}.")
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(side) is int and side > 0 for side in shape):
        raise Refusal(400, "The shape of the input must be two numbers: samples and features.")
    if "data" in tensor:
        values = array_of_numbers(tensor["data"])
        if values is None:
            raise Refusal(400, "The data of the input must be numbers, all rows of one length.")
    else:
        if not binary or len(binary) % DTYPES[kind].itemsize:
            raise Refusal(400, "The input has no data; send it in JSON, or in binary form after the JSON.")
        values = np.frombuffer(binary, DTYPES[kind])
    if values.size != math.prod(shape):
        raise Refusal(400, f"The input has {values.size:,} values, which do not fill its shape {shape}.")
    return values.reshape(shape)


def _outputs(request: dict[str, Any]) -> dict[str, bool]:
    """Return the wanted outputs, and whether each is wanted in binary form."""
    binary = _parameter(request, "binary_data_output")
    wanted = request.get("outputs")
    if wanted is None or wanted == []:
        return {LABEL: binary, PROBABILITIES: binary}
    if not isinstance(wanted, list) or not all(isinstance(output, dict) for output in wanted):
        raise Refusal(400, "outputs must be a list of objects, each with a name.")
    names = [output.get("name") for output in wanted]
    if not set(map(str, names)) <= {LABEL, PROBABILITIES}:
        raise Refusal(400, f"The outputs of this model are {LABEL} and {PROBABILITIES}.")
    return {str(output["name"]): _parameter(output, "binary_data", binary) for output in wanted}


def _parameter(holder: dict[str, Any], name: str, default: bool = False) -> bool:
    parameters = holder.get("parameters")
    return bool(parameters.get(name, default)) if isinstance(parameters, dict) else default


def respond(
    name: str, published: Published, request: Inference, probabilities: np.ndarray
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of the answer."""
    labels = [str(label) for label in published.classes]
    best = [labels[column] for column in probabilities.argmax(axis=1)]
    tail = b""
    outputs = []
    for output, binary in request.outputs.items():
        if output == LABEL:
            tensor: dict[str, Any] = {"name": LABEL, "datatype": "BYTES", "shape": [len(best)]}
            texts = [label.encode("utf-8", "surrogateescape") for label in best]
            content, data = b"".join(struct.pack("<I", len(text)) + text for text in texts), best
        else:
            values = probabilities.astype("<f4")
            tensor = {"name": PROBABILITIES, "datatype": "FP32", "shape": [*values.shape]}
            content, data = values.tobytes(), values.ravel().tolist()
        if binary:
            tensor["parameters"] = {"binary_data_size": len(content)}
            tail += content
        else:
            tensor["data"] = data
        outputs.append(tensor)
    answer: dict[str, Any] = {"model_name": name, "model_version": str(published.version), "outputs": outputs}
    if request.id is not None:
        answer["id"] = request.id
    text = json.dumps(answer).encode()
    if not tail:
        return text, {"Content-Type": "application/json"}
    return text + tail, {"Content-Type": "application/octet-stream", JSON_LENGTH: str(len(text))}
