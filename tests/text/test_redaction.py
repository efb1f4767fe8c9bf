"""Secrets go and everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.text.redaction import Redaction

pytestmark = pytest.mark.case(17)

# Put together here, so that no scanner takes the test for a leak.
B62 = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6iJ9"
SECRETS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + B62[:36],
    "github fine": "github_pat_" + B62,
    "gitlab": "glpat-" + B62[:20],
    "openai": "sk-" + B62,
    "openai project": "sk-proj-" + B62,
    "siliconflow": "sk-" + "qwhxzkvbnmplrtyafghjdseucioqwhxzkvbnmplrtyafghjd",
    "anthropic": "sk-ant-api03-" + B62,
    "slack": "xoxb-" + "123456789012-1234567890123-" + B62[:24],
    "google": "AIza" + "SyB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3f",
    "stripe": "sk_live_" + B62[:24],
    "hugging face": "hf_" + B62[:34],
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + B62,
    "alibaba": "LTAI" + B62[:20],
    "telegram": "123456789:AA" + B62[:33],
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("frame", ["{}", "我的密钥是{}，别外传", "Use {}.", '{{"k": "{}"}}', "a\n{}\nb"])
def test_a_known_shape_is_masked_wherever_it_stands(name: str, frame: str) -> None:
    masked = Redaction().text(frame.format(SECRETS[name]))
    assert SECRETS[name] not in masked
    assert SECRETS[name][-8:] not in masked
    assert "[redacted: " in masked


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password=hunter2", "hunter2"),
        ("Password: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("my password is hunter2.", "hunter2"),
        ("我的密码是abc12345，别忘了", "abc12345"),
        ("银行卡密码：884213", "884213"),
        ("登录密码是 Qwerty!23", "Qwerty!23"),
        ("口令：open-sesame1", "open-sesame1"),
        ("DB_PASSWORD=opensesame", "opensesame"),
        ('{"password": "opensesame"}', "opensesame"),
        ('{"args": "{\\"password\\": \\"hunter2\\"}"}', "hunter2"),
        ("api_key: 9f8e7d6c5b4a39281706", "9f8e7d6c5b4a39281706"),
        ("OPENAI_API_KEY=" + "zq7Wm2Lp9Xc4Vb1N", "zq7Wm2Lp9Xc4Vb1N"),
        ("client_secret = 'q8Yx-2mLw_77Zt'", "q8Yx-2mLw_77Zt"),
        ("访问令牌：q8Yx2mLw77Ztpp", "q8Yx2mLw77Ztpp"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYKEY1", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYKEY1"),
        ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
        ("curl -H 'authorization: bearer q8Yx2mLw77Ztppq8Yx'", "q8Yx2mLw77Ztppq8Yx"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
        ("postgresql://app:s3cr3tpw@db.example.com/x", "s3cr3tpw"),
        ("mysql --password hunter2 -u root", "hunter2"),
    ],
)
def test_what_is_said_to_be_a_secret_is_masked_and_the_rest_stays(text: str, secret: str) -> None:
    masked = Redaction().text(text)
    assert secret not in masked
    start = text.index(secret)
    assert masked.startswith(text[:start])
    assert masked.endswith(text[start + len(secret) :])


@pytest.mark.parametrize(
    "kind", ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
@pytest.mark.parametrize("cut", [False, True])
def test_a_private_key_goes_whole_even_when_it_was_cut_off(kind: str, cut: bool) -> None:
    body = "MIIEpAIBAAKCAQEA7bq\nZ1x9y8w7v6u5\n"
    text = f"look:\n-----BEGIN {kind}-----\n{body}" + ("" if cut else f"-----END {kind}-----\nthanks")
    masked = Redaction().text(text)
    assert "MIIE" not in masked
    assert "Z1x9" not in masked
    assert masked.startswith("look:\n[redacted: private key]")
    assert cut or masked.endswith("\nthanks")


NORMAL = [
    "The password is wrong.",
    "Please reset your password: click the link",
    "密码是什么？",
    "密码是8位",
    "密码是2024年设置的",
    "忘记密码了怎么办",
    "我的密码：请输入",
    "a password is required for this page",
    "def connect(user: str, password: str | None = None) -> None: ...",
    "connect(user=user, password=password)",
    "password = getpass()",
    "password=os.environ['DB_PASSWORD']",
    "api_key = settings.siliconflow.api_key",
    "api_key: str | None = None",
    "api_key=<your key>",
    "password=${DB_PASSWORD}",
    "password: ********",
    "OPENAI_API_KEY=your_api_key_here",
    "secret_access_key: xxxxxxxxxxxxxxxx",
    "The token limit is 8192 tokens, max_tokens=4096, total_token: 1234567",
    "the secret is to cook it slowly",
    "bearer of good news; a bearer instrument",
    "sk-learn and sk-estimator-html-representation-fallback",
    "class='sk-cube-grid sk-folding-cube-animation-wrapper'",
    "commit 3f2a9c1b7d8e4f5061728394a5b6c7d8e9f00112",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "see https://example.com:8080/path?token=abc and mailto:me@example.com",
    "http://user@host/ and ssh://git@github.com/a/b",
    "我在 asia 旅行，买了 AKIArabica 咖啡",
    "ghp_short and hf_model and npm_config_registry",
    "She has a private key to the garden. BEGIN PRIVATE KEY",
    "他是基层令牌管理员，令牌：每天一个",
    "monkey: banana4you and keyboard: qwerty12",
    "Die Sitzung ist um 15:30; pin the note to 2026-05-10",
    "口令是芝麻开门",
]


@pytest.mark.parametrize("text", NORMAL)
def test_text_that_only_looks_like_it_stays(text: str) -> None:
    assert Redaction().text(text) == text


@given(st.text())
def test_masking_again_changes_nothing(text: str) -> None:
    mask = Redaction()
    once = mask.text(f"{text} password=hunter2 {text}")
    assert mask.text(once) == once


@pytest.mark.parametrize("secret", SECRETS.values())
def test_a_masked_text_stays_as_it_is(secret: str) -> None:
    mask = Redaction()
    once = mask.text(f"api_key: {secret} 密码是{secret} Bearer {secret}")
    assert secret not in once
    assert mask.text(once) == once


def test_values_of_any_depth_are_masked_and_named_fields_count() -> None:
    value = {
        "content": [{"type": "text", "text": f"use {SECRETS['github']}"}],
        "auth": {"password": "opensesame", "api_key": "q8Yx2mLw77Zt", "token": 7, "key": "C major"},
        "n": 3,
    }
    masked = Redaction().value(value)
    assert masked == {
        "content": [{"type": "text", "text": "use [redacted: github token]"}],
        "auth": {
            "password": "[redacted: password]",
            "api_key": "[redacted: secret]",
            "token": 7,
            "key": "C major",
        },
        "n": 3,
    }


def test_off_allowed_and_own_patterns() -> None:
    text = f"password=hunter2 badge EMP-1234 {SECRETS['github']}"
    assert Redaction(on=False, patterns=["EMP"]).text(text) == text
    assert "hunter2" in Redaction(allow=["hunter2"]).text(text)
    assert SECRETS["github"] in Redaction(allow=["ghp_.*"]).text(text)
    assert "EMP-1234" not in Redaction(patterns=[r"EMP-\d+"]).text(text)
    assert "badge EMP-[redacted: secret] " in Redaction(patterns=[r"EMP-(?P<secret>\d+)"]).text(text)
    with pytest.raises(ValueError, match="regular expression"):
        Redaction(patterns=["("])


@pytest.mark.parametrize(
    "text",
    [
        "password" * 20_000,
        "a_" * 100_000 + "token",
        "://" + "a:" * 50_000,
        "eyJ" + "a." * 50_000,
        "sk-" * 60_000,
    ],
)
@pytest.mark.timeout(60)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    assert len(Redaction().text(text)) <= len(text) + 100  # quadratic matching would take many minutes
