"""Predictions together and alone, and while the model learns."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from if2net.learner import IF2Net
from if2net.server.batching import Batches
from if2net.server.predicting import Question, predict
from if2net.server.refusal import Refusal
from if2net.server.service import Published


@pytest.fixture
def published(three_classes):
    return Published.of(IF2Net(width=300, device="cpu").learn(*three_classes()), 1, True)


def test_predictions_have_the_same_bits_together_and_alone(published, three_classes):
    X, _ = three_classes(300, seed=4)
    parts = np.split(X, [1, 2, 60])
    questions = [Question(published, rows, share) for rows in parts for share in (None, 0.05)]
    together = predict(questions)
    for question, answer in zip(questions, together, strict=True):
        alone = predict([question])[0]
        np.testing.assert_array_equal(alone.probabilities, answer.probabilities)
        np.testing.assert_array_equal(alone.is_unknown, answer.is_unknown)


def test_bad_samples_of_one_request_do_not_spoil_others(published, three_classes):
    X, _ = three_classes(2, seed=4)
    for rows in (np.full((1, 5), np.nan), np.zeros((1, 4))):
        good, bad = predict([Question(published, X), Question(published, rows)])
        assert len(good.probabilities) == 2
        assert isinstance(bad, Refusal)


def test_waiting_items_are_computed_together():
    sizes = []

    def double(items):
        sizes.append(len(items))
        time.sleep(0.05)
        return [ValueError() if item < 0 else 2 * item for item in items]

    async def work():
        with ThreadPoolExecutor(1) as executor:
            batches = Batches(double, lambda _: 1, 4, executor)
            return await asyncio.gather(*(batches(item) for item in (*range(8), -1)), return_exceptions=True)

    with ThreadPoolExecutor(1) as thread:  # in this one, the browser of other tests may have an event loop
        *results, error = thread.submit(lambda: asyncio.run(work())).result()
    assert results == [0, 2, 4, 6, 8, 10, 12, 14]
    assert isinstance(error, ValueError)
    assert sizes == [4, 4, 1]


def test_predictions_do_not_wait_for_learning(model, served, three_classes, monkeypatch):
    X, y = three_classes(30, seed=1)
    learn, begun, release = IF2Net.learn, threading.Event(), threading.Event()

    def slow(self, *arguments):
        begun.set()
        release.wait(30)
        return learn(self, *arguments)

    with served(model) as client, ThreadPoolExecutor(1) as executor:
        monkeypatch.setattr(IF2Net, "learn", slow)
        body = {"rows": X.tolist(), "labels": y.tolist()}
        learning = executor.submit(client.post, "/v1/learn", json=body)
        assert begun.wait(30)
        answer = client.post("/v1/predict", json={"rows": X[:1].tolist()})
        release.set()
        assert answer.json()["version"] == 0
        assert learning.result().json()["version"] == 1


def test_requests_of_many_clients_get_their_own_answers(client, three_classes):
    X, y = three_classes(240, seed=6)
    with ThreadPoolExecutor(8) as executor:
        answers = executor.map(lambda row: client.post("/v1/predict", json={"rows": [row]}).json(), X.tolist())
    assert [answer["predictions"][0]["label"] for answer in answers] == y.tolist()


def test_the_log_and_the_metrics_have_the_route_of_a_refused_request(client, caplog):
    with caplog.at_level("INFO", "if2net.server"):
        client.post("/v1/learn", headers={"Authorization": "Bearer wrong"})
        client.delete("/v1/classes/a%20secret", headers={"Authorization": ""})
        client.post("/no/such/address", headers={"Authorization": ""})
    words = [record.getMessage().split()[:3] for record in caplog.records if record.name == "if2net.server"]
    assert words == [
        ["POST", "/v1/learn", "403"],
        ["DELETE", "/v1/classes/{name:label}", "401"],
        ["POST", "other", "401"],
    ]
    assert 'requests_total{method="POST",route="/v1/learn",status="403"} 1.0' in client.get("/metrics").text


def test_metrics_count_requests_and_changes(client, three_classes):
    X, y = three_classes(30, seed=1)
    client.post("/v1/learn", json={"rows": X.tolist(), "labels": y.tolist()})
    client.post("/v1/predict", json={"rows": X[:1].tolist()})
    text = client.get("/metrics").text
    assert 'if2net_requests_total{method="POST",route="/v1/predict",status="200"} 1.0' in text
    for line in ("if2net_version 1.0", "if2net_classes 3.0", "if2net_samples 90.0", "if2net_log_entries 1.0"):
        assert line in text
