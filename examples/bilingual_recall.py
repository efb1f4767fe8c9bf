"""Questions in Chinese find what was said in English, and the other way round; no key, no network.

python examples/bilingual_recall.py
"""

from orca import Scope, open_memory

SAID = [
    "The nightly backup runs at 03:30 and is kept for two weeks.",
    "Login is by e-mail link only, no passwords at all.",
    "我家的猫叫豆包，对鸡肉过敏。",
    "服务器每个月不能超过两百块钱。",
    "Daniel measured the bundle: 71 KB gzipped.",
]
ASKED = ["备份几点做？", "登录要密码吗？", "What is the cat allergic to?", "How much may the server cost?"]

scope = Scope(user="lin")
with open_memory(":memory:") as memory:
    memory.observe_many(scope=scope, messages=[{"role": "user", "content": text} for text in SAID])
    memory.flush()  # keyword search works at once; search by meaning once the vectors are made

    for question in ASKED:
        hit = memory.search_messages(scope=scope, query=question, limit=1)[0]
        print(f"{question}\n    {hit.content}  ({', '.join(hit.lanes)})")
