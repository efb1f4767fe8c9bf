// A timeline: deep links to messages of other pages, traces inside their run, and word of new messages.

import { fetchPage, onChange } from "./orca.js";

const wanted = location.hash.match(/^#m(\d+)$/);
if (wanted && !document.getElementById(`m${wanted[1]}`) && !new URLSearchParams(location.search).has("around")) {
  const address = new URL(location.href);
  for (const name of ["before", "after", "on", "role"]) address.searchParams.delete(name);
  address.searchParams.set("around", wanted[1]);
  location.replace(address);
}

for (const run of document.querySelectorAll("details[data-trace]")) {
  run.addEventListener("toggle", async () => {
    const place = run.querySelector("[data-trace-here]");
    if (!run.open || place.childElementCount) return;
    const trace = (await fetchPage(run.dataset.trace).catch(() => null))?.getElementById("trace");
    if (!trace || place.childElementCount) return;
    trace.removeAttribute("id");
    place.replaceChildren(trace);
  });
}

const notice = document.getElementById("new-messages");
if (notice) {
  notice.querySelector("a").addEventListener("click", (event) => {
    const target = new URL(event.currentTarget.href);
    if (target.pathname + target.search !== location.pathname + location.search) return;
    event.preventDefault();  // the address differs in its fragment alone, which loads nothing
    location.hash = target.hash;
    location.reload();
  });
  const query = new URLSearchParams({ user: document.body.dataset.user });
  onChange(["message"], async () => {
    const answer = await fetch(`/api/v1/sessions/${notice.dataset.session}?${query}`);
    if (!answer.ok) return;
    const session = await answer.json();
    if (session.message_count <= Number(notice.dataset.count)) return;
    notice.firstElementChild.textContent = notice.dataset.text;
    notice.hidden = false;
  });
}
