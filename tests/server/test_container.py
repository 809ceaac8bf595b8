"""The container's files name options, addresses and folders that exist."""

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from if2net.cli import app
from if2net.server.access import OPEN

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
GUIDE = (ROOT / "docs" / "guides" / "container.md").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
# What follows the name of the command or of the image, in the guide's examples.
SERVED = re.compile(r"\bif2net (?:serve )?(/models/.*)")


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def known_options():
    return {name for parameter in get_command(app).commands["serve"].params for name in parameter.opts}


@pytest.mark.parametrize(
    "arguments",
    [
        re.search(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[1],
        "\n".join(COMPOSE["services"]["if2net"]["command"]),
        *SERVED.findall(GUIDE.replace("\\\n", "")),
        re.search(r"command: (\[/models.*)", GUIDE)[1],
    ],
)
def test_options_are_those_of_serve(arguments):
    assert options(arguments)
    assert options(arguments) <= known_options()


def test_the_health_check_needs_no_token():
    assert re.search(r"127\.0\.0\.1:8000(/\S+?)'", DOCKERFILE)[1] in OPEN


def test_every_container_runs_without_privileges_on_a_read_only_file_system():
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    for service in COMPOSE["services"].values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_image_is_built_by_commands_that_do_not_stop_at_files_of_others():
    assert "compileall" not in DOCKERFILE  # it fails at a file of torch that needs Python 3.12


def test_prometheus_calls_a_name_that_the_service_answers_to():
    [scrape] = yaml.safe_load((ROOT / "prometheus.yaml").read_text())["scrape_configs"]
    [target] = scrape["static_configs"][0]["targets"]
    assert f"--allowed-host={target.split(':')[0]}" in COMPOSE["services"]["if2net"]["command"]
    assert Path(scrape["authorization"]["credentials_file"]).name in COMPOSE["secrets"]


def test_files_that_the_image_is_built_from_are_sent_to_the_builder():
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = " ".join(re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)).split()
    sources = {Path(name).parts[0] for name in copied if name not in ("./",)}
    assert sources == set(kept)
    assert all((ROOT / name).exists() for name in kept)
