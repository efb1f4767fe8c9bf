"""Draw the time of a search over the number of messages, one line for each store.

python -m benchmarks.plot benchmarks/results/peers.json docs/images/peers.svg
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 74, 170, 44, 48
OURS = "orca"
COLOURS = ("#0b6e99", "#d9480f", "#9c36b5", "#5c940d", "#1c7ed6", "#e67700", "#495057")
"""Told apart by lightness as well; each line is also labelled at its end."""


def draw(figures: Sequence[Mapping[str, Any]], *, measure: str, title: str) -> str:
    """Return an SVG with logarithmic axes: messages to the right, ``measure`` in milliseconds upwards."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in figures:
        lines.setdefault(row["store"], []).append((row["messages"], max(row[measure], 0.01)))
    sizes = sorted({x for points in lines.values() for x, _ in points})
    times = [y for points in lines.values() for _, y in points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def across(size: float) -> float:
        span = math.log10(sizes[-1]) - math.log10(sizes[0]) or 1.0
        return LEFT + (math.log10(size) - math.log10(sizes[0])) / span * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(value) - low) / max(high - low, 1) * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            f' font-family="system-ui, sans-serif" font-size="13"><title>{escape(title)}</title>'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" fill="#212529">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        y = up(10.0**power)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dee2e6"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#495057">{10.0**power:g} ms</text>'
        )
    parts += [
        f'<text x="{across(size):.1f}" y="{HEIGHT - BOTTOM + 22}" text-anchor="middle" fill="#495057">{size:,.0f}</text>'
        for size in sizes
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#495057">messages</text>'
    )
    labels = _apart({name: up(points[-1][1]) for name, points in lines.items()})
    for colour, (name, points) in zip(COLOURS, lines.items(), strict=False):
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in sorted(points))
        width = 3 if name.startswith(OURS) else 1.6
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>' for x, y in points]
        end = across(max(x for x, _ in points))
        parts.append(
            f'<text x="{end + 10:.1f}" y="{labels[name] + 4:.1f}" fill="{colour}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _apart(places: Mapping[str, float], gap: float = 15.0) -> dict[str, float]:
    """Return heights at least ``gap`` apart, in the same order."""
    result: dict[str, float] = {}
    last = -math.inf
    for name, y in sorted(places.items(), key=lambda item: item[1]):
        last = max(y, last + gap)
        result[name] = last
    return result


def main() -> None:
    """Draw one picture from one file of figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description=__doc__)
    parser.add_argument("figures", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--measure", default="p95")
    parser.add_argument("--title", default="Time of a search, p95")
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text(encoding="utf-8"))["figures"]
    options.picture.write_text(draw(figures, measure=options.measure, title=options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
