"""A few samples in a narrow layer are counted alike in any batch; more samples, or a wide layer, are counted faster.

The encoder gives such samples the same bits in any batch (`encoder/dense.py`), and statistics add them in float64
(`decision/statistics.py`). So a sample with a weight of 2 equals a repeated one, and their order hardly ever changes
a bit of the sums.
"""

# Samples are few below this number, and are added in groups of at least this size: in float32, 2²⁴ + 1 rounds to 2²⁴.
FEW_ROWS = 128
# A layer is wide from this number of features on: products row by row take long, and a copy of G takes much memory.
WIDE_LAYER = 2048
