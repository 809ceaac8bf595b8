"""The settings of the service, their defaults and the reasons for them. `if2net serve --help` shows them."""

from __future__ import annotations

from dataclasses import dataclass

from if2net.errors import ConfigurationError


@dataclass(frozen=True)
class Settings:
    """Everything that an operator can choose. `if2net serve --help` describes the settings by the same names.

    Limits protect the memory and the time of the machine. Without a `write_token`, nobody may change the model.

    >>> Settings(host="0.0.0.0").is_loopback
    False
    """

    # Access.
    host: str = "127.0.0.1"
    port: int = 8000
    allowed_hosts: tuple[str, ...] = ()  # names of the service, besides localhost and addresses
    trusted_proxies: tuple[str, ...] = ()  # whose X-Forwarded-For header names the client
    write_token: str | None = None
    read_token: str | None = None
    public_read: bool = False  # whether reading needs no token although the service is not on loopback
    # The model.
    read_only: bool = False
    backbone: str | None = None  # of a new model, or of a model with a backbone that is not part of if2net
    rows: bool = False  # whether a new model takes rows of numbers rather than pictures
    device: str = "auto"
    # Durability.
    snapshot_seconds: float = 60.0
    snapshot_samples: int = 100_000  # samples that a start after a crash learns again at most
    keep_seconds: float = 600.0  # features stay in the log for at least this time, so that changes can be taken back
    key_days: float = 7.0
    require_keys: bool = False
    remember_seconds: float = 600.0  # time to learn a predicted sample by its id
    remember_samples: int = 10_000
    # Limits.
    body_bytes: int = 64 << 20
    bodies_bytes: int = 256 << 20  # of all requests together
    head_seconds: float = 20.0  # for the head of a request to arrive
    body_seconds: float = 60.0  # for a body to arrive
    pixels: int = 40_000_000  # of a picture
    samples: int = 10_000  # of a request
    classes: int = 10_000
    label_length: int = 200
    waiting: int = 1_000  # changes that wait
    requests_per_second: float = 500.0  # of a client; 0: no limit

    def __post_init__(self) -> None:
        for token in (self.write_token, self.read_token):
            if token is not None and not (token.isascii() and token.isprintable() and token == token.strip()):
                raise ConfigurationError(
                    "A token must consist of letters, digits and signs of ASCII: headers hold no others."
                )

    @property
    def is_loopback(self) -> bool:
        return self.host in ("127.0.0.1", "localhost", "::1")
