// Chat: sends the form by fetch and shows the answer as it comes, with the ledger of its prompt beside it.

const form = document.querySelector("form[data-chat]");
if (form) prepare(form);

function prepare(form) {
  const field = form.elements.text;
  const stop = form.querySelector("[data-stop]");
  const send = form.querySelector(".primary");
  let turn = null;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (turn !== null || !field.value.trim()) return;
    const body = new URLSearchParams(new FormData(form));
    turn = new AbortController();
    const answer = begin(form, field.value);
    field.value = "";
    stop.hidden = false;
    send.disabled = true;
    try {
      await follow(form, body, answer, turn.signal);
    } catch (error) {
      answer.note(turn.signal.aborted ? form.dataset.stopped : form.dataset.failed.replace("{reason}", error.message || form.dataset.lost));
    }
    turn = null;
    stop.hidden = true;
    send.disabled = false;
    field.focus();
  });
  stop.addEventListener("click", () => turn?.abort());
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

/** Put the question and an empty answer into the conversation. */
function begin(form, question) {
  const talk = document.getElementById("talk");
  talk.querySelector("[data-nothing]")?.remove();
  bubble(talk, "user", form.dataset.user).words.textContent = question;
  const { article, words } = bubble(talk, "assistant", form.dataset.assistant);
  article.scrollIntoView({ block: "nearest" });
  return {
    words,
    add(text) { words.textContent += text; },
    note(text) {
      const note = document.createElement("p");
      note.className = "fade";
      note.dir = "auto";
      note.textContent = text;
      article.append(note);
    },
  };
}

function bubble(talk, role, name) {
  const article = document.createElement("article");
  const header = document.createElement("header");
  const who = document.createElement("b");
  const words = document.createElement("div");
  article.className = `message role-${role}`;
  who.textContent = name;
  words.className = "words";
  words.dir = "auto";
  header.append(who);
  article.append(header, words);
  talk.append(article);
  return { article, words };
}

async function follow(form, body, answer, signal) {
  const response = await fetch(form.dataset.stream, { method: "POST", body, signal });
  if (!response.ok) throw new Error((await reason(response)) ?? response.statusText);
  let over = false;
  for await (const { name, data } of events(response.body)) {
    if (name === "text") answer.add(data.text);
    else if (name === "ledger") showLedger(data);
    else if (name === "note") answer.note(data.text);
    else if (name === "tool" && data.ok === undefined) answer.note(`${form.dataset.tool}: ${data.name}`);
    else if (name === "run" && data.stage !== "tool") answer.note(`${form.dataset.run}: ${data.agent} · ${data.stage}`);
    else if (name === "finished") { answer.words.textContent = data.text; over = true; }
    else if (name === "failed") throw new Error(data.reason);
  }
  if (!over) throw new Error(form.dataset.lost);
}

/** Return what an error page says of itself. */
async function reason(response) {
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.querySelector("main bdi, main h1")?.textContent;
}

/** Yield the server-sent events of a body (HTML Living Standard, section 9.2; one data line each). */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (.*)\ndata: (.*)$/) ?? [];
      if (name) yield { name, data: JSON.parse(data) };
    }
  }
}

function showLedger({ tokens, budget, items }) {
  const sum = document.getElementById("ledger-sum");
  sum.textContent = sum.dataset.text.replace("{tokens}", tokens).replace("{budget}", budget);
  const place = document.getElementById("ledger");
  const words = JSON.parse(place.dataset.words);
  const list = document.createElement("ul");
  list.className = "plain";
  for (const item of items) {
    const row = document.createElement("li");
    const tier = document.createElement("span");
    const text = document.createElement("bdi");
    const why = document.createElement("span");
    if (!item.included) row.className = "out";
    tier.className = `tier tier-${item.tier}`;
    tier.textContent = words[item.tier] ?? item.tier;
    text.textContent = ` ${item.text.slice(0, 80)} `;
    why.className = "fade";
    why.textContent = `${item.tokens} · ${item.included ? place.dataset.in : place.dataset.out}: ${item.reason}`;
    row.append(tier, text, why);
    list.append(row);
  }
  place.replaceChildren(list);
}
