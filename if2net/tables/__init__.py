"""Tables: CSV, Parquet and NumPy files, read a piece at a time."""
