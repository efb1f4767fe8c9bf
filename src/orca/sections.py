"""The sections of ``config.toml``: one value object each, its fields being the keys, with what each may hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orca import values
from orca.values import Secret

SILICONFLOW_URL = "https://api.siliconflow.cn/v1"


def _key(kind: values.Kind, doc: str) -> dict[str, Any]:
    return {"kind": kind, "doc": doc}


@dataclass(frozen=True, slots=True, kw_only=True)
class SiliconFlowSettings:
    """``[siliconflow]``: the account that embeddings and the LLM use unless they name a key of their own."""

    api_key: Secret | None = field(
        default=None,
        metadata=_key(values.secret(), "Key of SiliconFlow; `SILICONFLOW_API_KEY` overrides it."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """``[storage]``: where everything is kept."""

    url: str = field(
        default="",
        metadata=_key(
            values.storage_url(),
            "Path of a file, `:memory:` or `postgresql://…`. Default: `$ORCA_HOME/orca.db`.",
        ),
    )

    def __repr__(self) -> str:
        return f"StorageSettings(url={values.redact_url(self.url)!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """``[embedding]``: what turns texts into vectors. The embedded model needs none of the other keys."""

    provider: Literal["auto", "siliconflow", "openai", "local", "off"] = field(
        default="auto",
        metadata=_key(
            values.choice("auto", "siliconflow", "openai", "local", "off"),
            "`siliconflow` and `openai` call `base_url`; `local` is the embedded model; `auto` calls `base_url` when "
            "there is a key for it or it is a local address, and is `local` otherwise.",
        ),
    )
    base_url: str = field(
        default=SILICONFLOW_URL, metadata=_key(values.base_url(), "Address of an OpenAI-compatible API.")
    )
    model: str = field(
        default="Pro/BAAI/bge-m3", metadata=_key(values.text(), "The embedding model's name there.")
    )
    dimensions: int = field(default=1024, metadata=_key(values.integer(1, 65_536), "Width of its vectors."))
    api_key: Secret | None = field(
        default=None, metadata=_key(values.secret(), "Key for `base_url`, where it is not SiliconFlow's.")
    )
    query_prefix: str = field(
        default="", metadata=_key(values.text(), "What the model wants in front of a query.")
    )
    document_prefix: str = field(
        default="", metadata=_key(values.text(), "What the model wants in front of a stored text.")
    )
    timeout_seconds: float = field(
        default=15.0, metadata=_key(values.number(0, 600), "How long one request may take.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """``[rerank]``: a model that orders the best hits anew. Without ``model`` there is none."""

    base_url: str = field(
        default=SILICONFLOW_URL,
        metadata=_key(values.base_url(), "Address of an API that has `/rerank`."),
    )
    model: str | None = field(
        default=None,
        metadata=_key(
            values.text(),
            "The model's name there, such as `BAAI/bge-reranker-v2-m3`; absent: hits stay as found.",
        ),
    )
    api_key: Secret | None = field(
        default=None, metadata=_key(values.secret(), "Key for `base_url`, where it is not SiliconFlow's.")
    )
    timeout_seconds: float = field(
        default=5.0, metadata=_key(values.number(0, 600), "How long one request may take.")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSettings:
    """``[llm]``: the model for chat, summaries and extraction. Without ``model`` these work by rule."""

    base_url: str = field(
        default=SILICONFLOW_URL, metadata=_key(values.base_url(), "Address of an OpenAI-compatible API.")
    )
    model: str | None = field(
        default=None, metadata=_key(values.text(), "The chat model's name there; absent: no LLM.")
    )
    api_key: Secret | None = field(
        default=None, metadata=_key(values.secret(), "Key for `base_url`, where it is not SiliconFlow's.")
    )
    window_tokens: int = field(
        default=8192, metadata=_key(values.integer(256, 10_000_000), "The model's window in tokens.")
    )
    timeout_seconds: float = field(
        default=60.0, metadata=_key(values.number(0, 3600), "How long one request may take.")
    )
    replay_reasoning: bool = field(
        default=False,
        metadata=_key(
            values.boolean(),
            "Send a turn's thinking back with its tool calls, as some reasoning models need; others refuse it.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """``[memory]``: how much of the model's window the memory may fill, and how the tiers share it."""

    budget_share: float = field(
        default=0.6, metadata=_key(values.number(0, 1), "Share of the window for the whole prompt.")
    )
    shares: tuple[float, float, float] = field(
        default=(0.5, 0.3, 0.2),
        metadata=_key(
            values.shares(),
            "Shares of the working, short-term and long-term tier; what one leaves, others use.",
        ),
    )
    redaction: Literal["on", "off"] = field(
        default="on",
        metadata=_key(
            values.choice("on", "off"),
            "Whether keys, tokens and passwords in text are masked before anything is stored or sent.",
        ),
    )
    redaction_allow: tuple[str, ...] = field(
        default=(),
        metadata=_key(
            values.patterns(),
            "Regular expressions for whole values that are no secrets and stay as they are.",
        ),
    )
    redaction_patterns: tuple[str, ...] = field(
        default=(),
        metadata=_key(
            values.patterns(),
            "Regular expressions for more that is to be masked: all that matches, or the group named `secret`.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSettings:
    """``[tokens]``: how tokens are counted."""

    encoding: str = field(
        default="o200k_base",
        metadata=_key(
            values.choice("cl100k_base", "o200k_base", "o200k_harmony", "qwen3.5"),
            "The tokenizer that counts; the nearest one to the model's own.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CLISettings:
    """``[cli]``: the command line."""

    language: Literal["auto", "zh", "en"] = field(
        default="auto",
        metadata=_key(
            values.language(),
            "Language of the messages; `auto` follows `ORCA_LANG`, `LC_ALL`, `LC_MESSAGES`, `LANG`.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """``[tools]``: the tools that come with Orca."""

    workspace: str = field(
        default="",
        metadata=_key(
            values.directory(),
            "Directory in which the agent may list, read, search and, when you allow it, write files; "
            "absent: it gets no file tools.",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """``[agents.NAME]``: a sub-agent that the main agent may call."""

    model: str | None = field(
        default=None, metadata=_key(values.text(), "Its chat model; absent: the one of `[llm]`.")
    )
    prompt: str = field(default="", metadata=_key(values.text(), "Its system prompt."))
    description: str = field(
        default="", metadata=_key(values.text(), "What it is good at, for the agent that may call it.")
    )
    tools: tuple[str, ...] = field(
        default=(), metadata=_key(values.texts(), "Names of the tools that it may use.")
    )
    agents: tuple[str, ...] = field(
        default=(), metadata=_key(values.texts(), "Names of the agents that it may call in turn.")
    )
    max_steps: int = field(
        default=16,
        metadata=_key(values.integer(1, 1000), "How often it may call tools; then it has to answer without."),
    )
    timeout: float = field(
        default=600.0, metadata=_key(values.number(0, 86_400), "How many seconds it may take.")
    )
    max_tokens: int = field(
        default=500_000,
        metadata=_key(
            values.integer(1, 1_000_000_000), "How many tokens its prompts and replies may add up to."
        ),
    )
    read_memory: bool = field(
        default=False,
        metadata=_key(
            values.boolean(), "Whether it may search the user's long-term memory; it can never write there."
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPServerSettings:
    """``[mcp_servers.NAME]``: a server whose tools the agent may use, started by command or reached by address."""

    command: str | None = field(
        default=None, metadata=_key(values.text(), "The program that serves over standard input and output.")
    )
    args: tuple[str, ...] = field(default=(), metadata=_key(values.texts(), "Its arguments."))
    env: Mapping[str, Secret] = field(
        default_factory=dict,
        metadata=_key(values.secret_texts(), "Environment variables for it; never shown."),
    )
    url: str | None = field(
        default=None,
        metadata=_key(values.text(), "Address of a server that runs already and speaks streamable HTTP."),
    )
    headers: Mapping[str, Secret] = field(
        default_factory=dict,
        metadata=_key(values.secret_texts(), "HTTP headers for it, such as `Authorization`; never shown."),
    )
    timeout_seconds: float = field(
        default=60.0, metadata=_key(values.number(0, 3600), "How long one call of its tools may take.")
    )
