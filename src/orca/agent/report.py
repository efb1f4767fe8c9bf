"""The one bounded text that crosses from a sub-agent to its caller."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing

from orca.agent.model import ModelSession, Reply, StreamingModel, Usage
from orca.agent.prompts import SUMMARISE_REPLY
from orca.errors import OrcaError
from orca.memory.recalled_block import cut_to_fit, language_of
from orca.protocols import TokenCounter
from orca.types import SubAgentRun

logger = logging.getLogger("orca")

REPORT_TOKENS = 10_000
"""Longest text that a caller gets (seed)."""

CUT = "[内容已截断]"
"""Marks a reply that was cut (seed)."""

SHORT_REPLY_TOKENS = 1_500
"""A reply up to this length crosses as it is: a summary would save little and could only lose."""

SUMMARY_TOKENS = 1_000
"""Longest summary that the model is asked for."""

SUMMARY_SECONDS = 60.0
"""How long the summary may take; then the reply itself crosses, cut."""


async def summarised(
    reply: str,
    task: str,
    *,
    model: StreamingModel,
    session: ModelSession,
    counter: TokenCounter,
    window_tokens: int,
) -> tuple[str, Usage]:
    """Return a reply, or the model's summary of one that is long, and what the summary cost.

    Where the model cannot, the reply's own words serve, as far as ``REPORT_TOKENS`` allow.
    """
    if counter.count(reply) <= SHORT_REPLY_TOKENS:
        return reply, Usage()
    language = language_of(task)
    room = min(REPORT_TOKENS, window_tokens // 2)
    prompt = SUMMARISE_REPLY[language].format(
        task=limited(task, counter, room // 4), reply=limited(reply, counter, room)
    )
    try:
        async with asyncio.timeout(SUMMARY_SECONDS):
            made = await _reply_of(session, prompt)
    except (OrcaError, TimeoutError) as error:
        logger.info("%s gave no summary of a sub-agent's reply: %s", model.name, error)
        return reply, Usage()
    usage = made.usage or Usage(
        prompt_tokens=counter.count(prompt), completion_tokens=counter.count(made.text), estimated=True
    )
    if counter.count(reply) > REPORT_TOKENS:
        return f"{made.text.strip()}\n{CUT}", usage
    return made.text.strip(), usage


def report(run: SubAgentRun, body: str, counter: TokenCounter) -> str:
    """Return what the caller reads: which agent, which run, how it ended, and its words; bounded."""
    ending = run.status.replace("_", " ") + (f": {run.error}" if run.error else "")
    return limited(f"[{run.agent} · run {run.id} · {ending}]\n{body}".rstrip(), counter, REPORT_TOKENS)


def unfinished(steps: int, tools_used: Mapping[str, int]) -> str:
    """Return what a run did that gave no reply. Nothing of what it read or thought is in it."""
    used = ", ".join(f"{name} ×{count}" for name, count in tools_used.items()) or "none"
    return f"No reply. Steps taken: {steps}; tools used: {used}."


def limited(text: str, counter: TokenCounter, limit: int) -> str:
    """Return ``text`` of at most ``limit`` tokens, marked where it was cut."""
    if counter.count(text) <= limit:
        return text
    return cut_to_fit(text, limit, counter, render=str, mark=f"\n{CUT}") or CUT


async def _reply_of(session: ModelSession, prompt: str) -> Reply:
    messages = [{"role": "user", "content": prompt}]
    reply: Reply | None = None
    async with aclosing(session.reply(messages, max_tokens=SUMMARY_TOKENS)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                reply = piece
    if reply is None or not reply.text.strip():
        raise OrcaError("an empty summary")
    return reply
