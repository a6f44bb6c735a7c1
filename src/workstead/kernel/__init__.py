"""Kernel: one write path, documents, receipts, feed, evidence, store and blobs."""
