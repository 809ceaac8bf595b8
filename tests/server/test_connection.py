"""Connections of clients that send their requests slowly, not at all, or with too much around them."""

import asyncio
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from if2net.server import Settings, serving
from if2net.server.running import _bound

HEAD = b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n"
READY = b'{"ready":true}'
SECONDS = 0.5


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    """Give a function that opens connections to a service that does not wait long."""
    settings = Settings(port=0, rows=True, head_seconds=SECONDS)
    with serving(tmp_path_factory.mktemp("served") / "model.if2", settings) as address:
        port = int(address.rpartition(":")[2])
        opened = []

        def open_connection():
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=30))
            return opened[-1]

        yield open_connection
        for one in opened:
            one.close()


def until_closed(connection):
    """Return what the service sends until it closes the connection."""
    content = b""
    while part := connection.recv(1 << 16):
        content += part
    return content


def is_closed_while_sending(connection, piece, times, pause=0.0):
    try:
        for _ in range(times):
            connection.sendall(piece)
            time.sleep(pause)
    except OSError:  # a broken pipe or a reset
        return True
    return False


def answered(connection, request=HEAD + b"\r\n"):
    connection.sendall(request)
    content = b""
    while READY not in content:
        part = connection.recv(1 << 16)
        assert part, content
        content += part
    return content


@pytest.mark.parametrize("start", [b"", b"G", HEAD, b"\r\n"])
def test_a_head_that_does_not_arrive_closes_the_connection(connect, start):
    connection = connect()
    connection.sendall(start)
    assert until_closed(connection) == b""


def test_a_head_that_arrives_byte_by_byte_closes_the_connection(connect):
    connection = connect()
    connection.sendall(HEAD)
    assert is_closed_while_sending(connection, b"X: y\r\n", 600, pause=0.05)


def test_the_second_head_must_arrive_too(connect):
    connection = connect()
    answered(connection)
    connection.sendall(HEAD)
    assert until_closed(connection) == b""


def test_a_body_that_nobody_reads_does_not_keep_the_connection(connect):
    connection = connect()
    answered(connection, HEAD + b"Content-Length: 1000\r\n\r\n")
    connection.sendall(b"x")
    assert until_closed(connection) == b""


def test_requests_that_follow_each_other_share_a_connection(connect):
    connection = connect()
    for _ in range(3):
        answered(connection)
        time.sleep(SECONDS)
    connection.sendall(2 * (HEAD + b"\r\n"))
    content = b""
    while content.count(READY) < 2:
        content += connection.recv(1 << 16)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (HEAD + b"X: ", b"y"),
        (HEAD, b"X: y\r\n"),
        (b"GET /", b"y"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ", b"y"),
    ],
)
def test_endless_heads_and_trailers_close_the_connection(connect, start, piece):
    connection = connect()
    connection.sendall(start)
    assert is_closed_while_sending(connection, (1 << 20) // len(piece) * piece, 64)


def test_a_long_head_is_refused_with_a_sentence(connect):
    connection = connect()
    connection.sendall((HEAD + b"X: ").ljust((1 << 16) + 10, b"y"))
    head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 ")
    assert len(json.loads(body)["error"].split()) > 3


def test_small_answers_are_sent_at_once():
    """asyncio turns Nagle's algorithm off for sockets that it knows to be TCP's."""

    async def option():
        found = asyncio.get_running_loop().create_future()

        def accept(_, writer):
            accepted = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        bound = _bound(Settings(port=0))
        async with await asyncio.start_server(accept, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            value = await found
            writer.close()
        return value

    with ThreadPoolExecutor(1) as thread:  # in this one, the browser of other tests may have an event loop
        assert thread.submit(lambda: asyncio.run(option())).result()


def test_what_is_not_http_is_refused_with_a_sentence(connect):
    connection = connect()
    connection.sendall(b"\x16\x03\x01\x02\x00\x01")
    head, _, body = until_closed(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request")
    assert len(json.loads(body)["error"].split()) > 3
