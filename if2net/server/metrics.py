"""Numbers for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from if2net.server.service import Service

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The numbers at `/metrics`. Names of classes and contents of requests never appear."""

    def __init__(self, service: Service) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("if2net_requests", "Requests", ["method", "route", "status"], registry=self.registry)
        self.seconds = Histogram(
            "if2net_request_seconds", "Time to answer", ["route"], buckets=SECONDS, registry=self.registry
        )
        self.batches = Histogram(
            "if2net_batch_samples", "Samples predicted together", buckets=SIZES, registry=self.registry
        )
        gauges = {
            "version": ("Version of the model", lambda: service.published.version),
            "classes": ("Classes of the model", lambda: len(service.published.classes)),
            "samples": ("Samples learned and not forgotten", lambda: service.published.samples),
            "log_entries": ("Changes since the last snapshot", lambda: service.log_entries),
        }
        for name, (text, value) in gauges.items():
            Gauge(f"if2net_{name}", text, registry=self.registry).set_function(value)

    def page(self) -> bytes:
        return generate_latest(self.registry)
