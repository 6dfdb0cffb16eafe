"""Bytes on disk: of vectors and models exactly, of tables by what a row took on the sample (zstd Parquet, DuckDB)."""

VECTOR = 4  # per number
RANKED = 5.2  # per ranked passage
PAIR = 2.8  # per pair for the teacher, two hashes
CANDIDATE = 6.1  # per mined candidate
GATHERED = 6.8  # per pair, in scores.parquet
COMPUTED = 15.0  # per newly scored pair, in its shard and in the plan of shards
VERDICT = 10.9  # per judged pair, its reason included
MEASURED = 4.0  # per query and measure
STORED_SCORE = 20.0  # in the warehouse, per row
STORED_CANDIDATE = 20.0
STORED_VERDICT = 40.0
STORED_MEASURE = 12.0
STATE = 5  # models: the two best so far, the last one, and the optimiser's two moments
SNAPSHOT = 2  # the warehouse, and the copy beside it
