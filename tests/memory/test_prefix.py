"""How much of each prompt is a byte-identical prefix of the one before, over a session of 200 turns."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median

import pytest

from orca.memory.context import ContextBuilder
from orca.tokens import ExactCounter
from orca.types import Hit, TokenBudget

from .builders import Log, hit

TURNS = 200
STEADY = 60
"""From here on the 8K window is full."""
ROWS = 400
"""Newest messages given to the builder, as a manager reads them."""

WORDS = (
    "the plan for our trip to Shanghai needs a hotel near the river and a vegetarian place to eat "
    "because Anna said that the budget report is due before the deadline on Friday and the server"
).split()


@dataclass(frozen=True)
class Cached:
    """The shares of each steady prompt that the prompt before began with, and how full the budget was."""

    shares: list[float]
    fill: float


def same_beginning(before: bytes, after: bytes) -> int:
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[:middle] == after[:middle] else (low, middle - 1)
    return low


def simulate(keep_share: float = 0.5, *, recall: bool, tools: bool = False) -> Cached:
    rng = random.Random(7)

    def say(least: int, most: int) -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most))) + "."

    def hits(kind: str, count: int, first: int) -> list[Hit]:
        return [hit(say(8, 25), id=first + n, kind=kind) for n in range(count)] if recall else []

    builder = ContextBuilder(ExactCounter(), keep_share=keep_share)
    log = Log()
    prompts: list[bytes] = []
    fills: list[float] = []
    for turn in range(TURNS):
        question = say(8, 40)
        log.user(question)
        context = builder.build(
            system="You are a helpful assistant. " * 5,
            working=log.messages[-ROWS:],
            short_term=hits("summary", 3, turn),
            long_term=hits("memory", 2, turn),
            query=question,
            budget=TokenBudget(window_tokens=8192),
        )
        assert context.tokens <= context.budget
        prompts.append(json.dumps(context.messages, ensure_ascii=False).encode())
        fills.append(context.tokens / context.budget)
        if tools and rng.random() < 0.3:
            log.calls(f"c{turn}")
            log.result(f"c{turn}", say(20, 120))
        log.assistant(say(20, 90))
    steady = list(pairwise(prompts[STEADY:]))
    return Cached(
        shares=[same_beginning(before, after) / len(after) for before, after in steady],
        fill=mean(fills[STEADY:]),
    )


@pytest.mark.parametrize("tools", [False, True])
def test_nine_tenths_of_a_prompt_were_sent_before(tools):
    cached = simulate(recall=False, tools=tools)

    assert median(cached.shares) >= 0.95
    assert mean(cached.shares) >= (0.88 if tools else 0.90)
    assert cached.fill >= 0.6


def test_with_memory_recalled_anew_every_turn_the_median_prompt_keeps_nine_tenths():
    cached = simulate(recall=True)

    assert median(cached.shares) >= 0.90
    assert mean(cached.shares) >= 0.84


def test_a_sliding_window_keeps_next_to_nothing():
    assert median(simulate(keep_share=1.0, recall=False).shares) < 0.1
