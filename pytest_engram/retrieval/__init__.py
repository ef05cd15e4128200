"""Ways to rank that need no benchmark: BM25, nearest neighbours, support."""
