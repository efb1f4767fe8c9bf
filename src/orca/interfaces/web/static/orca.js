"use strict";

// The token that every write needs; the server put it into the page.
const csrfToken = document.querySelector('meta[name="csrf-token"]').content;

/** Send a write to the REST API and return its JSON, or throw an Error with the problem's detail. */
async function send(method, path, body) {
  const headers = { "X-CSRF-Token": csrfToken };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 204) return null;
  const document = await answer.json();
  if (!answer.ok) throw new Error(document.detail);
  return document;
}
