"""Jobs: leases and periodic loops."""
