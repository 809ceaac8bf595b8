"""Models for other places: ONNX runtimes, small machines that only predict, and the Hugging Face Hub."""

from if2net.export.hub import from_hub, push_to_hub
from if2net.export.onnx import to_onnx
from if2net.export.predictor import to_predictor

__all__ = ["from_hub", "push_to_hub", "to_onnx", "to_predictor"]
