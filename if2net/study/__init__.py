"""The study: the paper's data sets, compared methods, benchmarks, ablations and reports. It imports the product."""
