"""Models that read query and text together, to order the best hits of a search."""
