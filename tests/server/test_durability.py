"""Acknowledged changes survive: kills, restarts, full disks and damaged files."""

import errno
import io
import shutil
import sqlite3
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner
from waiting import until

from if2net.cli import app
from if2net.errors import InputError, InUseError, OutputError
from if2net.files import kept_file
from if2net.learner import IF2Net
from if2net.server import store
from if2net.server.change_log import ChangeLog, Entry
from if2net.server.changes import LEARN, Change
from if2net.server.service import Service
from if2net.server.settings import Settings


def learn(client, X, y, key=None):
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/v1/learn", json={"rows": X.tolist(), "labels": list(y)}, headers=headers)


def crash(client):
    """Stop as a killed process does: without a last snapshot."""
    client.service._store.close = lambda net: client.service._store.log.close()


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def counts(client):
    return {entry["name"]: entry["samples"] for entry in client.get("/v1/classes").json()["classes"]}


def picture(colour):
    """Return the files of a form with one picture."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(file, "PNG")
    return [("files", ("one.png", file.getvalue()))]


def log_content(path):
    files = [Path(f"{path}-log"), Path(f"{path}-log-wal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


def equals_offline(path, batches, rows):
    """Check that a model gives the scores of one that has learned the same samples in one piece."""
    net = IF2Net.load(path, "cpu")
    X, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    other = net.fork().learn(X, y)
    assert net.samples == other.samples
    for name in ("members.places", "members.counts"):  # by the hashes of the samples
        assert torch.equal(net.tensors()[name], other.tensors()[name])
    np.testing.assert_allclose(net.scores(rows), other.scores(rows), atol=1e-8)


def test_changes_after_the_last_snapshot_are_made_again(model, served, three_classes):
    X, y = three_classes(30, seed=1)
    with served(model) as client:
        first = learn(client, X, y, "a").json()
        client.patch("/v1/classes/ant", json={"name": "termite"})
        client.delete("/v1/classes/bee")
        crash(client)
    assert IF2Net.load(model, "cpu").samples == 60
    with served(model) as client:
        assert counts(client) == {"termite": 30, "cat": 30}
        assert client.get("/v1/classes").json()["version"] == 3
        assert learn(client, X, y, "a").json() == first
        assert client.post("/v1/undo").json()["undone"] == 3
        assert counts(client) == {"termite": 30, "cat": 30, "bee": 30}


def test_the_model_equals_one_that_learned_offline(model, served, three_classes):
    batches = [three_classes(), three_classes(30, seed=1), three_classes(9, seed=2)]
    for batch in batches[1:]:
        with served(model) as client:
            learn(client, *batch)
            crash(client)
    with served(model):
        pass
    equals_offline(model, batches, three_classes(50, seed=9)[0])


def test_offline_changes_between_two_runs_stay(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        crash(client)
    net = IF2Net.load(model, "cpu")
    net.learn(*three_classes(15, seed=2)).save(model)
    with served(model) as client:
        assert sum(counts(client).values()) == 60 + 30 + 15


def test_undo_on_the_command_line_leaves_changes_of_a_server_to_it(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        client.get("/v1/model")
        crash(client)
    result = CliRunner().invoke(app, ["undo", str(model)])
    assert "if2net serve" in str(result.exception)
    assert IF2Net.load(model, "cpu").samples == 90


def test_features_leave_the_log_after_two_snapshots(model, served, three_classes):
    X, y = three_classes(30, seed=1)
    with served(model, keep_seconds=0, snapshot_seconds=0.1) as client:
        learn(client, X, y, "a")
        # Read between two snapshots: a snapshot moves content from one file of the log to the other.
        until(lambda: X[0].astype(float).tobytes() not in client.service.call(lambda: log_content(model)).result())
        assert learn(client, X, y, "a").json()["version"] == 1
        assert client.post("/v1/undo").status_code == 409


def test_a_clean_stop_leaves_no_features(model, served, three_classes):
    X, y = three_classes(30, seed=1)
    with served(model) as client:
        learn(client, X, y)
        assert X[0].astype(float).tobytes() in log_content(model)
    assert X[0].astype(float).tobytes() not in log_content(model)
    assert IF2Net.load(model, "cpu").samples == 90
    assert IF2Net.load(kept_file(model), "cpu").samples == 90


def test_features_leave_the_log_although_the_clock_was_set_back(model, served, three_classes, monkeypatch):
    now = time.time()
    clock = [now + 86_400]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    X, y = three_classes(30, seed=1)
    with served(model, keep_seconds=600, snapshot_seconds=0.1) as client:
        learn(client, X, y)
        clock[0] = now
        until(lambda: client.get("/v1/changes").json()[0]["time"] == now)
        assert client.get("/v1/model/info").json()["can_undo"]  # for `keep_seconds` from then on
        clock[0] = now + 600
        until(lambda: X[0].astype(float).tobytes() not in client.service.call(lambda: log_content(model)).result())


def test_a_clean_stop_leaves_no_features_although_the_clock_was_set_back(model, served, three_classes, monkeypatch):
    X, y = three_classes(30, seed=1)
    tomorrow = time.time() + 86_400
    with served(model) as client:
        monkeypatch.setattr(time, "time", lambda: tomorrow)
        learn(client, X, y)
        monkeypatch.undo()
    assert X[0].astype(float).tobytes() not in log_content(model)


@pytest.mark.parametrize("place", [3, 200, -1])
def test_a_damaged_snapshot_is_replaced_by_the_one_before_and_the_log(model, served, three_classes, caplog, place):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1), "a")
        client.get("/v1/model")  # a snapshot
        learn(client, *three_classes(15, seed=2), "b")
        crash(client)
    content = bytearray(model.read_bytes())
    content[place] ^= 1
    model.write_bytes(content)
    with served(model) as client:
        assert sum(counts(client).values()) == 60 + 30 + 15
        assert learn(client, *three_classes(15, seed=2), "b").json()["version"] == 2
    assert "kept as" in caplog.text
    assert len(list(model.parent.glob("model.if2.damaged-*"))) == 1
    assert IF2Net.load(model, "cpu").samples == 105


def test_a_damaged_model_without_an_earlier_one_is_an_error(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
    kept_file(model).unlink()
    model.write_bytes(model.read_bytes()[:-5])
    with pytest.raises(ValueError, match="backup"), served(model):
        pass
    assert model.exists()


def test_the_end_of_a_torn_log_is_ignored(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        wal = Path(f"{model}-log-wal").read_bytes()
        crash(client)
        log = {Path(f"{model}-log{end}"): Path(f"{model}-log{end}").read_bytes() for end in ("", "-wal")}
    for path, content in log.items():
        path.write_bytes(content)
    Path(f"{model}-log-wal").write_bytes(wal + wal[-5000:-100])  # a commit of which only a part reached the disk
    with served(model) as client:
        assert sum(counts(client).values()) == 90


def test_a_damaged_log_is_set_aside_and_the_good_part_is_used(model, served, three_classes, caplog):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        learn(client, *three_classes(15, seed=2))
        crash(client)
    with sqlite3.connect(f"{model}-log") as database:
        database.execute("UPDATE changes SET features = zeroblob(length(features)) WHERE position = 2")
    with served(model) as client:
        assert sum(counts(client).values()) == 90
        assert learn(client, *three_classes(15, seed=2)).json()["version"] == 2
    assert "damaged" in caplog.text
    Path(f"{model}-log").write_bytes(b"no database" * 1000)
    with served(model) as client:
        assert sum(counts(client).values()) == 105
    assert len(list(model.parent.glob("model.if2-log.damaged-*"))) >= 1


@pytest.mark.parametrize("place", [20, 100, 9000])
def test_changes_behind_a_damaged_page_of_the_log_are_missed_loudly(model, served, three_classes, caplog, place):
    with served(model) as client:
        client.get("/v1/model")
        for seed in (1, 2, 3):
            learn(client, *three_classes(15, seed=seed))
        log = {Path(f"{model}-log{end}"): Path(f"{model}-log{end}").read_bytes() for end in ("", "-wal")}
        crash(client)
    for path, content in log.items():
        path.write_bytes(content)
    with served(model) as client:
        assert sum(counts(client).values()) == 105
        crash(client)
    assert "damaged" not in caplog.text
    wal = bytearray(log[Path(f"{model}-log-wal")])
    wal[place] ^= 1
    for path, content in log.items():
        path.write_bytes(content)
    Path(f"{model}-log-wal").write_bytes(wal)
    with served(model) as client:
        assert sum(counts(client).values()) in (60, 75, 90)
    assert "may be lost" in caplog.text
    assert [copy.read_bytes() for copy in model.parent.glob("model.if2-log-wal.damaged-*")] == [wal]


def test_a_log_that_was_about_to_begin_again_is_not_damaged(model, served, three_classes, caplog):
    """A kill between the new head of SQLite's own log and its first page leaves old pages behind the new head."""
    database, wal = (Path(f"{model}-log{end}") for end in ("", "-wal"))
    with served(model) as client:
        client.get("/v1/model")
        learn(client, *three_classes(15, seed=1))
        with closing(sqlite3.connect(database)) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)")
        before = database.read_bytes(), wal.read_bytes()
        learn(client, *three_classes(15, seed=2))
        head = wal.read_bytes()[:32]
        crash(client)
    assert len(before[1]) > 32
    assert head != before[1][:32]
    database.write_bytes(before[0])
    wal.write_bytes(head + before[1][32:])
    with served(model) as client:
        assert sum(counts(client).values()) == 75
    assert "damaged" not in caplog.text


@pytest.mark.parametrize("damage", ["operation = 'leasn'", "samples = 31", "undoes = 1", "key = 'z'"])
def test_every_part_of_a_logged_change_is_checked(model, served, three_classes, caplog, damage):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1), "a")
        learn(client, *three_classes(15, seed=2), "b")
        crash(client)
    with sqlite3.connect(f"{model}-log") as database:
        database.execute(f"UPDATE changes SET {damage} WHERE position = 2")
    with served(model) as client:
        assert sum(counts(client).values()) == 90
    assert "The change 2 in the log" in caplog.text


def test_a_log_with_a_damaged_index_is_set_aside_after_its_changes_are_made(model, served, three_classes, caplog):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1), "a")
        crash(client)
    with sqlite3.connect(f"{model}-log") as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'whole'")
    with served(model) as client:
        assert sum(counts(client).values()) == 90
        assert learn(client, *three_classes(15, seed=2), "b").json()["samples"] == 105
    assert "damaged" in caplog.text


def test_a_log_without_its_columns_is_set_aside(model, served, three_classes, caplog):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        client.get("/v1/model")
        crash(client)
    with sqlite3.connect(f"{model}-log") as database:
        database.execute("ALTER TABLE changes RENAME COLUMN labels TO label")
    with served(model) as client:
        assert sum(counts(client).values()) == 90
        assert client.get("/v1/changes").status_code == 200
    assert "damaged" in caplog.text


def test_a_link_to_the_model_shares_its_log(model, served, three_classes):
    link = model.parent / "links" / "birds.if2"
    link.parent.mkdir()
    link.symlink_to(model)
    with served(link) as client:
        assert client.get("/v1/model/info").json()["name"] == "birds"
        learn(client, *three_classes(30, seed=1))
        crash(client)
    with served(model) as client:
        assert sum(counts(client).values()) == 90


def test_an_error_that_nobody_expected_changes_nothing(model, served, three_classes, monkeypatch):
    X, y = three_classes(30, seed=1)
    with served(model) as client:
        with monkeypatch.context() as patch:
            patch.setattr(IF2Net, "solve", lambda *_, **__: 1 / 0)
            refused = learn(client, X, y)
        assert refused.status_code == 500
        assert "nothing was changed" in refused.json()["error"]
        assert sum(counts(client).values()) == 60
        assert learn(client, X, y).json()["samples"] == 90


def test_the_log_of_another_model_is_not_used(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        crash(client)
    IF2Net(width=60, device="cpu").learn(*three_classes(12, seed=5)).save(model)
    with pytest.raises(OutputError, match="another model"), served(model):
        pass


def test_a_model_that_is_gone_is_not_begun_anew(model, served, three_classes):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
    model.unlink()
    with pytest.raises(ValueError, match="missing"), served(model):
        pass


def test_a_full_disk_refuses_changes_and_predictions_go_on(model, served, three_classes, monkeypatch):
    X, y = three_classes(30, seed=1)
    with served(model) as client:
        learn(client, X, y, "a")
        full = lambda *_: (_ for _ in ()).throw(sqlite3.OperationalError("database or disk is full"))  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr(Change, "content", full)
            refused = learn(client, X - 9, y, "b")
            assert refused.status_code == 507
            assert "free some space" in refused.json()["error"]
            assert client.post("/v1/predict", json={"rows": X[:1].tolist()}).json()["version"] == 1
        with monkeypatch.context() as patch:
            patch.setattr(store.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
            assert learn(client, X - 9, y, "b").status_code == 507
        assert learn(client, X - 9, y, "b").json()["samples"] == 120
        crash(client)
    with served(model) as client:
        assert sum(counts(client).values()) == 120
        assert client.get("/v1/classes").json()["version"] == 2


def test_a_snapshot_that_cannot_be_written_is_written_later(model, served, three_classes, monkeypatch, caplog):
    X, y = three_classes(30, seed=1)
    with served(model, snapshot_seconds=0.1) as client:

        def fail(*_, **__):
            raise OutputError("The disk is full.")

        monkeypatch.setattr(IF2Net, "save", fail)
        learn(client, X, y)
        until(lambda: "A snapshot could not be written" in caplog.text)
        assert client.post("/v1/predict", json={"rows": X[:1].tolist()}).status_code == 200
        monkeypatch.undo()
    assert IF2Net.load(model, "cpu").samples == 90


def test_a_download_says_that_the_disk_is_full(model, served, three_classes, monkeypatch):
    with served(model) as client:
        learn(client, *three_classes(30, seed=1))
        with monkeypatch.context() as patch:
            patch.setattr("if2net.files.os.fsync", full_disk)
            answer = client.get("/v1/model")
        assert answer.status_code == 507
        assert "space" in answer.json()["error"]
        assert client.get("/v1/model").status_code == 200


@pytest.fixture
def merge_without_second_snapshot(model, three_classes, monkeypatch):
    """Return a function that asks for a merge, whose second snapshot fails because the disk is full."""
    other = IF2Net.load(model, "cpu").fork().learn(*three_classes(15, seed=2))
    other.save(model.parent / "other.if2")
    content, save = (model.parent / "other.if2").read_bytes(), IF2Net.save

    def merge(client, headers=None):
        saves = []

        def fail_second(self, *arguments, **options):
            saves.append(self)
            if len(saves) == 2:
                raise OutputError("The disk is full.")
            save(self, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(IF2Net, "save", fail_second)
            assert client.post("/v1/merge", content=content, headers=headers).status_code == 507
        return content

    return merge


def test_a_merge_whose_second_snapshot_fails_is_there_as_a_whole(
    model, served, three_classes, merge_without_second_snapshot
):
    with served(model) as client:
        content = merge_without_second_snapshot(client, {"Idempotency-Key": "m"})
        retried = client.post("/v1/merge", content=content, headers={"Idempotency-Key": "m"}).json()
        assert (retried["version"], retried["samples"]) == (1, 75)
        assert client.get("/v1/classes").json()["version"] == 1
        assert sum(counts(client).values()) == 75
        assert learn(client, *three_classes(30, seed=1)).json()["version"] == 2


@pytest.mark.parametrize("restarted", [True, False])
def test_a_merge_whose_second_snapshot_failed_gets_it_later(
    model, served, three_classes, merge_without_second_snapshot, restarted
):
    with served(model) as client:
        merge_without_second_snapshot(client)
        if not restarted:
            learn(client, *three_classes(30, seed=1))
        crash(client)
    if restarted:
        with served(model) as client:
            learn(client, *three_classes(30, seed=1))
            crash(client)
    model.write_bytes(b"damaged")
    with served(model) as client:
        assert sum(counts(client).values()) == 60 + 15 + 30
        assert [learn(client, *three_classes(3, seed=seed)).status_code for seed in (3, 4)] == [200, 200]


def test_a_read_only_folder_is_an_error_at_the_start(model, served, monkeypatch):
    monkeypatch.setattr("if2net.files.os.access", lambda *_: False)  # the tests may run as root
    with pytest.raises(OutputError), served(model):
        pass


def test_two_servers_cannot_write_one_model(model, served):
    with served(model), pytest.raises(InUseError), served(model):
        pass


def test_a_reader_follows_the_model(model, served, three_classes):
    with served(model, read_only=True) as reader:
        with served(model) as client:
            learn(client, *three_classes(30, seed=1))
            assert learn(reader, *three_classes(3, seed=2)).status_code == 403
            client.get("/v1/model")
            until(lambda: reader.get("/v1/classes").json()["version"] == 1)
            assert sum(counts(reader).values()) == 90
        assert reader.get("/v1/model").status_code == 200
        predictions = reader.post("/v1/predict", json={"rows": three_classes(3)[0].tolist(), "unknown": 0.05})
        assert predictions.status_code == 200


def test_a_reader_that_derives_novelty_still_follows_the_model(model, served, three_classes, monkeypatch):
    solve, begun, go_on = IF2Net.solve, threading.Event(), threading.Event()

    def slow(net, *, novelty=False):
        if novelty:
            begun.set()
            go_on.wait()
        return solve(net, novelty=novelty)

    with served(model, read_only=True) as reader, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(IF2Net, "solve", slow)
        question = {"rows": three_classes(3)[0].tolist(), "unknown": 0.3}
        asked = pool.submit(reader.post, "/v1/predict", json=question)
        begun.wait()
        IF2Net.load(model, "cpu").learn(*three_classes(300, seed=1)).save(model)
        until(lambda: reader.service._signature() == reader.service._seen)
        threading.Event().wait(0.3)  # the new file is loaded meanwhile
        go_on.set()
        assert asked.result().status_code == 409  # the model that was asked has too few samples
        until(lambda: sum(counts(reader).values()) == 360, seconds=20)
        assert reader.post("/v1/predict", json=question).status_code == 200


def test_a_reader_follows_to_a_model_without_novelty(model, served, three_classes):
    net = IF2Net(width=60, device="cpu").learn(*three_classes(300))
    net.save(model)
    with served(model, read_only=True) as reader:
        question = {"rows": three_classes(3)[0].tolist(), "unknown": 0.3}
        assert reader.post("/v1/predict", json=question).status_code == 200
        net.learn(*three_classes(30, seed=1)).rename("ant", "termite").predictor().save(model)
        until(lambda: "termite" in counts(reader), seconds=20)
        assert reader.post("/v1/predict", json=question).status_code == 409


def test_a_reader_takes_pictures_when_a_model_of_pictures_appears(tmp_path, served, caplog):
    model, other = tmp_path / "pets.if2", tmp_path / "other.if2"
    for path, backbone in ((other, "pixels,size=8,flip=yes"), (model, "pixels,size=8")):
        with served(path, rows=False, backbone=backbone) as client:
            for name in ("red", "blue"):
                client.post("/v1/learn", files=picture(name), data={"label": name})
    waiting = model.rename(tmp_path / "waiting.if2")
    with served(model, rows=False, read_only=True) as reader:
        assert reader.post("/v1/predict", files=picture("red")).status_code == 422
        waiting.rename(model)
        until(lambda: len(counts(reader)) == 2)
        answer = reader.post("/v1/predict", files=picture("red")).json()
        assert answer["predictions"][0]["label"] == "red"
        other.replace(model)  # whose features have the same number but mean something else
        until(lambda: "restart the server" in caplog.text)
        assert reader.get("/v1/model/info").json()["backbone"] == "pixels,size=8"
        again = reader.post("/v1/predict", files=picture("red")).json()
        assert again["predictions"][0]["probability"] == answer["predictions"][0]["probability"]


def test_keys_are_forgotten_after_their_time(model, served, three_classes):
    X, y = three_classes(30, seed=1)
    with served(model, key_days=0, keep_seconds=0, snapshot_seconds=0.1) as client:
        learn(client, X, y, "a")
        until(lambda: client.get("/v1/changes").json() == [])
        assert client.get("/v1/classes").json()["version"] == 1


def test_an_interrupted_append_leaves_nothing(tmp_path):
    log = ChangeLog(tmp_path / "log")
    change = Change(LEARN, ("a",), np.zeros((1, 3), np.float32))

    class Broken(Change):
        def content(self):
            raise RuntimeError

    entries = [Entry(change, "a", b"", {}), Entry(Broken(LEARN), "b", b"", {})]
    with pytest.raises(RuntimeError):
        log.append(1, entries)
    assert log.last == 0
    log.append(1, entries[:1])
    assert [position for position, _ in log.after(0)] == [1]


def test_a_service_that_could_not_start_lets_others_use_the_file(model, served):
    service = Service(model, Settings(rows=True, backbone="pixels", device="cpu"))
    with pytest.raises(ValueError, match="backbone"):
        service.start()
    service.stop()
    with served(model):
        pass


# ---------------------------------------------------------------------- kills


class Client(threading.Thread):
    """Teaches one sample at a time, and repeats each request until it is answered."""

    def __init__(self, port, number, stop):
        super().__init__(daemon=True)
        self.port, self.number, self.stop = port, number, stop
        self.random = np.random.default_rng(number)
        self.learned, self.failures = [], []

    def run(self):
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30) as client:
            while not self.stop.is_set():
                label = ("ant", "bee", "cat")[len(self.learned) % 3]
                row = (self.random.normal(size=5) + 4 * (len(self.learned) % 3)).astype(np.float32)
                headers = {"Authorization": "Bearer write", "Idempotency-Key": uuid.uuid4().hex}
                while True:
                    try:
                        body = {"rows": [row.tolist()], "labels": [label]}
                        answer = client.post("/v1/learn", json=body, headers=headers)
                    except httpx.TransportError:
                        self.stop.wait(0.02)
                        continue
                    if answer.status_code == 200:
                        self.learned.append((row, label))
                        break
                    if answer.status_code != 503:
                        self.failures.append(answer.text)
                        return


def kill_often(process, model, three_classes, kills, clients=8):
    """Kill a server at random moments while clients teach it, and compare it with a model learned offline."""
    server = process(model, "--snapshot-seconds", 0.5, "--keep-seconds", 0)
    stop, chance = threading.Event(), np.random.default_rng(0)
    threads = [Client(server.port, number, stop) for number in range(clients)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        threading.Event().wait(chance.uniform(0.05, 1.5))
        server.kill()
        server.start()
        if chance.random() < 0.7:  # otherwise it is killed while it starts
            server.wait()
    server.wait()
    stop.set()
    for thread in threads:
        thread.join()
        assert not thread.failures
    assert server.stop() == 0
    assert "damaged" not in server.log.read_text()
    learned = [sample for thread in threads for sample in thread.learned]
    rows, labels = np.array([row for row, _ in learned]), np.array([label for _, label in learned])
    equals_offline(model, [three_classes(), (rows, labels)], three_classes(50, seed=9)[0])
    return len(learned)


def test_a_server_keeps_all_answered_samples_through_3_kills(process, model, three_classes):
    assert kill_often(process, model, three_classes, 3) > 3


@pytest.mark.attack
def test_a_server_keeps_all_answered_samples_through_200_kills(process, model, three_classes):
    assert kill_often(process, model, three_classes, 200) > 200


@pytest.mark.parametrize("rows", [False, True])
def test_settings_that_do_not_fit_the_model_change_no_file(rows, model, three_classes):
    IF2Net(width=20, device="cpu").learn(*three_classes()).save(model)
    before = model.read_bytes()
    service = Service(model, Settings(rows=rows, backbone="innate", device="cpu"))
    with pytest.raises(InputError, match="takes rows of numbers"):
        service.start()
    service.stop()
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]
