"""Foreign clients: the Open Inference Protocol by Triton's client, and the OpenAPI document by schemathesis."""

import json

import numpy as np
import pytest

from if2net.learner import IF2Net


def test_tritons_client_gets_predictions(process, model, three_classes):
    triton = pytest.importorskip("tritonclient.http")
    X, y = three_classes(20, seed=3)
    server = process(model)
    client = triton.InferenceServerClient(f"127.0.0.1:{server.port}")
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("model")
    metadata = client.get_model_metadata("model")
    assert metadata["inputs"] == [{"name": "input", "datatype": "FP32", "shape": [-1, 5]}]
    for binary in (True, False):
        given = triton.InferInput("input", list(X.shape), "FP32")
        given.set_data_from_numpy(X, binary_data=binary)
        wanted = [triton.InferRequestedOutput(name, binary_data=binary) for name in ("label", "probabilities")]
        result = client.infer("model", [given], outputs=wanted)
        labels = result.as_numpy("label")
        assert [label.decode() if isinstance(label, bytes) else label for label in labels.tolist()] == y.tolist()
        expected = IF2Net.load(model, "cpu").probabilities(X).numpy().astype(np.float32)
        np.testing.assert_allclose(result.as_numpy("probabilities"), expected, rtol=1e-6)
    result = client.infer("model", [given], request_id="7")
    assert result.get_response()["id"] == "7"
    assert len(result.as_numpy("label")) == 20
    with pytest.raises(triton.InferenceServerException, match="no such model"):
        client.infer("other", [given])
    client.close()


INPUT = {"name": "input", "shape": [1, 5], "datatype": "FP32", "data": [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    "request_",
    [
        {},
        [],
        {"inputs": []},
        {"inputs": [INPUT, INPUT]},
        {"inputs": [{**INPUT, "name": "x"}]},
        {"inputs": [{**INPUT, "datatype": "BYTES"}]},
        {"inputs": [{**INPUT, "datatype": []}]},
        {"inputs": [{**INPUT, "shape": [1, 4]}]},
        {"inputs": [{**INPUT, "shape": [-1, -5]}]},
        {"inputs": [{**INPUT, "shape": [5]}]},
        {"inputs": [{**INPUT, "data": ["a"] * 5}]},
        {"inputs": [{**INPUT, "data": [[1], [2, 3]]}]},
        {"inputs": [{key: value for key, value in INPUT.items() if key != "data"}]},
        {"inputs": [INPUT], "outputs": [{"name": "x"}]},
        {"inputs": [INPUT], "outputs": [1]},
        {"inputs": [INPUT], "id": 7},
    ],
)
def test_wrong_inferences_are_refused_with_a_sentence(steady, request_):
    answer = steady.post("/v2/models/model/infer", json=request_)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]


@pytest.mark.parametrize("length", ["-1", "x", "1000000", "²", "0" * 5000])
def test_wrong_lengths_of_the_json_are_refused(steady, length):
    content = json.dumps({"inputs": [INPUT]})
    headers = {"Inference-Header-Content-Length": length.encode()}
    assert steady.post("/v2/models/model/infer", content=content, headers=headers).status_code == 400


def check_with_schemathesis(server, examples):
    """Send requests that the OpenAPI document allows, and some that it does not, to each route."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    schema = schemathesis.openapi.from_dict(server.client.get("/openapi.json").json())
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    seen = set()
    for result in schema.get_all_operations():
        operation = result.ok()

        @given(case=st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes)))
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case):
            try:
                answer = case.call(base_url=str(server.client.base_url), headers={"Authorization": "Bearer write"})
            except (ValueError, UnicodeError):  # no client can send it
                return
            assert answer.status_code < 500 or answer.status_code == 503, (case.as_curl_command(), answer.text)
            seen.add(answer.status_code)
            if answer.status_code >= 400:
                assert len(answer.json()["error"].split()) > 3

        ask()
    assert server.process.is_alive()
    return seen


def test_no_request_of_the_openapi_document_fails(process, model):
    assert check_with_schemathesis(process(model), 5) >= {200, 422}


@pytest.mark.attack
def test_no_request_of_the_openapi_document_fails_by_the_thousand(process, model):
    check_with_schemathesis(process(model), 300)
