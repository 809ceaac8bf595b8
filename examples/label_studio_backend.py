"""Label Studio with a model that learns from every annotation and suggests labels at once.

usage: python examples/label_studio_backend.py MODEL FOLDER [PORT]

MODEL is a model of images, FOLDER the local storage of the Label Studio project. In the project, connect
http://localhost:9090 as a model, and add it as a webhook for annotations. Without arguments, the program draws some
images, starts the server, and sends it requests as Label Studio does.
"""

import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

from PIL import Image

from if2net import IF2Net, learn_images
from if2net.images.learning import images_to_predict
from if2net.locks import locked

# The names in the labelling interface: <Image name="image" value="$image"/><Choices name="choice" toName="image">
IMAGE, CHOICE = "image", "choice"
EVENTS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED")


class Backend:
    """Predictions for tasks, and learning from annotations, in Label Studio's JSON."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.model, self.folder = model, folder.resolve()
        self.learned: dict[int, tuple[Path, str]] = {}  # by the number of the annotation

    def predict(self, tasks: list[dict]) -> list[dict]:
        """Return a prediction per task."""
        net = IF2Net.load(self.model)
        return [self._prediction(net, self._path(task)) for task in tasks]

    def fit(self, event: str, data: dict) -> None:
        """Learn a new annotation. A changed or deleted one is forgotten first, exactly."""
        deleted = event == "ANNOTATIONS_DELETED"
        annotations = data["annotations"] if deleted else [data["annotation"]]
        with locked(self.model):
            net, learned = IF2Net.load(self.model), dict(self.learned)
            for annotation in annotations:
                if annotation["id"] in learned:
                    path, label = learned.pop(annotation["id"])
                    net.forget(self._features(net, path), [label])
                chosen = [
                    part["value"]["choices"][0] for part in annotation.get("result", ()) if part["type"] == "choices"
                ]
                if chosen and not deleted:
                    path = self._path(data["task"])
                    net.learn(self._features(net, path), chosen[:1])
                    learned[annotation["id"]] = path, chosen[0]
            net.save(self.model)
            self.learned = learned

    def _prediction(self, net: IF2Net, path: Path) -> dict:
        probabilities = net.probabilities(self._features(net, path))[0]
        label = str(net.classes[int(probabilities.argmax())])
        result = {"from_name": CHOICE, "to_name": IMAGE, "type": "choices", "value": {"choices": [label]}}
        return {"model_version": str(net.samples), "score": float(probabilities.max()), "result": [result]}

    def _features(self, net: IF2Net, path: Path):
        [(_, features)] = images_to_predict(net, [path])
        return features

    def _path(self, task: dict) -> Path:
        """Return the file of a task, such as /data/local-files/?d=owls/1.png, which must lie in the folder."""
        path = (self.folder / parse_qs(urlsplit(task["data"][IMAGE]).query)["d"][0]).resolve()
        if not path.is_relative_to(self.folder):
            raise ValueError(f"{path} is outside {self.folder}.")
        return path

    def answer(self, path: str, request: dict) -> dict:
        """Return the answer to a request of Label Studio."""
        if path == "/predict":
            return {"results": self.predict(request["tasks"])}
        if path == "/webhook" and request["action"] in EVENTS:
            self.fit(request["action"], request)
        return {"status": "UP", "model_class": "IF2Net", "model_version": self.model.name}


def server(backend: Backend, port: int) -> ThreadingHTTPServer:
    """Return a server for this machine only."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}")
            content = json.dumps(backend.answer(self.path, request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # /health

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def demonstrate(folder: Path) -> None:
    """Learn red and blue images; then let an annotator add a green one, and correct herself."""
    for name in ("red", "blue"):
        (folder / "first" / name).mkdir(parents=True)
        for size in range(20, 30):
            Image.new("RGB", (size, size), name).save(folder / "first" / name / f"{size}.png")
    Image.new("RGB", (24, 24), "green").save(folder / "new.png")
    net = IF2Net(encoder="linear", seed=0)
    learn_images(net, folder / "first", backbone="pixels,size=8")
    net.save(folder / "colours.if2")

    serving = server(Backend(folder / "colours.if2", folder), port=0)
    threading.Thread(target=serving.serve_forever, daemon=True).start()

    def post(path: str, request: dict) -> dict:
        address = f"http://127.0.0.1:{serving.server_port}{path}"
        with urlopen(Request(address, json.dumps(request).encode())) as response:
            return json.load(response)

    task = {"id": 1, "data": {IMAGE: "/data/local-files/?d=new.png"}}
    for number, (action, label) in enumerate((("CREATED", "gren"), ("UPDATED", "green"))):
        result = [{"from_name": CHOICE, "to_name": IMAGE, "type": "choices", "value": {"choices": [label]}}]
        post("/webhook", {"action": f"ANNOTATION_{action}", "task": task, "annotation": {"id": 7, "result": result}})
        predicted = post("/predict", {"tasks": [task]})["results"][0]
        print(f"annotation {number + 1}: {predicted['result'][0]['value']['choices'][0]}")
    post("/webhook", {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 7}]})
    print("classes after the annotation was deleted:", ", ".join(IF2Net.load(folder / "colours.if2").classes))
    serving.shutdown()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server(Backend(Path(sys.argv[1]), Path(sys.argv[2])), int((*sys.argv, 9090)[3])).serve_forever()
    with tempfile.TemporaryDirectory() as temporary:
        demonstrate(Path(temporary))
