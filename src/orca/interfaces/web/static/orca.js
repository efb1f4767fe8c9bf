// What every page does: regions that follow the store, shortcuts, and an address without what was only said once.

const user = document.body.dataset.user;
const listeners = new Map();
let source = null;

/** Call `act` when rows of one of `kinds` have changed, at most once in half a second. */
export function onChange(kinds, act) {
  let waiting = null;
  const soon = () => {
    if (waiting === null) waiting = setTimeout(() => { waiting = null; act(); }, 500);
  };
  for (const kind of [...kinds, "resync"]) {
    if (!listeners.has(kind)) listeners.set(kind, []);
    listeners.get(kind).push(soon);
  }
  listen();
}

function listen() {
  if (source !== null) source.close();
  source = new EventSource(`/api/v1/events?user=${encodeURIComponent(user)}`);
  source.onopen = () => {
    document.documentElement.dataset.listening = "yes";
    // Something may have changed since the page was made, or while the connection was lost.
    for (const acts of listeners.values()) acts.forEach((act) => act());
  };
  for (const [kind, acts] of listeners) source.addEventListener(kind, () => acts.forEach((act) => act()));
}

/** Fetch a page of ours and return its document, or null. Scripts in it never run. */
export async function fetchPage(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** Put what the server shows now in place of a region, unless somebody is at work in it. */
async function refresh(region) {
  if (region.contains(document.activeElement) || region.querySelector("details[open]")) return;
  const page = await fetchPage(location.href).catch(() => null);
  const fresh = page?.getElementById(region.id);
  if (fresh) region.replaceChildren(...fresh.childNodes);
}

for (const region of document.querySelectorAll("[data-live]")) {
  onChange(region.dataset.live.split(" "), () => refresh(region));
}
addEventListener("pagehide", () => source?.close());
addEventListener("pageshow", (event) => { if (event.persisted && source !== null) listen(); });

// A notice, a language and a theme are said once; a reload need not say them again.
const address = new URL(location.href);
for (const name of ["notice", "count", "lang", "theme"]) address.searchParams.delete(name);
if (address.href !== location.href) history.replaceState(null, "", address);

// Shortcuts: single keys, which can be turned off on the settings page (WCAG 2.1.4).
const KEYS = "orca-keys";
let afterG = 0;

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function nextMessage(step) {
  const messages = [...document.querySelectorAll(".message")];
  const at = messages.indexOf(document.activeElement?.closest(".message"));
  const next = messages[at < 0 ? (step > 0 ? 0 : messages.length - 1) : at + step];
  next?.focus();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (localStorage.getItem(KEYS) === "off") return;
  const went = Date.now() - afterG < 1500;
  afterG = event.key === "g" ? Date.now() : 0;
  if (went) {
    document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
  } else if (event.key === "/") {
    const field = document.querySelector("[data-search]");
    if (field) { event.preventDefault(); field.focus(); }
  } else if (event.key === "?") {
    document.querySelector('a[href*="#keyboard"]')?.click();
  } else if (event.key === "n" || event.key === "p") {
    nextMessage(event.key === "n" ? 1 : -1);
  }
});

const keysOn = document.getElementById("keys-on");
if (keysOn) {
  keysOn.checked = localStorage.getItem(KEYS) !== "off";
  keysOn.addEventListener("change", () => localStorage.setItem(KEYS, keysOn.checked ? "on" : "off"));
}
