"""What ``orca chat`` does: one message, or a conversation, with a model or with the memory alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.text import Text

from orca.agent.events import AgentResult, TurnFailed
from orca.agent.kit import ToolServers
from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.errors import OrcaError
from orca.interfaces.cli.chat_advice import advice
from orca.interfaces.cli.chat_commands import RETRY, arrive, obey, offers
from orca.interfaces.cli.chat_confirm import Confirmer
from orca.interfaces.cli.chat_conversation import Conversation
from orca.interfaces.cli.chat_input import LineReader, PromptReader, Reader
from orca.interfaces.cli.chat_terminal import is_terminal
from orca.interfaces.cli.chat_view import LiveView, PlainView, View
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli, has_model
from orca.memory.manager import MemoryManager
from orca.memory.ranking import best_hits
from orca.text.normalize import clean
from orca.types import Hit, Message, Scope

RECALLED = 5
"""Hits that an answer without a model shows: as many as fit on a screen with the question."""


def run(cli: Cli, memory: MemoryManager, scope: Scope, *, once: str | None, settings: Settings) -> int:
    """Hold a conversation, or say one thing; return the exit code."""
    terminal = is_terminal() and not cli.json
    with _servers(settings) as servers:
        chat = Conversation(
            cli=cli, memory=memory, scope=scope, settings=settings, confirm=Confirmer(None), servers=servers
        )
        reader: Reader = LineReader()
        if terminal:
            reader = PromptReader(settings.home / "chat_history", lambda *asked: offers(chat, *asked))
            chat.confirm = Confirmer(reader.ask)
        if has_model(settings):
            chat.use_model(None)
        if once is not None:
            return _once(chat, clean(sys.stdin.read() if once == "-" else once), terminal=terminal)
        _greet(chat)
        try:
            _converse(chat, reader, terminal=terminal)
        finally:
            _leave(chat)
    return 0


def settings_of_memory(settings: Settings) -> Settings:
    """Return the settings to open the memory with: a model that lacks its key is left out, and said to be."""
    return settings if has_model(settings) else replace(settings, llm=replace(settings.llm, model=None))


@contextmanager
def _servers(settings: Settings) -> Iterator[ToolServers | None]:
    """Begin to start the MCP servers that the settings name, and stop them after the block.

    They outlive a change of the model, which makes another agent.
    """
    if not settings.mcp_servers or not has_model(settings):
        yield None
        return
    # The client of MCP is an extra, and takes half a second to import.
    from orca.agent.mcp_tools import mcp_tools

    with mcp_tools(settings) as servers:
        servers.start()
        yield servers


def _once(chat: Conversation, text: str, *, terminal: bool) -> int:
    cli = chat.cli
    if chat.agent is None:
        message, hits, degraded = answer(chat.memory, chat.scope, text)
        if cli.json:
            said: dict[str, Any] = {"text": None, "usage": None, "context": None, "runs": []}
            return cli.finish({**said, "message": message, "hits": hits, "degraded": degraded, "model": None})
        cli.render.answer(hits, degraded)
        cli.prose(_without_model(chat.settings))
        return 0
    view: View = _live() if terminal else PlainView(quiet=cli.json)
    ended = chat.turn(chat.agent, text, view)
    if isinstance(ended, TurnFailed):
        message_ = advice(ended.error, chat.settings, chat=False)
        cli.note(t("orca: {message}", message=message_))
        if cli.json:
            error = {"type": type(ended.error).__name__, "message": message_, "partial": ended.partial}
            cli.finish({"error": error})
        return 1
    if cli.json:
        return cli.finish(_document(chat.agent, ended.result))
    return 0


def _document(agent: LLMAgent, result: AgentResult) -> dict[str, Any]:
    return {
        "text": result.text,
        "usage": result.usage,
        "context": result.context,
        "runs": result.runs,
        "message": result.message,
        "reasoning": result.reasoning,
        "finish_reason": result.finish_reason,
        "steps": result.steps,
        "degraded": result.context.degraded,
        "model": agent.model.name,
    }


def answer(memory: MemoryManager, scope: Scope, text: str) -> tuple[Message, list[Hit], str | None]:
    """Keep what was said, then return it with what it brings back, itself left out.

    What is recalled is shown and not stored: a memory that records its own echoes would recall those next.
    """
    message = memory.observe(scope=scope, role="user", content=text)
    recalled = memory.recall(scope=scope, query=text, limit=RECALLED + 1)
    hits = [hit for hit in best_hits(recalled, 2 * RECALLED) if (hit.kind, hit.id) != ("message", message.id)]
    return message, hits[:RECALLED], recalled.degraded


def _greet(chat: Conversation) -> None:
    arrive(chat)
    if chat.agent is None:
        chat.cli.prose(_without_model(chat.settings))
    else:
        chat.cli.note(t("Talking to {name}. /help lists what can be typed.", name=chat.agent.model.name))


def _without_model(settings: Settings) -> str:
    """Say that there is no model, and how to get one."""
    path = settings.home / "config.toml"
    if settings.llm.model is not None:
        return t(
            "Memory only: {url} needs an API key. Set SILICONFLOW_API_KEY, or api_key under [llm] in {path}.",
            url=settings.llm.base_url,
            path=path,
        )
    return t(
        "Memory only: no chat model is configured, so Orca keeps what you say and answers with what it recalls.\n"
        "To talk to a model, put this into {path} (an Ollama on this machine; any OpenAI-compatible address goes):\n"
        "  [llm]\n"
        '  base_url = "http://127.0.0.1:11434/v1"\n'
        '  model = "qwen3:8b"\n'
        "or set SILICONFLOW_API_KEY and ORCA_LLM_MODEL. /help lists what can be typed.",
        path=path,
    )


def _converse(chat: Conversation, reader: Reader, *, terminal: bool) -> None:
    while (typed := reader.read()) is not None:
        text = clean(typed)
        name = text.strip()
        if name.startswith(RETRY) and not text[:1].isspace():
            _answered(chat, None, terminal=terminal)
        elif text.startswith("/"):
            if not obey(chat, text):
                return
        elif name:
            chat.begin_message(name)
            _answered(chat, name, terminal=terminal)


def _answered(chat: Conversation, text: str | None, *, terminal: bool) -> None:
    """Answer a message, or with None the one that waits; what fails is a line, and the chat goes on."""
    cli = chat.cli
    try:
        if chat.agent is not None:
            _model_answers(chat, chat.agent, text, terminal=terminal)
        elif text is None:
            cli.note(t("There is no model: this is the memory alone. /model NAME takes one."))
        else:
            _, hits, degraded = answer(chat.memory, chat.scope, text)
            chat.context = None
            cli.render.answer(hits, degraded)
    except OrcaError as error:
        cli.prose(t("orca: {message}", message=advice(error, chat.settings)))
    except KeyboardInterrupt:
        if not terminal:
            raise
        cli.note(t("Stopped. What was said so far is kept."))


def _model_answers(chat: Conversation, agent: LLMAgent, text: str | None, *, terminal: bool) -> None:
    view: View = _live() if terminal else PlainView()
    ended = chat.turn(agent, text, view)
    if isinstance(ended, TurnFailed):
        chat.cli.prose(t("orca: {message}", message=advice(ended.error, chat.settings)))
        return
    result = ended.result
    if not result.text.strip():
        chat.cli.note(t("The model gave an empty answer; type /retry, or say it in other words."))
    if result.finish_reason == "length":
        chat.cli.note(t("The answer was cut at the model's limit; ask it to go on."))
    if result.context.degraded != chat.degraded:  # said once, and again when it changes
        chat.degraded = result.context.degraded
        chat.cli.render.warn_degraded(chat.degraded)
    if terminal:
        chat.cli.render.console().print(Text(footer(result), style="dim"))


def footer(result: AgentResult) -> str:
    """Return the line under an answer: how full the prompt was, and how much of it was recalled."""
    context = result.context
    recalled = sum(
        item.included and item.tier in ("short_term", "long_term", "messages") for item in context.items
    )
    figures = t("{tokens} of {budget} tokens", tokens=context.tokens, budget=context.budget)
    return t("{figures} · {n} recalled · /context shows why", figures=figures, n=recalled)


def _live() -> View:
    # A console of its own, made while standard output is the terminal itself and not what replaces it later.
    from orca.interfaces.cli import render

    return LiveView(render.console())


def _leave(chat: Conversation) -> None:
    """Consolidate what was said, and say how to go on. Ctrl-C leaves at once: the rest waits as jobs."""
    if not chat.spoken:
        return
    if chat.agent is not None and is_terminal():
        chat.cli.note(t("Keeping what matters; Ctrl-C leaves at once."))
    try:
        for scope in chat.spoken.values():
            chat.memory.end_session(scope=scope)
    except OrcaError as error:
        chat.cli.prose(t("orca: {message}", message=advice(error, chat.settings)))
    except KeyboardInterrupt:
        chat.cli.note(t("Left. What was said is kept; the rest is made up when the chat goes on."))
    last = chat.scope.session if chat.scope.session in chat.spoken else next(reversed(chat.spoken))
    chat.cli.note(t("Kept {n} messages. Go on with: orca chat --session {name}", n=chat.said, name=last))
