"""The answers and the bodies of requests, for the OpenAPI document of the service."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Label = str | int | float | bool


class Answer(BaseModel):
    """Any answer may have further fields in later versions."""

    model_config = ConfigDict(extra="allow")


class Failure(Answer):
    """Why a request was refused."""

    error: str


class LearnedClass(Answer):
    """A class. The columns count the classes from 0, in the order in which the model learned them."""

    name: Label
    samples: int
    column: int


class Classes(Answer):
    version: int
    classes: list[LearnedClass]


class Information(Classes):
    name: str
    samples: int
    features: int | None
    takes: str
    backbone: str | None
    feature_names: list[str] | None
    read_only: bool
    can_undo: bool
    learned: bool


class Ranked(Answer):
    label: Label
    probability: float


class Prediction(Answer):
    id: str
    label: Label | None
    probability: float
    unknown: bool
    top: list[Ranked]
    name: str | None = None


class LeftOut(Answer):
    name: str
    reason: str


class Predictions(Answer):
    version: int
    predictions: list[Prediction]
    left_out: list[LeftOut]


class Changed(Answer):
    """The model after a change."""

    version: int
    classes: int
    samples: int
    notices: list[str]


class Learned(Changed):
    learned: int
    left_out: list[LeftOut]


class Forgotten(Changed):
    forgotten: int
    left_out: list[LeftOut]


class Undone(Changed):
    undone: int


class LoggedChange(Answer):
    version: int
    operation: str
    labels: list[Label]
    samples: int
    time: float
    undoes: int | None
    undone: bool


ROWS = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
LABEL = {"anyOf": [{"type": "string"}, {"type": "number"}]}
LABELS = {"type": "array", "items": LABEL}
IDS = {"type": "array", "items": {"type": "string"}}
SHARE = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
TOP = {"type": "integer", "minimum": 1}
FILE = {"type": "string", "format": "binary"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


def _json(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema, "example": example}}


def _samples(json: dict[str, Any], form: dict[str, Any], table: str) -> dict[str, Any]:
    """Return the three kinds of bodies with samples. `form` has the fields of a form besides its pictures."""
    fields = {"files": {"type": "array", "items": FILE}, **form}
    others = {
        "multipart/form-data": {"schema": {"type": "object", "required": ["files"], "properties": fields}},
        "text/csv": {"schema": {"type": "string"}, "example": table},
    }
    return _body(json | others)


TO_PREDICT = _samples(
    _json(
        _object(["rows"], rows=ROWS, top=TOP, unknown=SHARE),
        {"rows": [[5.1, 3.5, 1.4, 0.2]], "top": 3},
    ),
    {"top": TOP, "unknown": SHARE},
    "width,height\n5.1,3.5\n",
)
LABELLED = _samples(
    _json(
        {
            "oneOf": [
                _object(["rows", "labels"], rows=ROWS, labels=LABELS),
                _object(["ids", "labels"], ids=IDS, labels=LABELS),
            ]
        },
        {"rows": [[5.1, 3.5, 1.4, 0.2]], "labels": ["setosa"]},
    ),
    {"label": {"type": "string"}, "labels": {"type": "array", "items": {"type": "string"}}},
    "width,height,label\n5.1,3.5,setosa\n",
)
NEW_NAME = _body(_json(_object(["name"], name=LABEL), {"name": "barn owl"}))
MODEL_FILE = _body({"application/octet-stream": {"schema": FILE}})
TENSOR = _object(
    ["name", "shape", "datatype"],
    name={"const": "input"},
    shape={"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
    datatype={"enum": ["FP32", "FP64"]},
    data={"type": "array"},
    parameters={"type": "object"},
)
OUTPUT = {"type": "object", "properties": {"name": {"enum": ["label", "probabilities"]}}}
INFERENCE = _body(
    _json(
        {
            "type": "object",
            "required": ["inputs"],
            "properties": {
                "id": {"type": "string"},
                "inputs": {"type": "array", "items": TENSOR, "minItems": 1, "maxItems": 1},
                "outputs": {"type": "array", "items": OUTPUT},
            },
        },
        {"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": [5.1, 3.5, 1.4, 0.2]}]},
    )
)
