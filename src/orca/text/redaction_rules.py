"""What credentials look like: one table, each row with the place where its issuer describes the shape.

A rule is looked at only where one of its hints stands in the lower-cased text, so that ordinary text costs a few
substring searches. A pattern with a group ``secret`` masks that group, and one without masks all that it matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from orca.text.secret_values import is_password, is_random, is_token

_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_-])"


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape: its name in the mark, what announces it, what matches, and a check on what matched."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Callable[[re.Match[str]], bool] | None = None


def _rule(
    name: str,
    hints: str,
    pattern: str,
    check: Callable[[re.Match[str]], bool] | None = None,
    flags: re.RegexFlag = re.NOFLAG,
) -> Rule:
    return Rule(name, tuple(hints.split()), re.compile(pattern, flags), check)


def _random(match: re.Match[str]) -> bool:
    return is_random(match.groupdict().get("secret") or match.group())


@dataclass(frozen=True, slots=True)
class Label:
    """A word that announces a secret ("password", "api_key"). ``names`` is matched against lower-cased text."""

    name: str
    hints: tuple[str, ...]
    names: re.Pattern[str]
    check: Callable[[str, re.Match[str]], bool]


_PASSWORDS = r"(?:pass(?:word|wd|phrase|code)|passwort|pwd|pin[_ -]?code|登录密码|登陆密码|支付密码|解锁密码|密码|口令)"
_TOKENS = (
    r"(?:api[_ -]?(?:key|token)|access[_ -]?(?:key(?:[_ -]id)?|token)|secret(?:[_ -]?(?:access[_ -]?)?key)?"
    r"|private[_ -]?key|account[_ -]?key|auth[_ -]?(?:key|token)|encryption[_ -]?key|signing[_ -]?key"
    r"|client[_ -]?secret|app[_ -]?secret|consumer[_ -]?secret|webhook[_ -]?secret|shared[_ -]?secret"
    r"|refresh[_ -]?token|id[_ -]?token|bot[_ -]?token|session[_ -]?token|bearer[_ -]?token"
    r"|token|密钥|秘钥|访问令牌|令牌|私钥)"
)
LABELS: tuple[Label, ...] = (
    Label(
        "password",
        ("passw", "passp", "passc", "pwd", "pin", "密码", "口令"),
        re.compile(_PASSWORDS),
        lambda label, match: is_password(label, match),
    ),
    Label(
        "secret",
        ("key", "secret", "token", "密钥", "秘钥", "令牌", "私钥"),
        re.compile(_TOKENS),
        lambda _, match: is_token(match["quoted"] or match["bare"]),
    ),
)
"""What people and settings files write in front of a secret."""

_VALUE = r"""(?:(?P<quote>\\*["'`“])(?P<quoted>[^"'`“”\n\\]{4,200})(?:\\*["'`”])|(?P<bare>[!-&(-~]{4,200}))"""
AFTER_LABEL = re.compile(
    r"""(?![A-Za-z0-9_])\\*["'`]?"""
    r"(?P<is>\s*(?:=>|:=|=|:|：|＝)\s*|\s*(?:就?是|为|改成了?|设为|设成)\s*[:：]?\s*|\s+(?:is|was|to|ist)\s*:?\s+)"
    rf"(?P<secret>{_VALUE})",
    re.IGNORECASE,
)
"""From the end of a label to the end of its value."""

PASSWORD_NAME = re.compile(rf"(?:.{{0,60}}[_-])?{_PASSWORDS}", re.IGNORECASE)
"""Names of fields whose value is a password."""

TOKEN_NAME = re.compile(rf"(?:.{{0,60}}[_-])?{_TOKENS}", re.IGNORECASE)
"""Names of fields whose value is a key or a token."""

RULES: tuple[Rule, ...] = (
    # RFC 7468 section 2 and the armour of OpenPGP (RFC 9580 section 6.2); one that was cut off reaches to the end.
    _rule(
        "private key",
        "private",
        r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END (?P=kind)-----|\Z)",
        flags=re.DOTALL,
    ),
    # IAM user guide, "Unique identifiers": prefix of four, 16 characters of base 32.
    _rule("aws access key", "akia asia abia acca", rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}"),
    # GitHub, "About authentication", token prefixes; fine-grained ones begin with github_pat_.
    _rule("github token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}(?!\w)"),
    _rule("github token", "github_pat_", rf"{_START}github_pat_[A-Za-z0-9_]{{22,255}}"),
    # GitLab docs, "Token overview": default prefixes.
    _rule("gitlab token", "glpat- gldt- glrt-", rf"{_START}gl(?:pat|dt|rt)-[A-Za-z0-9_-]{{20,}}"),
    # Anthropic, OpenAI (sk-, sk-proj-, sk-svcacct-), OpenRouter, SiliconFlow, DeepSeek, DashScope: consoles of each.
    _rule("anthropic key", "sk-ant-", rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}", _random),
    _rule("api key", "sk-", rf"{_START}sk-(?!ant-)[A-Za-z0-9_-]{{20,}}", _random),
    # Slack, "Token types" and "Sending messages using incoming webhooks".
    _rule("slack token", "xox xapp-", rf"{_START}(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{{10,}}", _random),
    _rule(
        "slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/services/(?P<secret>T\w{6,}/B\w{6,}/\w{16,})",
    ),
    # Google Cloud, "Authenticate by using API keys"; OAuth access tokens and client secrets.
    _rule("google key", "aiza", rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    _rule("google token", "ya29. gocspx-", rf"{_START}(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{{20,}}"),
    # Stripe, "API keys"; publishable keys (pk_) are public and stay.
    _rule(
        "stripe key",
        "sk_live_ rk_live_ sk_test_ rk_test_ whsec_",
        rf"{_START}(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{{16,}}",
    ),
    # Hugging Face "User access tokens", npm "About access tokens", PyPI "API tokens" (a macaroon, base64), SendGrid.
    _rule("hugging face token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,}}(?!\w)"),
    _rule("npm token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}(?!\w)"),
    _rule("pypi token", "pypi-", rf"{_START}pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{{50,}}"),
    _rule("sendgrid key", "sg.", rf"{_START}SG\.[A-Za-z0-9_-]{{20,24}}\.[A-Za-z0-9_-]{{39,50}}"),
    # Alibaba Cloud and Tencent Cloud, "AccessKey" and "SecretId" of their consoles; Telegram, "Authorizing your bot".
    _rule("alibaba cloud key", "ltai", rf"{_START}LTAI[A-Za-z0-9]{{12,26}}{_END}", _random),
    _rule("tencent cloud key", "akid", rf"{_START}AKID[A-Za-z0-9]{{28,36}}{_END}", _random),
    _rule("telegram token", ":aa", rf"{_START}\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    # RFC 7519: header and claims are JSON objects in base64url, so both begin with "eyJ".
    _rule("json web token", "eyj", r"(?<![A-Za-z0-9])eyJ[\w-]{8,}\.eyJ[\w-]{6,}\.[\w-]{6,}"),
    # RFC 6750 section 2.1 (b64token) and RFC 7617.
    _rule(
        "bearer token",
        "bearer",
        r"\bbearer\s+(?P<secret>[A-Za-z0-9._~+/-]{16,}=*)",
        lambda match: is_token(match["secret"]),
        re.IGNORECASE,
    ),
    _rule(
        "basic credentials",
        "basic",
        r"\bauthorization\b[\"']?\s*[:=]\s*[\"']?basic\s+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
        flags=re.IGNORECASE,
    ),
    # RFC 3986 section 3.2.1: "user:password" before the host.
    _rule(
        "password",
        "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,80}:(?P<secret>[^\s/@\"'<>\[\]]{2,200})@(?=[\w\[])",
        lambda match: not match["secret"].startswith(("$", "{", "<", "*")),
        re.IGNORECASE,
    ),
    _rule(
        "password",
        "--pass",
        rf"--pass(?:word|wd)?[ =](?P<secret>{_VALUE})",
        lambda match: is_password("", match),
    ),
)
"""Every shape that is masked by default, the surest first."""
