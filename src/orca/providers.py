"""From settings to the models behind them: embedder, reranker, chat model."""

from __future__ import annotations

from orca.config import Settings
from orca.embedders.local import LocalEmbedder
from orca.protocols import ChatModel, Embedder, Reranker


def configured_embedder(settings: Settings) -> Embedder | None:
    """Return what ``[embedding]`` asks for; None where it is off. Raises ``ConfigError``."""
    if settings.embedding_provider == "off":
        return None
    if settings.embedding_provider == "local":
        return LocalEmbedder()
    # The OpenAI SDK takes over a second to import, which a memory without an API need not wait for.
    from orca.embedders.openai_compatible import OpenAICompatibleEmbedder

    return OpenAICompatibleEmbedder(
        base_url=settings.embedding.base_url,
        model=settings.embedding.model,
        dimensions=settings.embedding.dimensions,
        api_key=settings.embedding_key,
        provider=settings.embedding_host,
        query_prefix=settings.embedding.query_prefix,
        document_prefix=settings.embedding.document_prefix,
        timeout=settings.embedding.timeout_seconds,
    )


def configured_reranker(settings: Settings) -> Reranker | None:
    """Return what ``[rerank]`` asks for; None where no model is named. Raises ``ConfigError``."""
    if settings.rerank.model is None:
        return None
    from orca.rerankers.openai_compatible import OpenAICompatibleReranker  # see above

    return OpenAICompatibleReranker(
        base_url=settings.rerank.base_url,
        model=settings.rerank.model,
        api_key=settings.rerank_key,
        timeout=settings.rerank.timeout_seconds,
    )


def configured_model(settings: Settings) -> ChatModel | None:
    """Return what ``[llm]`` asks for; None where no model is named. Raises ``ConfigError``."""
    if settings.llm.model is None:
        return None
    from orca.llms.openai_compatible import OpenAICompatibleModel  # see above

    return OpenAICompatibleModel(
        base_url=settings.llm.base_url,
        model=settings.llm.model,
        api_key=settings.llm_key,
        timeout=settings.llm.timeout_seconds,
    )
