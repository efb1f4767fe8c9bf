"""From settings to working objects: the only place that picks a backend, an embedder or a model."""

from __future__ import annotations

import fnmatch
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orca.agent.agent_spec import AgentSpec
from orca.agent.file_tools import file_tools
from orca.agent.kit import ToolServers
from orca.agent.model import StreamingModel
from orca.agent.tools import Confirm, Tool, ToolBox, nobody_confirms
from orca.config import Settings, load_settings
from orca.embedders.caching import CachingEmbedder
from orca.embedders.centred import UNRELATED_DEVIATION, UNRELATED_MEAN, CentredEmbedder
from orca.embedders.guarding import GuardedEmbedder
from orca.embedders.local import LocalEmbedder
from orca.errors import ConfigError, StoreUnavailableError
from orca.llms.extractive import RuleExtractor
from orca.memory.consolidator import Consolidator
from orca.memory.context import ContextBuilder
from orca.memory.curator import Curator
from orca.memory.embedding_queue import EmbeddingQueue
from orca.memory.manager import MemoryManager
from orca.memory.message_search import MessageSearch
from orca.memory.query_embedding import QueryEmbedder
from orca.memory.recaller import Recaller
from orca.memory.record_search import RecordSearch
from orca.memory.recorder import Recorder
from orca.memory.relevance import Background
from orca.memory.remembering import Rememberer
from orca.memory.reranking import HitReranker
from orca.memory.retrieval_constants import RELEVANCE_FLOOR
from orca.memory.runs import Runs
from orca.memory.spool import MessageSpool
from orca.memory.summarizer import Summarizer
from orca.memory.upkeep import Upkeep
from orca.memory.worker import BackgroundWorker
from orca.protocols import ChatModel, Clock, Embedder, Reranker, Store, TokenCounter
from orca.providers import configured_embedder, configured_model, configured_reranker
from orca.stores.jsonl import JSONLStore
from orca.stores.sqlite.store import SQLiteStore
from orca.text.redaction import Redaction
from orca.tokens import default_counter
from orca.types import TokenBudget

if TYPE_CHECKING:
    from orca.agent.llm_agent import LLMAgent
    from orca.agent.mcp_tools import MCPServers

logger = logging.getLogger("orca")

MEMORY_URL = ":memory:"

LOCAL_DEADLINE_SECONDS = 10.0
"""Longest wait for a query's vector by the embedded model: its first load takes about two seconds."""

API_DEADLINE_SECONDS = 2.5
"""Longest wait for a query's vector over the network, after which the other lanes serve."""


class _Default(Enum):
    """Stands for "as the settings say", because None means "off"."""

    CONFIGURED = "configured"


CONFIGURED: Final = _Default.CONFIGURED


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


def open_memory(
    url: str | Path | None = None,
    *,
    embedder: Embedder | _Default | None = CONFIGURED,
    chat_model: ChatModel | _Default | None = CONFIGURED,
    reranker: Reranker | _Default | None = CONFIGURED,
    token_counter: TokenCounter | None = None,
    clock: Clock | None = None,
    settings: Settings | None = None,
) -> MemoryManager:
    """Open a memory: the store at ``url``, with what is configured around it.

    Args:
        url: A path, ``":memory:"`` or ``postgresql://…``; None is the configured store.
        embedder: Turns texts into vectors; None turns the vector lane off.
        chat_model: Writes summaries and extracts memories; None leaves both to rules.
        reranker: Orders the best message hits anew; None, as by default, leaves them as found.
        token_counter: Counts tokens for budgets; None is the configured one.
        clock: Where the time comes from.
        settings: What to use in place of ``config.toml`` and the environment.

    Raises ``ConfigError`` for settings that cannot be used. A store that cannot be opened does not stop the
    conversation: messages then go to JSONL files beside it, ``status().degraded`` says why, and they return
    to the store once it is well.

    """
    settings = settings or load_settings()
    clock = clock or SystemClock()
    counter = default_counter(settings.tokens.encoding) if token_counter is None else token_counter
    used = _open_parts(
        _location(url, settings),
        clock=clock,
        counter=counter,
        embedder=configured_embedder(settings) if embedder is CONFIGURED else embedder,
        model=configured_model(settings) if chat_model is CONFIGURED else chat_model,
    )
    budget = TokenBudget(
        window_tokens=settings.llm.window_tokens,
        budget_share=settings.memory.budget_share,
        shares=settings.memory.shares,
    )
    judge = configured_reranker(settings) if reranker is CONFIGURED else reranker
    return _assemble(replace(used, reranker=judge), budget, _redaction(settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What a memory is made around. ``stand_in`` says that the store forgets, because the real one is unwell."""

    store: Store
    clock: Clock
    counter: TokenCounter
    embedder: Embedder | None
    model: ChatModel | None
    spool: MessageSpool | None
    reranker: Reranker | None = None
    stand_in: bool = False
    notes: tuple[str, ...] = ()


def _open_parts(
    location: str, *, clock: Clock, counter: TokenCounter, embedder: Embedder | None, model: ChatModel | None
) -> _Parts:
    spool = _spool(location, clock)
    parts = partial(_Parts, clock=clock, counter=counter, embedder=embedder, model=model, spool=spool)
    try:
        store = _open_store(location, clock=clock, counter=counter)
        if embedder is not None:
            store.vectors.use_space(embedder.space)
    except StoreUnavailableError as error:
        if spool is None:
            raise
        reason = f"{error}; messages are kept in {spool.location} until it is well"
        logger.warning("%s", reason)
        store = _open_store(MEMORY_URL, clock=clock, counter=counter)
        if embedder is not None:
            store.vectors.use_space(embedder.space)
        return parts(store=store, stand_in=True, notes=(reason,))
    return parts(store=store)


def _redaction(settings: Settings) -> Redaction:
    given = settings.memory
    return Redaction(
        on=given.redaction == "on", allow=given.redaction_allow, patterns=given.redaction_patterns
    )


def _assemble(used: _Parts, budget: TokenBudget, redaction: Redaction) -> MemoryManager:
    store, clock = used.store, used.clock
    rules = RuleExtractor()
    rememberer = Rememberer(store, clock=clock, extractor=rules)
    consolidator = Consolidator(store, used.model, extractor=rules, rememberer=rememberer, clock=clock)
    summarizer = Summarizer(store, used.model, extractor=rules, rememberer=rememberer, clock=clock)
    queue = EmbeddingQueue(store, used.embedder, clock=clock) if used.embedder is not None else None
    handlers = [handler for handler in (queue, summarizer, consolidator) if handler is not None]
    worker = BackgroundWorker(store, handlers, clock=clock)
    recorder = Recorder(
        store,
        counter=used.counter,
        clock=clock,
        spool=used.spool,
        notify=worker.notify,
        stand_in=used.stand_in,
        redaction=redaction,
    )
    recorder.drain()
    return MemoryManager(
        store,
        recorder=recorder,
        recaller=_recaller(used, recorder, redaction),
        builder=ContextBuilder(used.counter, relevance_floor=RELEVANCE_FLOOR, redaction=redaction),
        curator=Curator(
            store,
            rememberer=rememberer,
            consolidator=consolidator,
            clock=clock,
            notify=worker.notify,
            redaction=redaction,
        ),
        upkeep=Upkeep(
            store,
            recorder=recorder,
            worker=worker,
            queue=queue,
            embedder=used.embedder,
            chat_model=used.model,
            counter=used.counter,
            clock=clock,
            notes=used.notes,
            redaction=redaction,
        ),
        runs=Runs(store, rememberer=rememberer, counter=used.counter, clock=clock, redaction=redaction),
        budget=budget,
    )


def _recaller(used: _Parts, recorder: Recorder, redaction: Redaction) -> Recaller:
    queries, background = _query_side(used.embedder, used.clock)
    return Recaller(
        used.store,
        recorder=recorder,
        queries=queries,
        messages=MessageSearch(used.store, background=background, clock=used.clock),
        records=RecordSearch(used.store, clock=used.clock, background=background),
        counter=used.counter,
        clock=used.clock,
        redaction=redaction,
        reranker=None if used.reranker is None else HitReranker(used.reranker, clock=used.clock),
    )


def _query_side(embedder: Embedder | None, clock: Clock) -> tuple[QueryEmbedder, Background | None]:
    """Return what embeds queries, and how near unrelated texts are where that was measured."""
    if embedder is None:
        return QueryEmbedder(None), None
    if isinstance(embedder, LocalEmbedder):
        unrelated = Background(mean=UNRELATED_MEAN, deviation=UNRELATED_DEVIATION)
        return QueryEmbedder(
            CachingEmbedder(CentredEmbedder(embedder)), deadline_seconds=LOCAL_DEADLINE_SECONDS
        ), unrelated
    guarded = CachingEmbedder(GuardedEmbedder(embedder, clock=clock))
    return QueryEmbedder(guarded, deadline_seconds=API_DEADLINE_SECONDS), None


def _open_store(location: str, *, clock: Clock, counter: TokenCounter) -> Store:
    if location.startswith(("postgresql://", "postgres://")):
        raise ConfigError("storage.url: PostgreSQL is not supported by this version; give the path of a file")
    return SQLiteStore(location, clock=clock, token_counter=counter)


def _location(url: str | Path | None, settings: Settings) -> str:
    location = str(url) if url is not None else settings.storage_url
    if location == MEMORY_URL or "://" in location:
        return location
    return str(Path(location).expanduser())


def _spool(location: str, clock: Clock) -> MessageSpool | None:
    if location == MEMORY_URL or "://" in location:
        return None
    path = Path(location)
    return MessageSpool(JSONLStore(path.with_name(path.name + "-spool"), clock=clock), clock)


def open_agent(
    memory: MemoryManager | None = None,
    *,
    settings: Settings | None = None,
    model: StreamingModel | ChatModel | str | None = None,
    tools: Iterable[Tool | Callable[..., Any]] = (),
    agents: Iterable[AgentSpec] | _Default = CONFIGURED,
    system: str | None = None,
    servers: ToolServers | None = None,
    confirm: Confirm = nobody_confirms,
    window_tokens: int | None = None,
) -> LLMAgent:
    """Open an agent over a memory, with what is configured around it; ``LLMAgent.close`` stops what starts here.

    Servers of ``[mcp_servers.NAME]`` are not waited for here: the first turn waits a little, and who is late joins later.

    Args:
        memory: The memory; None opens the configured one, which is closed with the agent.
        settings: What to use in place of ``config.toml`` and the environment.
        model: The model, or its name at ``llm.base_url``; None is ``llm.model``.
        tools: What the agent may call, beside the tools of ``[tools]`` and ``[mcp_servers.NAME]``; a name given
            here comes before theirs. ``[agents.NAME] tools`` picks from all, by name or by pattern as ``files__*``.
        agents: Its sub-agents; by default those of ``[agents.NAME]``.
        system: Its system prompt; None for the default one.
        servers: Tool servers in place of those of the settings; they are neither started nor closed here.
        confirm: Asks the person in front about calls of tools that want it; the default refuses them.
        window_tokens: The model's window; None is ``llm.window_tokens``.

    Raises ``ConfigError`` where no model is configured, and for settings that cannot be used.

    """
    from orca.agent.llm_agent import LLMAgent  # brings the OpenAI SDK: see _configured_embedder

    settings = settings or load_settings()
    chat = settings.llm.model if model is None else model
    if chat is None:
        raise ConfigError(
            f"no chat model is configured: name one under [llm] model in {settings.home / 'config.toml'}"
        )
    given = ToolBox(tools)
    box = ToolBox([*given, *(tool for tool in _file_tools(settings) if given.get(tool.name) is None)])
    known = _configured_agents(settings, box) if isinstance(agents, _Default) else agents
    started = _mcp_servers(settings) if servers is None and settings.mcp_servers else None
    agent = LLMAgent(
        memory if memory is not None else open_memory(settings=settings),
        model=_streaming(chat, settings) if isinstance(chat, str) else chat,
        tools=box,
        agents=known,
        servers=started or servers,
        system=system,
        confirm=confirm,
        window_tokens=window_tokens or settings.llm.window_tokens,
    )
    if memory is None:
        agent.call_on_close(agent.memory.close)
    if started is not None:
        started.start()
        agent.call_on_close(started.close)
    return agent


def _mcp_servers(settings: Settings) -> MCPServers:
    # Needs an extra, and takes a second to import.
    from orca.agent.mcp_tools import mcp_tools

    return mcp_tools(settings)


def _streaming(model: str, settings: Settings) -> StreamingModel:
    from orca.agent.chat_stream import StreamingChat  # see _configured_embedder

    return StreamingChat(
        base_url=settings.llm.base_url,
        model=model,
        api_key=settings.llm_key,
        timeout=settings.llm.timeout_seconds,
        replay_reasoning=settings.llm.replay_reasoning,
    )


def _file_tools(settings: Settings) -> list[Tool]:
    workspace = settings.tools.workspace
    return file_tools(workspace, closed=[settings.home]) if workspace else []


def _configured_agents(settings: Settings, tools: ToolBox) -> list[AgentSpec]:
    """Return the agents of ``[agents.NAME]``. Raises ``ConfigError`` for a tool that there is not."""
    # The tools of servers are not known yet; a name that no server has is told by the turn that goes without it.
    of_servers = tuple(re.sub(r"[^A-Za-z0-9_-]", "_", name) + "__" for name in settings.mcp_servers)
    specs = []
    for name, given in settings.agents.items():
        missing = [
            label
            for label in given.tools
            if not fnmatch.filter(tools.names, label)
            and not (of_servers and label.startswith((*of_servers, "*")))
        ]
        if missing:
            known = ", ".join(tools.names) or "none"
            raise ConfigError(
                f"[agents.{name}] tools: there is no tool {', '.join(missing)}; there are: {known}"
            )
        specs.append(
            AgentSpec(
                name=name,
                description=given.description,
                model=None if given.model is None else _streaming(given.model, settings),
                prompt=given.prompt,
                shared_tools=given.tools,
                agents=given.agents,
                max_steps=given.max_steps,
                timeout_seconds=given.timeout,
                max_tokens=given.max_tokens,
                read_memory=given.read_memory,
            )
        )
    return specs
