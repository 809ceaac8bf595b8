"""Who may do what, and the limits of what a request may ask for."""

import io
import logging
import zlib

import numpy as np
import pytest
from PIL import Image

from if2net.server.access import Gate
from if2net.server.refusal import Refusal
from if2net.server.settings import Settings

WRITES = [
    ("POST", "/v1/learn"),
    ("POST", "/v1/forget"),
    ("POST", "/v1/merge"),
    ("POST", "/v1/undo"),
    ("PATCH", "/v1/classes/ant"),
    ("DELETE", "/v1/classes/ant"),
]
READS = ["/v1/model/info", "/v1/model", "/v1/classes", "/v1/changes", "/metrics", "/v2/models/model"]
BODY = {"rows": [[1.0, 2, 3, 4, 5]], "labels": ["ant"]}


@pytest.mark.parametrize(("method", "path"), WRITES)
@pytest.mark.parametrize(
    "token", ["", "Bearer ", "Bearer wrong", "Bearer read", "Basic write", "write", "Bearer wri"]
)
def test_nothing_changes_without_the_token(steady, method, path, token):
    answer = steady.request(method, path, json=BODY, headers={"Authorization": token})
    assert answer.status_code in (401, 403)
    assert answer.json()["error"]
    assert steady.get("/v1/classes").json()["version"] == 0


@pytest.mark.parametrize("path", READS)
def test_reading_needs_the_token_if_there_is_one(steady, path):
    assert steady.get(path, headers={"Authorization": ""}).status_code == 401
    assert steady.get(path, headers={"Authorization": "Bearer read"}).status_code == 200
    assert steady.get(path).status_code == 200  # the token for changes allows reading, too


def test_reading_is_open_on_this_machine_without_a_token_for_it(client):
    for path in READS:
        assert client.get(path, headers={"Authorization": ""}).status_code == 200


def test_the_page_and_the_health_need_no_token(steady):
    for path in ("/", "/v2/health/ready", "/v2/health/live"):
        assert steady.get(path, headers={"Authorization": ""}).status_code == 200


def test_other_hosts_need_a_token_for_reading_unless_told():
    assert Gate(Settings(host="0.0.0.0")).needs_read_token
    assert not Gate(Settings(host="0.0.0.0", public_read=True)).needs_read_token
    assert not Gate(Settings(host="::1")).needs_read_token


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:8000", True),
        ("127.0.0.1", True),
        ("[::1]:8000", True),
        ("birds.example", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("[", False),
    ],
)
def test_foreign_host_names_are_refused(steady, host, allowed):
    assert (steady.get("/v1/classes", headers={"Host": host}).status_code == 200) == allowed


def test_pages_of_other_servers_cannot_change_anything(client):
    for origin in ("http://evil.example", "null", "http://localhost:1234", "http://[", "", "localhost"):
        assert client.post("/v1/learn", json=BODY, headers={"Origin": origin}).status_code == 403
    assert client.post("/v1/learn", json=BODY, headers={"Origin": "http://localhost"}).status_code == 200
    assert not any(name.startswith("access-control") for name in client.get("/v1/classes").headers)


def test_the_page_may_use_its_own_server_only(client):
    for path in ("/", "/v1/classes"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "name", ["..%2fapp.py", "%2e%2e/app.py", "../app.py", "%2fetc%2fpasswd", "index.html%00", "page"]
)
def test_only_the_files_of_the_page_are_served(steady, name):
    assert steady.get(f"/page/{name}").status_code == 404


def test_the_rate_of_a_client_is_limited():
    gate = Gate(Settings(requests_per_second=5))
    for _ in range(10):
        gate._check_rate("a")
    with pytest.raises(Refusal) as refused:
        gate._check_rate("a")
    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 1
    gate._check_rate("b")


def test_large_bodies_are_refused_while_they_arrive(model, served):
    with served(model, body_bytes=10_000) as client:
        announced = client.post("/v1/learn", content=b" " * 20_000, headers={"Content-Type": "application/json"})
        streamed = client.post("/v1/learn", content=(b" " * 1000 for _ in range(20)))
        assert (announced.status_code, streamed.status_code) == (413, 413)


def test_samples_classes_and_labels_are_limited(model, served):
    with served(model, samples=3, classes=4, label_length=5) as client:

        def learn(labels):
            return client.post("/v1/learn", json={"rows": [[1, 2, 3, 4, 5]] * len(labels), "labels": labels})

        assert learn(["a"] * 4).status_code == 413
        assert learn(["toolong"]).status_code == 422
        assert learn(["a", "b"]).status_code == 409
        assert learn(["a"]).status_code == 200
        assert client.patch("/v1/classes/a", json={"name": "toolong"}).status_code == 422


def test_keys_can_be_required(model, served):
    with served(model, require_keys=True) as client:
        assert client.post("/v1/learn", json=BODY).status_code == 400
        assert client.post("/v1/learn", json=BODY, headers={"Idempotency-Key": "a"}).status_code == 200
        assert client.post("/v1/learn", json=BODY, headers={"Idempotency-Key": "a" * 201}).status_code == 400


def bomb():
    """Return a small PNG file that announces 20,000 × 20,000 pixels."""
    file = io.BytesIO()
    Image.new("1", (100, 100)).save(file, "PNG")
    content = bytearray(file.getvalue())
    content[16:24] = (20_000).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(bytes(content[12:29])).to_bytes(4, "big")
    return bytes(content)


def test_pictures_have_a_limit_of_pixels(tmp_path, served):
    file = io.BytesIO()
    Image.new("RGB", (200, 200)).save(file, "JPEG")
    with served(tmp_path / "pets.if2", rows=False, backbone="pixels,size=8", pixels=10_000) as client:
        for content in (bomb(), file.getvalue()):
            answer = client.post("/v1/learn", files=[("files", ("a", content))], data={"label": "a"})
            assert answer.status_code == 422
            assert "too many pixels" in answer.json()["error"]


def test_logs_have_no_contents(client, caplog):
    caplog.set_level(logging.DEBUG)
    rows = np.full((1, 5), 1.234567).tolist()
    client.post("/v1/learn", json={"rows": rows, "labels": ["secretlabel"]})
    client.delete("/v1/classes/secretlabel")
    client.get("/v1/classes?secret=1")
    text = "".join(record.getMessage() for record in caplog.records if record.name.startswith("if2net"))
    assert "POST /v1/learn 200" in text
    for secret in ("secret", "1.234567", "write"):
        assert secret not in text


@pytest.mark.parametrize("token", ["ключ", "a\nb", "a\x00", " a"])
def test_tokens_that_no_header_can_hold_are_refused_at_the_start(token):
    for field in ("write_token", "read_token"):
        with pytest.raises(ValueError, match="ASCII"):
            Settings(**{field: token})
