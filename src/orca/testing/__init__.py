"""Doubles for tests of code that uses Orca: no network, no model, no chance, no clock but yours."""

from orca.testing.doubles import FakeEmbedder, FixedClock, ScriptedModel, fake_vector
from orca.testing.server import Reply, Request, ScriptedServer, chat_reply
from orca.testing.streaming import DONE, chunk, stream_reply, tool_call

__all__ = [
    "DONE",
    "FakeEmbedder",
    "FixedClock",
    "Reply",
    "Request",
    "ScriptedModel",
    "ScriptedServer",
    "chat_reply",
    "chunk",
    "fake_vector",
    "stream_reply",
    "tool_call",
]
