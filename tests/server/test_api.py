"""The routes for people: what they answer, and what they refuse."""

import io
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from waiting import until

from if2net import modelfile
from if2net.learner import IF2Net


@pytest.fixture
def more(three_classes):
    return three_classes(30, seed=1)


def learn(client, X, y, key=None, route="learn"):
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(f"/v1/{route}", json={"rows": X.tolist(), "labels": list(y)}, headers=headers)


def counts(client):
    return {entry["name"]: entry["samples"] for entry in client.get("/v1/classes").json()["classes"]}


def test_new_classes_are_learned_and_predicted_at_once(client, more):
    X, _ = more
    answer = learn(client, X - 30, ["dog"] * 30).json()
    assert (answer["learned"], answer["classes"], answer["samples"], answer["version"]) == (30, 4, 90, 1)
    predictions = client.post("/v1/predict", json={"rows": (X[:2] - 30).tolist(), "top": 2}).json()
    assert predictions["version"] == 1
    assert [prediction["label"] for prediction in predictions["predictions"]] == ["dog", "dog"]
    assert [len(prediction["top"]) for prediction in predictions["predictions"]] == [2, 2]
    assert counts(client) == {"ant": 20, "bee": 20, "cat": 20, "dog": 30}


def test_a_retry_gets_the_first_answer_and_counts_once(client, more):
    first = learn(client, *more, key="k")
    assert learn(client, *more, key="k").json() == first.json()
    assert sum(counts(client).values()) == 90
    other = learn(client, more[0] + 1, more[1], key="k")
    assert other.status_code == 422
    assert "another request" in other.json()["error"]
    assert learn(client, *more, key="k", route="forget").status_code == 422


def test_a_retry_that_comes_before_the_first_answer_counts_once(client, more):
    begun, release = threading.Event(), threading.Event()
    client.service.call(lambda: (begun.set(), release.wait(30)))  # both requests wait together
    assert begun.wait(30)
    with ThreadPoolExecutor(2) as executor:
        answers = [executor.submit(learn, client, *more, key="k") for _ in range(2)]
        while len(client.service._jobs) < 2:
            time.sleep(0.01)
        release.set()
        first, second = (answer.result().json() for answer in answers)
    assert first == second
    assert sum(counts(client).values()) == 90


def test_a_predicted_sample_is_learned_by_its_id(client, more):
    name = client.post("/v1/predict", json={"rows": more[0][:1].tolist()}).json()["predictions"][0]["id"]
    assert client.post("/v1/learn", json={"ids": [name], "labels": ["new"]}).json()["learned"] == 1
    assert counts(client)["new"] == 1
    assert client.post("/v1/learn", json={"ids": ["unknown"], "labels": ["new"]}).status_code == 404


def test_ids_are_forgotten_after_their_time(model, served, more):
    with served(model, remember_seconds=0) as client:
        name = client.post("/v1/predict", json={"rows": more[0][:1].tolist()}).json()["predictions"][0]["id"]
        assert client.post("/v1/learn", json={"ids": [name], "labels": ["new"]}).status_code == 404


def test_forgetting_is_exact_and_refuses_what_was_not_learned(client, more):
    before = client.post("/v1/predict", json={"rows": more[0].tolist()}).json()["predictions"]
    learn(client, *more)
    assert learn(client, *more, route="forget").json()["forgotten"] == 30
    refused = learn(client, *more, route="forget")
    assert refused.status_code == 409
    assert "never learned" in refused.json()["error"]
    after = client.post("/v1/predict", json={"rows": more[0].tolist()}).json()["predictions"]
    assert [one["label"] for one in after] == [one["label"] for one in before]
    assert sum(counts(client).values()) == 60


def test_each_change_can_be_taken_back(client, more):
    states = [counts(client)]
    changes = [
        lambda: learn(client, *more),
        lambda: learn(client, *more, route="forget"),
        lambda: client.patch("/v1/classes/bee", json={"name": "bumblebee"}),
        lambda: client.delete("/v1/classes/bumblebee"),
        lambda: learn(client, more[0] - 30, ["dog"] * 30),
    ]
    for change in changes:
        assert change().status_code == 200
        states.append(counts(client))
    for state in states[-2::-1]:
        assert client.get("/v1/model/info").json()["can_undo"]
        assert client.post("/v1/undo").status_code == 200
        assert counts(client) == state
    assert not client.get("/v1/model/info").json()["can_undo"]
    assert client.post("/v1/undo").status_code == 409
    listed = client.get("/v1/changes?limit=100").json()
    assert [entry["version"] for entry in listed] == list(range(10, 0, -1))
    assert [entry["undone"] for entry in listed] == [False] * 5 + [True] * 5
    assert [entry["undoes"] for entry in listed] == [1, 2, 3, 4, 5] + [None] * 5


def test_the_columns_of_the_classes_are_the_order_in_which_they_came(client, more):
    X, _ = more
    learn(client, X[:15], ["aardvark"] * 15)
    columns = {entry["name"]: entry["column"] for entry in client.get("/v1/classes").json()["classes"]}
    assert columns == {"ant": 0, "bee": 1, "cat": 2, "aardvark": 3}


def test_a_forgotten_class_comes_back_with_the_same_predictions(client, more):
    rows = {"rows": more[0].tolist()}
    before = client.post("/v1/predict", json=rows).json()["predictions"]
    client.delete("/v1/classes/bee")
    client.post("/v1/undo")
    after = client.post("/v1/predict", json=rows).json()["predictions"]
    assert [one["top"] for one in after] == [one["top"] for one in before]


def test_numbers_stay_numbers_in_addresses_and_tables(tmp_path, served, more):
    table = "x,z,label\n" + "".join(f"{row},{row % 3},{row % 3}\n" for row in range(30))
    csv = {"Content-Type": "text/csv"}
    with served(tmp_path / "new.if2") as client:
        assert client.post("/v1/learn", content=table, headers=csv).json()["classes"] == 3
        assert counts(client) == {0: 10, 1: 10, 2: 10}
        assert client.get("/v1/model/info").json()["feature_names"] == ["x", "z"]
        assert client.patch("/v1/classes/2", json={"name": 7}).status_code == 200
        assert set(counts(client)) == {0, 1, 7}
        reordered = "more,z,x\n1,0,3\n"
        assert len(client.post("/v1/predict", content=reordered, headers=csv).json()["predictions"]) == 1
        assert "missing" in client.post("/v1/predict", content="x\n1\n", headers=csv).json()["error"]


def test_two_first_tables_with_other_orders_of_columns_are_not_mixed(tmp_path, served):
    tables = ["width,height,label\n1,5,a\n2,6,b\n", "height,width,label\n5,3,a\n6,4,b\n"]

    def teach(table):
        return client.post("/v1/learn", content=table, headers={"Content-Type": "text/csv"})

    with served(tmp_path / "new.if2") as client, ThreadPoolExecutor(2) as pool:
        begun, go_on = threading.Event(), threading.Event()
        client.service.call(lambda: (begun.set(), go_on.wait()))
        begun.wait()
        asked = []
        for place, table in enumerate(tables, 1):
            asked.append(pool.submit(teach, table))
            until(lambda place=place: len(client.service._jobs) == place)
        go_on.set()
        assert [one.result().status_code for one in asked] == [200, 503]
        assert teach(tables[1]).json()["samples"] == 4
        features = [change.features.tolist() for _, change in client.service._store.log.after(0)]
        assert features == [[[1, 5], [2, 6]], [[3, 5], [4, 6]]]


def test_unknown_samples_have_no_label(tmp_path, served, three_classes):
    X, y = three_classes(600, seed=3)
    with served(tmp_path / "new.if2") as client:
        learn(client, X[:6], y[:6])
        refused = client.post("/v1/predict", json={"rows": X[:1].tolist(), "unknown": 0.05})
        assert refused.status_code == 409
        assert "held out" in refused.json()["error"]
        learn(client, X[6:], y[6:])
        rows = np.concatenate([X[:20], np.full((1, 5), 500.0)])
        predictions = client.post("/v1/predict", json={"rows": rows.tolist(), "unknown": 0.05}).json()["predictions"]
        assert predictions[-1]["unknown"]
        assert predictions[-1]["label"] is None
        assert sum(one["unknown"] for one in predictions[:-1]) <= 5


def test_a_downloaded_model_has_everything_and_can_be_merged_back(client, more, tmp_path):
    learn(client, *more)
    path = tmp_path / "copy.if2"
    answer = client.get("/v1/model")
    path.write_bytes(answer.content)
    net = IF2Net.load(path, "cpu")
    assert answer.headers["x-model-version"] == "1"
    assert net.samples == 90
    fork = net.fork().learn(more[0] - 30, ["dog"] * 30)
    fork.save(path)
    assert client.post("/v1/merge", content=path.read_bytes()).json()["merged"] == 30
    assert counts(client)["dog"] == 30
    assert client.post("/v1/merge", content=path.read_bytes()).status_code == 409
    assert client.post("/v1/undo").status_code == 409
    assert client.post("/v1/merge", content=b"no model").status_code == 422
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    assert "checksum" in client.post("/v1/merge", content=bytes(damaged)).json()["error"]
    tensors, header = modelfile.read(path)
    modelfile.write(path, tensors | {"total.G": tensors["total.G"] * -1}, header | {"identity": "another"})
    refused = client.post("/v1/merge", content=path.read_bytes())
    assert (refused.status_code, "not those of any samples" in refused.json()["error"]) == (422, True)
    assert counts(client)["dog"] == 30


def test_an_empty_model_says_that_it_has_learned_nothing(tmp_path, served):
    with served(tmp_path / "new.if2") as client:
        assert not client.get("/v1/model/info").json()["learned"]
        assert client.post("/v1/predict", json={"rows": [[1, 2]]}).status_code == 409
        assert client.get("/v1/model").status_code == 409
        assert client.get("/v2/models/new/ready").status_code == 503
        assert client.get("/v2/health/ready").status_code == 200
        assert client.post("/v1/undo").status_code == 409


def test_a_model_that_has_forgotten_everything_learns_again(client, three_classes):
    X, y = three_classes()
    assert learn(client, X, y, route="forget").json()["samples"] == 0
    assert client.post("/v1/predict", json={"rows": X[:1].tolist()}).status_code == 409
    assert learn(client, X, y).json()["samples"] == 60


def test_a_class_whose_name_is_not_valid_text_is_answered(tmp_path, served, more):
    path, name = tmp_path / "folders.if2", "caf\udce9"  # the name of a folder in Latin-1
    IF2Net(width=60, device="cpu").learn(more[0], [name] * 15 + ["tea"] * 15).save(path)
    with served(path) as client:
        assert counts(client) == {name: 15, "tea": 15}
        body = json.dumps({"rows": more[0][:1].tolist(), "labels": [name]})  # in ASCII, as many clients send it
        client.post("/v1/learn", content=body, headers={"Content-Type": "application/json"})
        assert client.get("/v1/changes").json()[0]["labels"] == [name]
        assert len(client.post("/v1/predict", json={"rows": more[0].tolist()}).json()["predictions"]) == 30
        assert "Known" in client.delete("/v1/classes/coffee").json()["error"]


BAD = [
    ("{", 400),
    ("[]", 422),
    ("[" * 100_000, 400),
    ('{"rows": [[1, 2, 3, 4, 5]]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": []}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": [null]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": [""]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": [["a"]]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": [".."]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": [3]}', 422),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": ["%s"]}' % ("x" * 201), 422),
    ('{"rows": [[1, 2, 3, 4, NaN]], "labels": ["a"]}', 400),
    ('{"rows": [[1, 2, 3, 4, 1e999]], "labels": ["a"]}', 422),
    ('{"rows": [[1, 2, 3, 4, 1e30]], "labels": ["a"]}', 422),
    ('{"rows": [[1, 2, 3, 4, "5"]], "labels": ["a"]}', 422),
    ('{"rows": [[1, 2, 3, 4]], "labels": ["a"]}', 422),
    ('{"rows": [[1, 2], [3]], "labels": ["a", "b"]}', 422),
    ('{"rows": [], "labels": []}', 422),
    ('{"rows": [[]], "labels": ["a"]}', 422),
    ('{"rows": 1, "labels": ["a"]}', 422),
    ('{"rows": [[%s]], "labels": ["a"]}' % ("9" * 5000), 400),
    ('{"rows": [[1, 2, 3, 4, 5]], "labels": ["a"], "more": 1}', 422),
    ('{"ids": [1], "labels": ["a"]}', 422),
]


@pytest.mark.parametrize(("text", "status"), BAD)
def test_bad_json_is_refused_with_a_sentence_and_changes_nothing(steady, text, status):
    answer = steady.post("/v1/learn", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["error"].endswith((".", ")"))
    assert steady.get("/v1/classes").json()["version"] == 0


@pytest.mark.parametrize(
    "table", ["", "a,b", "a,a\n1,2\n", "a,b,label\n1,2\n", "a,label\nx,y\n", "a,label\n1_0,y\n", "\xff"]
)
def test_bad_tables_are_refused(steady, table):
    content = table.encode("latin-1")
    answer = steady.post("/v1/learn", content=content, headers={"Content-Type": "text/csv"})
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


def test_texts_in_place_of_numbers_take_no_memory(steady):
    texts = ["x" * 1_000_000] + ["y"] * 1_000_000  # NumPy would make an array of 4 TB of them
    tensor = {"name": "input", "shape": [1, len(texts)], "datatype": "FP32", "data": texts}
    assert steady.post("/v1/predict", json={"rows": [texts]}).status_code == 422
    assert steady.post("/v2/models/model/infer", json={"inputs": [tensor]}).status_code == 400


def test_a_table_of_many_columns_is_read_in_a_moment(steady):
    columns = 30_000
    table = ",".join(map(str, range(columns))) + "\n" + ",".join("1" * columns) + "\n"
    start = time.process_time()
    assert steady.post("/v1/predict", content=table, headers={"Content-Type": "text/csv"}).status_code == 422
    assert time.process_time() - start < 2


def test_other_kinds_of_bodies_and_addresses_are_refused(client):
    assert client.post("/v1/learn", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    for method, path, status in (("GET", "/v3", 404), ("PUT", "/v1/learn", 405), ("GET", "/v1/changes?limit=0", 422)):
        answer = client.request(method, path)
        assert answer.status_code == status
        assert answer.json()["error"]


def png(colour, size=24):
    file = io.BytesIO()
    Image.new("RGB", (size, size), colour).save(file, "PNG")
    return file.getvalue()


def test_pictures_are_taught_and_recognised(tmp_path, served):
    with served(tmp_path / "pets.if2", rows=False, backbone="pixels,size=8") as client:
        assert client.get("/v1/model/info").json()["takes"] == "pictures"
        for name in ("red", "blue"):
            pictures = [("files", (f"{size}.png", png(name, size))) for size in range(20, 30)]
            pictures.append(("files", ("broken.png", b"no picture")))
            answer = client.post("/v1/learn", files=pictures, data={"label": name}).json()
            assert answer["learned"] == 10
            assert [one["name"] for one in answer["left_out"]] == ["broken.png"]
        asked = [("files", ("../../etc/passwd", png("darkred"))), ("files", ("b.png", png("navy")))]
        predictions = client.post("/v1/predict?top=1", files=asked).json()["predictions"]
        assert [(one["label"], one["name"]) for one in predictions] == [
            ("red", "../../etc/passwd"),
            ("blue", "b.png"),
        ]
        assert client.post("/v1/predict", files=[("files", ("x", b"x"))]).status_code == 422
        assert client.post("/v1/predict", json={"rows": [[1.0]]}).status_code == 422
        ids = [one["id"] for one in predictions]
        assert client.post("/v1/learn", json={"ids": ids, "labels": ["red", "blue"]}).json()["samples"] == 22
    with served(tmp_path / "pets.if2", rows=False) as client:
        assert counts(client) == {"blue": 11, "red": 11}
        assert client.get("/v1/model/info").json()["backbone"] == "pixels,size=8"


def test_rows_that_are_pictures_themselves_are_never_logged(tmp_path, served):
    path = tmp_path / "small.if2"
    random = np.random.default_rng(0)
    X = random.integers(0, 256, (20, 8, 8))
    IF2Net(encoder="innate", width=0, device="cpu").learn(X.astype(np.uint8), np.arange(20) % 2).save(path)
    with served(path) as client:
        rows = random.integers(0, 256, (4, 64))
        assert learn(client, rows, [0, 1, 0, 1], key="k").json()["samples"] == 24
        with open(f"{path}-log", "rb") as log, open(f"{path}-log-wal", "rb") as more:
            content = log.read() + more.read()
        assert rows[0].astype(np.float32).tobytes() not in content
        assert IF2Net.load(path, "cpu").samples == 24
        assert learn(client, rows, [0, 1, 0, 1], key="k").json()["version"] == 1
        assert not client.get("/v1/model/info").json()["can_undo"]


@pytest.mark.parametrize("name", ["a/b", "a\nb", "b\n", "a?b#c", "../x", "😀", " x ", "__proto__", "a\x00b"])
def test_classes_of_any_name_are_renamed_and_forgotten(client, more, name):
    learn(client, more[0][:3], [name] * 3)
    address = f"/v1/classes/{quote(name, safe='')}"
    assert client.patch(address, json={"name": "other"}).status_code == 200
    client.post("/v1/undo")
    assert counts(client)[name] == 3
    assert client.delete(address).status_code == 200
    assert name not in counts(client)
