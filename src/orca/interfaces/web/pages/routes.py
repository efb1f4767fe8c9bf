"""All pages."""

from __future__ import annotations

from fastapi import APIRouter

from orca.interfaces.web.pages import (
    chat,
    jobs,
    memories,
    overview,
    recall,
    runs,
    sessions,
    settings,
    signing,
    vector_map,
)

router = APIRouter(include_in_schema=False)
for _module in (overview, sessions, runs, memories, recall, vector_map, jobs, chat, settings, signing):
    router.include_router(_module.router)
