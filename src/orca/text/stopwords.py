"""Terms too common to tell texts apart, as index terms (stemmed, folded). Only queries drop them."""

from __future__ import annotations

ENGLISH = """
a about after again all also am an and any are as at be because been before being between both but by can could
did do does doing done down during each few for from further had has have having he her here hers herself him
himself his how i if in into is it its itself just me more most my myself no nor not now of off on once only or
other our ours out over own same she should so some such than that the their theirs them then there these they
this those through to too under until up us very was we were what when where which while who whom why will with
would you your yours yourself
s t d m ll ve re don doesn didn isn aren wasn weren hasn haven hadn wouldn couldn shouldn
""".split()
"""Function words, question words, and what splitting at an apostrophe leaves of contractions."""

CHINESE = """
的 了 是 在 我 你 您 他 她 它 们 这 那 有 和 与 就 都 而 及 着 吗 呢 吧 啊 么 什 哪 谁 怎 为 个 也 很 把 被 让 给 对 从 到
我们 你们 他们 她们 它们 什么 怎么 为什 么样 怎样 这个 那个 哪个 哪些 那些 这些 哪里 哪儿 一个 是否 有没 没有 可以 的是
是什 了吗 了什 我的 你的 他的 她的 是谁 谁的 是哪 在哪 多少 几个 请问
""".split()
"""Particles, pronouns and question words, as the single characters and pairs that the index holds."""
