"""A cluster that does not answer is an error within seconds."""

import socket

import pytest

from if2net.cluster import connection
from if2net.errors import ConfigurationError


@pytest.fixture(autouse=True)
def no_ray(monkeypatch):
    """Ray itself, which would try for minutes, is not asked."""

    class Ray:
        is_initialized = staticmethod(lambda: False)
        init = staticmethod(lambda address, **options: pytest.fail("Ray was asked"))

    monkeypatch.setattr(connection, "import_ray", lambda: Ray)


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "[::1]:{port}", "127.0.0.1:99999"])
def test_an_address_where_nobody_listens_is_named(address):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConfigurationError, match=r"No Ray cluster answers at '.*; start one with `ray start --head`"):
        connection.connect(address.format(port=port))


def test_a_machine_that_does_not_answer_is_given_up(monkeypatch):
    def no_answer(place, timeout):
        assert 0 < timeout < 60
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", no_answer)
    with pytest.raises(ConfigurationError, match=r"No Ray cluster answers at '10\.0\.0\.1:6379' \(timed out\)"):
        connection.connect("10.0.0.1:6379")
