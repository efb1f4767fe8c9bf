"""Every candidate for the prompt has a line in the ledger: what it costs, whether it entered, and why.

python examples/read_the_ledger.py
"""

from orca import Scope, open_memory

scope = Scope(user="alice", session="today")
earlier = Scope(user="alice", session="last week")

with open_memory(":memory:") as memory:
    memory.remember(scope=earlier, content="Alice only eats vegetarian food.", kind="preference")
    memory.observe(scope=earlier, role="user", content="The train to Shanghai leaves at nine on Tuesday.")
    memory.observe(scope=earlier, role="user", content="My desk lamp is broken.")
    memory.observe(scope=scope, role="user", content="Hello!")
    memory.flush()

    context = memory.build_context(
        scope=scope, query="When does my train to Shanghai leave?", system="Be brief.", window_tokens=2048
    )

print(f"{'tier':<11}{'tokens':>7}  {'in':<4}reason")
for item in context.items:
    print(f"{item.tier:<11}{item.tokens:>7}  {'yes' if item.included else 'no':<4}{item.reason}")
print(f"{context.tokens} of {context.budget} tokens")
print("the prompt's last message:", context.messages[-1]["content"], sep="\n")
