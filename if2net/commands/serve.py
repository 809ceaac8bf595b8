"""`if2net serve`: a model that people teach and query over HTTP, with a page for it."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from if2net.commands.answer import JsonOption, QuietOption, answer
from if2net.commands.options import BackboneOption, DeviceOption
from if2net.errors import ConfigurationError
from if2net.extras import require

ACCESS, SAMPLES, DISK, LIMITS = "Access", "The model", "Durability", "Limits"
TOKENS = {"write": "IF2NET_WRITE_TOKEN", "read": "IF2NET_READ_TOKEN"}


def serve(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, such as birds.if2; a new model if missing.")
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 is all of this machine.", rich_help_panel=ACCESS)
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 is any.", rich_help_panel=ACCESS)] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token for changes in its first line, and perhaps one for reading in its second. "
            "Otherwise IF2NET_WRITE_TOKEN and IF2NET_READ_TOKEN, or a new token for changes.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    public_read: Annotated[
        bool,
        typer.Option("--public-read", help="Reading needs no token, on any --host.", rich_help_panel=ACCESS),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Name under which the server is called. Can be repeated.", rich_help_panel=ACCESS),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy that names its clients. Can be repeated.", rich_help_panel=ACCESS),
    ] = None,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Change nothing; follow MODEL when it changes.", rich_help_panel=SAMPLES),
    ] = False,
    backbone: BackboneOption = None,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="A new model takes rows of numbers, not pictures.", rich_help_panel=SAMPLES),
    ] = False,
    device: DeviceOption = "auto",
    snapshot_seconds: Annotated[
        float, typer.Option(min=0.1, help="Time between two snapshots of a model that changes.", rich_help_panel=DISK)
    ] = 60.0,
    snapshot_samples: Annotated[
        int, typer.Option(min=1, help="Samples after which a snapshot comes earlier.", rich_help_panel=DISK)
    ] = 100_000,
    keep_seconds: Annotated[
        float,
        typer.Option(min=0, help="Time for which features stay in the log, for undo.", rich_help_panel=DISK),
    ] = 600.0,
    key_days: Annotated[
        float, typer.Option(min=0, help="Days for which a retry is recognised.", rich_help_panel=DISK)
    ] = 7.0,
    require_keys: Annotated[
        bool,
        typer.Option("--require-keys", help="Refuse changes without an Idempotency-Key.", rich_help_panel=DISK),
    ] = False,
    remember_seconds: Annotated[
        float,
        typer.Option(min=0, help="Time to learn a predicted sample by its id.", rich_help_panel=DISK),
    ] = 600.0,
    body_megabytes: Annotated[
        float, typer.Option(min=0.001, help="Size of a request.", rich_help_panel=LIMITS)
    ] = 64.0,
    megapixels: Annotated[float, typer.Option(min=0.001, help="Size of a picture.", rich_help_panel=LIMITS)] = 40.0,
    samples: Annotated[int, typer.Option(min=1, help="Samples of a request.", rich_help_panel=LIMITS)] = 10_000,
    classes: Annotated[int, typer.Option(min=1, help="Classes of the model.", rich_help_panel=LIMITS)] = 10_000,
    label_length: Annotated[int, typer.Option(min=1, help="Characters of a label.", rich_help_panel=LIMITS)] = 200,
    requests_per_second: Annotated[
        float, typer.Option(min=0, help="Requests of a client; 0: no limit.", rich_help_panel=LIMITS)
    ] = 500.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
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
    logging.getLogger("if2net").setLevel("WARNING" if quiet else log_level.upper())

    def show(address: str) -> None:
        # A token that somebody chose stays where it is.
        new = None if write_token or read_only else settings.write_token
        line = f"{model} is served at {address}/{f'#token={new}' if new else ''}"
        answer([line], {"model": str(model), "address": address, "token": new}, as_json=as_json, quiet=quiet)
        sys.stdout.flush()

    run(model, settings, show)


def _tokens(file: Path | None) -> tuple[str | None, str | None]:
    """Return the tokens for changes and for reading, from the file or the environment."""
    if file is None:
        write, read = (os.environ.get(name, "").strip() for name in TOKENS.values())
    else:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"The tokens cannot be read from {file} ({error}); check the file.") from error
        write, read = (line.strip() for line in [*lines, "", ""][:2])
        if not write:
            raise ConfigurationError(f"{file} has no token in its first line; write one there.")
    return write or None, read or None
