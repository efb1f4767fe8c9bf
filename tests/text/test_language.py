from __future__ import annotations

import pytest

from orca.text.language import cjk_share


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("?!", 0, 0),
        ("hello there", 0, 0),
        ("你好世界", 1, 1),
        ("用Python写脚本", 0.7, 0.9),
        ("the 茶 shop", 0.3, 0.4),
    ],
)
def test_share(text: str, low: float, high: float) -> None:
    assert low <= cjk_share(text) <= high
