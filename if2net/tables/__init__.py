"""Tables of samples: CSV, TSV, Parquet, .npz and .npy files, read a piece at a time."""

from if2net.tables.readers import FORMATS, ROWS
from if2net.tables.table import Stream, Table, table_to_learn, table_to_predict, tables_to_learn

__all__ = ["FORMATS", "ROWS", "Stream", "Table", "table_to_learn", "table_to_predict", "tables_to_learn"]
