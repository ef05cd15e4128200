"""People's own data: entries and questions as JSON lines or Parquet, BEIR folders, and judgements as TREC has them."""
