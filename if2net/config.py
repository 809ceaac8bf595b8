"""All settings of an IF2Net, with their defaults and the reasons for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args, get_type_hints

import numpy as np
import torch

from if2net import labels, pictures
from if2net.decision import RULES, RuleConfig
from if2net.decision.gradient import INITIALISATIONS, PROJECTORS
from if2net.encoder import INNATE, PRESETS
from if2net.encoder.dense import ACTIVATIONS
from if2net.encoder.innate.encoder import NODES
from if2net.encoder.sparse import SOLVERS
from if2net.encoder.standardise import MODES
from if2net.errors import ConfigurationError, InputError, check_once, unknown

REPRESENTATIONS = ("first", "per-task")
DEVICES = ("auto", "cpu", "cuda")
LARGEST_SEED = 2**32 - 1  # as in NumPy and scikit-learn
# The numbers that a setting may have: whole ones of 64 bits, and finite ones.
LARGEST: dict[type, float] = {int: 2**63 - 1, float: sys.float_info.max}
KINDS = {int: "a whole number of 64 bits", float: "a finite number", bool: "True or False", str: "text"}
KINDS |= {type(None): "None"}


@dataclass(frozen=True)
class Config:
    """The settings of a learner. An unknown name is an error that suggests similar ones.

    Parameters
    ----------
    encoder : {"auto", "innate", "innate-large", "wide", "linear", "paper", "paper-25x4"}, default="auto"
        "auto" is "innate" for pictures and "wide" for everything else.
    image_shape : str, default=None
        The shape of flat rows that are pictures, such as "28x28" or "32x32x3"; for the innate encoders.
    flips : bool, default=None
        Whether a picture is learned and predicted together with its mirror image, by the innate encoders. None:
        colour pictures are, and grey ones, which are often of writing, are not.
    width : int, default=None
        Nodes of the last hidden layer; None: by the number of inputs. For the innate encoders, random nodes beside
        the features of the network, or 0 for none.
    layers : str, default=None
        Groups × nodes of each hidden layer, such as "10x10,10x10,200x10". For this and the next eight settings, None
        is the value of the encoder.
    activation : {"relu", "tanh", "sigmoid"}, default=None
        The function of the nodes.
    standardise : {"auto", "feature", "common", "intensity", "none"}, default=None
        The scale of the inputs.
    tweaked : bool, default=None
        Whether the sparse tweak of Algorithm 1 is solved.
    strength : float, default=None
        λ of the tweak.
    solver : {"fista", "projection"}, default=None
        The solver of the tweak.
    scale : float, default=None
        The scale of the random weights.
    follow : float, default=None
        p of Σ^p w: the random weights follow the spread Σ of the first data.
    direct : bool, default=None
        Whether V also contains the standardised inputs.
    representation : {"first", "per-task"}, default="first"
        "first" freezes the tweak of the first data, so that a prediction depends on the sample alone (agnostic).
        "per-task" keeps one tweak per task, and predicting needs the task (aware) or a batch (transductive).
    rule : {"analytic", "gradient", "ewc"}, default="analytic"
        The rule of the output layer. The paper's "gradient", and "ewc" with a penalty, cannot forget and merge
        exactly.
    ridge : float, default=None
        The regularisation of the analytic rule, relative to tr(G)/S. None: chosen on held-out samples.
    holdout : float, default=0.1
        The share of the samples that are held out, by their content.
    class_weight : str, default=None
        "balanced": all classes weigh the same, whatever the number of their samples; or pairs of a class and the
        weight of its samples as JSON, such as '[["owl", 2.5]]'. It changes the solution only.
    alpha : float, default=0.1
        α of the projector, for the gradient rules, as all settings from here to `fisher`. The default is the paper's.
    projector : {"exact", "recursive", "batch-mean"}, default="exact"
        "recursive" is the paper's, and "batch-mean" that of OWM.
    initialisation : {"analytic", "random"}, default="analytic"
        The output weights of the first task (Remark 1).
    initial_samples : int, default=None
        Samples of the first task that this uses; None: all.
    mu : float, default=2**-30
        μ of Remark 1; the paper's value.
    epochs : int, default=5
        Passes over the samples of a task.
    batch_size : int, default=64
        Samples of a step.
    step : float, default=1.0
        The length of a step, as a share of 1/λmax of the projected curvature; it diverges above 2.
    fisher : float, default=100.0
        The weight of the penalty of EWC.
    check_inputs : bool, default=True
        Whether samples far larger than the first data are refused, and repeated ones lead to a warning.
    dtype : {"float32", "float64"}, default="float32"
        The precision of the statistics.
    device : str, default="auto"
        "cpu", "cuda" or "auto", which is a GPU where there is one.
    seed : int, default=0
        Draws the random weights.

    Examples
    --------
    >>> Config.of(rule="analytical")
    Traceback (most recent call last):
    if2net.errors.ConfigurationError: There is no rule 'analytical'; did you mean 'analytic'? Known: ...
    """

    encoder: str = "auto"
    image_shape: str | None = None
    flips: bool | None = None  # results/innate/rows.jsonl has both on held-back training pictures
    width: int | None = None
    layers: str | None = None
    activation: str | None = None
    standardise: str | None = None
    tweaked: bool | None = None
    strength: float | None = None
    solver: str | None = None
    scale: float | None = None
    follow: float | None = None
    direct: bool | None = None
    representation: str = "first"
    rule: str = "analytic"
    ridge: float | None = None
    holdout: float = 0.1
    class_weight: str | None = None
    alpha: float = 0.1
    projector: str = "exact"
    initialisation: str = "analytic"
    initial_samples: int | None = None
    mu: float = 2.0**-30
    epochs: int = 5
    batch_size: int = 64
    step: float = 1.0
    fisher: float = 100.0
    check_inputs: bool = True  # guards.py
    dtype: str = "float32"
    device: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_kinds()
        for kind, name, known in (
            ("encoder", self.encoder, ("auto", *PRESETS, *INNATE)),
            ("rule", self.rule, RULES),
            ("representation", self.representation, REPRESENTATIONS),
            ("projector", self.projector, PROJECTORS),
            ("initialisation", self.initialisation, INITIALISATIONS),
            ("dtype", self.dtype, ("float32", "float64")),
            ("device", self.device.partition(":")[0], DEVICES),
            ("activation", self.activation, ACTIVATIONS),
            ("way to standardise", self.standardise, MODES),
            ("solver of the tweak", self.solver, SOLVERS),
        ):
            if name is not None and name not in known:  # None leaves the preset's
                raise unknown(kind, name, known)
        if self.image_shape is not None:
            pictures.parse_shape(self.image_shape)
        if self.encoder in INNATE and (given := self._dense_settings()):
            raise ConfigurationError(f"The encoder {self.encoder} has no setting {given[0]}; leave it out.")
        if self.ridge is not None and not self.ridge > 0:
            raise ConfigurationError(f"The ridge must be positive, not {self.ridge}.")
        if not 0 <= self.holdout < 1:
            raise ConfigurationError(f"holdout is a share of the samples and must be in [0, 1), not {self.holdout}.")
        self.class_weights()
        least = 1 if self.encoder in PRESETS else 0
        if self.width is not None and self.width < least:
            raise ConfigurationError(f"The width must be at least {least}, not {self.width}.")
        if self.epochs < 0 or self.batch_size < 1 or (self.initial_samples or 1) < 1:
            raise ConfigurationError(
                "epochs must not be negative, and batch_size and initial_samples must be at least 1."
            )
        if not self.alpha > 0 or self.mu < 0 or self.fisher < 0:
            raise ConfigurationError("alpha must be positive, and mu and fisher must not be negative.")
        check_seed(self.seed)

    def _check_kinds(self) -> None:
        """Raise an error where a value has the wrong type, such as width=2.5."""
        hints = get_type_hints(type(self))
        for setting in fields(self):
            value, kinds = getattr(self, setting.name), get_args(hints[setting.name]) or (hints[setting.name],)
            if not any(_is_a(value, kind) for kind in kinds):
                wanted = " or ".join(KINDS.get(kind, kind.__name__) for kind in kinds)
                raise ConfigurationError(f"The setting {setting.name} takes {wanted}, not {value!r}.")
            if float in kinds and type(value) is int:  # torch cannot compute with whole numbers beyond 64 bits
                object.__setattr__(self, setting.name, float(value))

    @classmethod
    def of(cls, **settings: Any) -> Config:
        """Return a Config, or raise an error that suggests similar names."""
        names = [setting.name for setting in fields(cls)]
        for name in settings:
            if name not in names:
                raise unknown("setting", name, names)
        return cls(**settings)

    @classmethod
    def parse(cls, pairs: Sequence[str], **settings: Any) -> Config:
        """Return a Config from text such as "width=2000". The keyword arguments are defaults.

        >>> Config.parse(["width=2000", "ridge=none"], encoder="linear").width
        2000
        """
        hints = get_type_hints(cls)
        check_once("setting", [pair.partition("=")[0] for pair in pairs])
        for pair in pairs:
            name, separator, text = pair.partition("=")
            if not separator or not name:
                raise ConfigurationError(f"A setting is written key=value, not {pair!r}.")
            if name not in hints:
                raise unknown("setting", name, hints)
            settings[name] = convert(name, text, hints[name])
        return cls.of(**settings)

    @property
    def shape(self) -> pictures.Shape | None:
        """The shape of the pictures that the innate encoder takes; None for other encoders."""
        return pictures.parse_shape(self.image_shape) if self.image_shape and self.encoder in INNATE else None

    def for_samples(self, shape: pictures.Shape | None) -> Config:
        """Return the settings with an encoder instead of "auto", for pictures of this shape or for rows (None).

        The innate encoders also get their number of random nodes, so that a model file says how many it has.

        >>> Config().for_samples((28, 28, 1)).encoder, Config().for_samples(None).encoder
        ('innate', 'wide')
        """
        image_shape = self.image_shape or (shape and pictures.format_shape(shape))
        encoder = self.encoder
        if encoder == "auto":
            encoder = "innate" if image_shape and not self._dense_settings() else "wide"
        if encoder in INNATE and not image_shape:
            raise InputError(
                f"The encoder {encoder} needs pictures, in arrays of N×H×W or N×H×W×C or in tensors of N×C×H×W; "
                "for pictures in flat rows, give image_shape, such as 28x28."
            )
        if encoder not in INNATE:
            return replace(self, encoder=encoder)
        width = NODES[INNATE[encoder]] if self.width is None else self.width
        return replace(self, encoder=encoder, image_shape=image_shape, width=width)

    def class_weights(self) -> str | dict[Any, float] | None:
        """Return "balanced", the weights by class, or None."""
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight
        try:
            weights = {label: float(weight) for label, weight in json.loads(self.class_weight)}
            labels.check(list(weights))
            if all(0 < weight < float("inf") for weight in weights.values()):
                return weights
        except (ValueError, TypeError, OverflowError, RecursionError):
            pass
        raise ConfigurationError(
            "class_weight is None, 'balanced', or has a positive weight per class, such as {'owl': 2.5}; it is not "
            f"{self.class_weight!r}."
        )

    def check_class_weight(self, known: Sequence[Any]) -> None:
        """Raise an error if `class_weight` weighs classes of another kind than the known ones."""
        weights = self.class_weights()
        if isinstance(weights, dict):
            _check_weighed(weights, known)

    def renamed(self, names: Mapping[Any, Any]) -> Config:
        """Return these settings with the weights of classes under their new names.

        `names` has all classes. A weight for a name without a class is dropped if a class takes that name.

        >>> Config(class_weight='[["owl", 2.5], ["bat", 3.0]]').renamed({"owl": "bat", "bat": "owl"}).class_weights()
        {'bat': 2.5, 'owl': 3.0}
        """
        weights = self.class_weights()
        if not isinstance(weights, dict):
            return self
        taken = set(names.values())
        renamed = {
            names.get(label, label): weight
            for label, weight in weights.items()
            if label in names or label not in taken
        }
        _check_weighed(renamed, list(names.values()))
        return replace(self, class_weight=json.dumps(list(renamed.items())))

    @property
    def torch_dtype(self) -> torch.dtype:
        return torch.float64 if self.dtype == "float64" else torch.float32

    @property
    def torch_device(self) -> torch.device:
        return resolve_device(self.device)

    def encoder_overrides(self) -> dict[str, Any]:
        names = ("width", "layers", "activation", "standardise", "tweaked", "strength", "solver", "scale", "follow")
        return {name: getattr(self, name) for name in (*names, "direct")}

    def _dense_settings(self) -> list[str]:
        """Return the settings that only dense encoders have."""
        return [name for name, value in self.encoder_overrides().items() if value is not None and name != "width"]

    def rule_config(self) -> RuleConfig:
        return RuleConfig(**{setting.name: getattr(self, setting.name) for setting in fields(RuleConfig)})

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain Python values, for JSON."""
        return {name: value.item() if hasattr(value, "item") else value for name, value in asdict(self).items()}


def check_seed(seed: int) -> None:
    """Raise an error if random numbers cannot be drawn from this seed."""
    if not 0 <= seed <= LARGEST_SEED:
        raise ConfigurationError(f"The seed must be between 0 and {LARGEST_SEED:,}, not {seed}.")


def _check_weighed(weighed: Iterable[Any], known: Sequence[Any]) -> None:
    """Raise an error if a class with a weight can never join the known ones: one side is text, and the other is not.

    The weight of 1 is also that of True, as in any dict.
    """
    for label in weighed if known else ():
        if isinstance(label, str) != isinstance(known[0], str):
            raise ConfigurationError(
                f"class_weight has classes such as {label!r}, but the labels are such as {known[0]!r}; write both as "
                "text or both as numbers."
            )


def _is_a(value: Any, kind: type) -> bool:
    """Return whether a value has a type. NumPy's numbers count as Python's, integers as floats, and True not as 1."""
    value = value.item() if isinstance(value, np.generic) else value
    if kind in LARGEST:
        number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        return number and -LARGEST[kind] <= value <= LARGEST[kind]
    return isinstance(value, kind)


def convert(key: str, value: Any, kind: Any) -> Any:
    """Convert a value from text or TOML to the type of its setting."""
    allowed = get_args(kind) or (kind,)
    # "none" and "auto" mean the default of a number; for a text setting they may be values of their own.
    if type(None) in allowed and (value is None or (str not in allowed and value in ("none", "None", "auto"))):
        return None
    for wanted in (bool, int, float, str):
        if wanted not in allowed:
            continue
        try:
            if wanted is bool:
                return {"true": True, "false": False}[str(value).lower()]
            return wanted(str(value))  # a list, a date or 3.7 is not a whole number
        except (ValueError, KeyError):
            continue
    names = " or ".join(getattr(item, "__name__", str(item)) for item in allowed if item is not type(None))
    raise ConfigurationError(f"The setting {key} takes a {names}, not {value!r}.")


def resolve_device(name: str) -> torch.device:
    """Return the device for auto, cpu or cuda."""
    if name.partition(":")[0] not in DEVICES:
        raise unknown("device", name, DEVICES)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigurationError("No CUDA device is available; choose device='cpu'.")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigurationError(f"A device is written cpu, cuda or cuda:NUMBER, not {name!r}.") from error
    if (device.index or 0) >= (torch.cuda.device_count() if device.type == "cuda" else 1):
        raise ConfigurationError(f"There is no device {name}; choose one with a lower number.")
    return device
