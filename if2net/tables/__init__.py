"""Tables of samples: CSV, TSV, Parquet, .npz and .npy files, read a piece at a time."""

from if2net.tables.columns import (
    LABEL_TYPES,
    Arrays,
    Columns,
    columns_to_learn,
    columns_to_predict,
    feature_names,
    features_of,
    labels_of,
    of_type,
    type_of,
)
from if2net.tables.readers import FORMATS, ROWS
from if2net.tables.table import Stream, Table, table_to_learn, table_to_predict, tables_to_learn

__all__ = [
    "FORMATS",
    "LABEL_TYPES",
    "ROWS",
    "Arrays",
    "Columns",
    "Stream",
    "Table",
    "columns_to_learn",
    "columns_to_predict",
    "feature_names",
    "features_of",
    "labels_of",
    "of_type",
    "table_to_learn",
    "table_to_predict",
    "tables_to_learn",
    "type_of",
]
