"""What is said in one session is known in the next one.

python examples/remember_across_sessions.py
"""

from orca import Scope, open_memory

monday = Scope(user="alice", session="monday")
friday = Scope(user="alice", session="friday")

with open_memory("remember.db") as memory:
    memory.observe(scope=monday, role="user", content="I'm a vegetarian. Next week I fly to Shanghai.")
    memory.observe(scope=monday, role="assistant", content="Noted. Shall I look for restaurants there?")
    memory.end_session(scope=monday)  # what is worth knowing becomes long-term memory

# Another process, four days later.
with open_memory("remember.db") as memory:
    for known in memory.memories(scope=friday):
        print(f"{known.kind}: {known.content}  (from messages {known.source_message_ids})")
    (best, *_) = memory.search_messages(scope=friday, query="Where do I travel?")
    print(f"best match for “Where do I travel?”: {best.content}")
