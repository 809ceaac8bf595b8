"""`if2net serve`: a model that people teach and query over HTTP, with a page for it."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import SENTENCES, Output
from if2net.commands.options import BackboneOption, DeviceOption
from if2net.errors import ConfigurationError
from if2net.extras import require

TOKENS = ("IF2NET_WRITE_TOKEN", "IF2NET_READ_TOKEN")
# Options by their group in the help.
access, of_model, durability, limit = (
    partial(typer.Option, rich_help_panel=group) for group in ("Access", "The model", "Durability", "Limits")
)


def serve(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, such as birds.if2; a new model if missing.")
    ],
    host: Annotated[str, access(help="Address to listen at; 0.0.0.0 is all of this machine.")] = "127.0.0.1",
    port: Annotated[int, access(min=0, max=65535, help="Port; 0 is any.")] = 8000,
    token_file: Annotated[
        Path | None,
        access(
            help="File with the token for changes in its first line, and perhaps one for reading in its second. "
            "Otherwise IF2NET_WRITE_TOKEN and IF2NET_READ_TOKEN, or a new token for changes."
        ),
    ] = None,
    public_read: Annotated[bool, access("--public-read", help="Reading needs no token, on any --host.")] = False,
    allowed_host: Annotated[
        list[str] | None, access(help="Name under which the server is called. Can be repeated.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, access(help="Address of a proxy that names its clients. Can be repeated.")
    ] = None,
    read_only: Annotated[bool, of_model("--read-only", help="Change nothing; follow MODEL when it changes.")] = False,
    backbone: BackboneOption = None,
    rows: Annotated[bool, of_model("--rows", help="A new model takes rows of numbers, not pictures.")] = False,
    device: DeviceOption = "auto",
    snapshot_seconds: Annotated[
        float, durability(min=0.1, help="Time between two snapshots of a model that changes.")
    ] = 60.0,
    snapshot_samples: Annotated[
        int, durability(min=1, help="Samples after which a snapshot comes earlier.")
    ] = 100_000,
    keep_seconds: Annotated[
        float, durability(min=0, help="Time for which features stay in the log, for undo.")
    ] = 600.0,
    key_days: Annotated[float, durability(min=0, help="Days for which a retry is recognised.")] = 7.0,
    require_keys: Annotated[
        bool, durability("--require-keys", help="Refuse changes without an Idempotency-Key.")
    ] = False,
    remember_seconds: Annotated[float, durability(min=0, help="Time to learn a predicted sample by its id.")] = 600.0,
    body_megabytes: Annotated[float, limit(min=0.001, help="Size of a request.")] = 64.0,
    megapixels: Annotated[float, limit(min=0.001, help="Size of a picture.")] = 40.0,
    samples: Annotated[int, limit(min=1, help="Samples of a request.")] = 10_000,
    classes: Annotated[int, limit(min=1, help="Classes of the model.")] = 10_000,
    label_length: Annotated[int, limit(min=1, help="Characters of a label.")] = 200,
    requests_per_second: Annotated[float, limit(min=0, help="Requests of a client; 0: no limit.")] = 500.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    output: Output = SENTENCES,
) -> None:
    """Serve a model: people teach and query it in a browser or over HTTP.

    A change is acknowledged once it would survive a power cut. Stop the server with Ctrl-C.
    """
    for package in ("fastapi", "uvicorn", "httptools", "python_multipart", "prometheus_client"):
        require(package, "serve", "Serving a model needs FastAPI and others")
    from if2net.server.running import run
    from if2net.server.settings import Settings

    if log_level not in ("debug", "info", "warning", "error"):
        raise ConfigurationError("--log-level is debug, info, warning or error.")
    write_token, read_token = _tokens(token_file)
    settings = Settings(
        host=host,
        port=port,
        allowed_hosts=tuple(allowed_host or ()),
        trusted_proxies=tuple(trusted_proxy or ()),
        write_token=write_token or secrets.token_urlsafe(24),
        read_token=read_token,
        public_read=public_read,
        read_only=read_only,
        backbone=backbone,
        rows=rows,
        device=device,
        snapshot_seconds=snapshot_seconds,
        snapshot_samples=snapshot_samples,
        keep_seconds=keep_seconds,
        key_days=key_days,
        require_keys=require_keys,
        remember_seconds=remember_seconds,
        body_bytes=int(body_megabytes * 2**20),
        bodies_bytes=max(int(body_megabytes * 2**20), Settings.bodies_bytes),
        pixels=int(megapixels * 10**6),
        samples=samples,
        classes=classes,
        label_length=label_length,
        requests_per_second=requests_per_second,
    )
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("if2net").setLevel("WARNING" if output.quiet else log_level.upper())

    def show(address: str) -> None:
        # A token that somebody chose stays where it is.
        new = None if write_token or read_only else settings.write_token
        line = f"{model} is served at {address}/{f'#token={new}' if new else ''}"
        output.answer([line], {"model": str(model), "address": address, "token": new})

    run(model, settings, show)


def _tokens(file: Path | None) -> tuple[str | None, str | None]:
    """Return the tokens for changes and for reading, from the file or the environment."""
    if file is None:
        write, read = (os.environ.get(name, "").strip() for name in TOKENS)
    else:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The tokens cannot be read from {file} ({error}); check the file.") from error
        write, read = (line.strip() for line in [*lines, "", ""][:2])
        if not write:
            raise ConfigurationError(f"{file} has no token in its first line; write one there.")
    return write or None, read or None
