"""How values that are names in the code are called on a page, in English; the catalogue has the Chinese."""

from __future__ import annotations

LABELS = {
    "auto": "Automatic",
    "light": "Light",
    "dark": "Dark",
    "month": "30 days",
    "quarter": "13 weeks",
    "year": "One year",
    "both": "meaning and keywords",
    "dense": "meaning alone",
    "keyword": "keywords alone",
    "working": "window",
    "short_term": "summaries",
    "long_term": "memories",
    "query": "newest message",
    "timed_out": "timed out",
    "embed": "embedding",
    "summarize": "summarising",
    "consolidate": "consolidation",
    "subagent": "sub-agent",
    "import": "imported",
}


def label_of(value: str) -> str:
    """Return what a value is called; most are called what they are."""
    return LABELS.get(value, value)
