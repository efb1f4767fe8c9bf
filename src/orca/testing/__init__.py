"""Doubles for tests of code that uses Orca: no network, no model, no chance, no clock but yours."""

from orca.testing.doubles import FakeEmbedder, FixedClock, ScriptedModel, fake_vector
from orca.testing.server import Reply, Request, ScriptedServer, chat_reply

__all__ = [
    "FakeEmbedder",
    "FixedClock",
    "Reply",
    "Request",
    "ScriptedModel",
    "ScriptedServer",
    "chat_reply",
    "fake_vector",
]
