"""Frozen feature extractors: images in, rows of numbers out, each computed once and kept in a cache."""

from if2net.backbone.base import Backbone, Preprocessing
from if2net.backbone.extraction import extract
from if2net.backbone.extractor import Extractor, Options
from if2net.backbone.network import Network
from if2net.backbone.registry import load_extractor

__all__ = ["Backbone", "Extractor", "Network", "Options", "Preprocessing", "extract", "load_extractor"]
