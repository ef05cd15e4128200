"""Texts to vectors: which encoder, from where, and embeddings that are kept."""
