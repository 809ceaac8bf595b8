"""A model in MLflow: saved with its file as an artifact, loaded as a pyfunc. Needs the package mlflow.

usage: python examples/mlflow_model.py

MLflow keeps this program beside the model file and runs it to load the model, so nothing is pickled.
"""

import tempfile
from pathlib import Path

import mlflow
from sklearn.datasets import load_digits

from if2net import IF2NetClassifier, load


class IF2NetModel(mlflow.pyfunc.PythonModel):
    """The classifier in an artifact. `params={"proba": True}` gives probabilities."""

    def load_context(self, context) -> None:
        self.classifier = load(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        proba = (params or {}).get("proba", False)
        return self.classifier.predict_proba(model_input) if proba else self.classifier.predict(model_input)


mlflow.models.set_model(IF2NetModel())


def main() -> None:
    """Save a model of digits as an MLflow model, and load it."""
    X, y = load_digits(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder, "digits.if2"), Path(folder, "digits")
        IF2NetClassifier(random_state=0).fit(X, y).save(file)
        mlflow.pyfunc.save_model(target, python_model=__file__, artifacts={"model": str(file)})
        predictions = mlflow.pyfunc.load_model(str(target)).predict(X)
    print(f"Accuracy of the loaded model on its own samples: {(predictions == y).mean():.3f}")


if __name__ == "__main__":
    main()
