// Live regions: <body data-topic="projects/x"> follows a topic; <section id="tree" data-region> is fetched again from
// this page's own address after a hint and swapped by id. Hints carry no content, and losing one costs nothing:
// whenever the stream opens again, everything shown is fetched.

import { swap } from "./regions.js";

const GATHER_MS = 80;
const topic = document.body.dataset.topic;
const note = document.getElementById("link-note");
let source = null;
let waiting = null;
let loading = false;
let again = false;

function follow() {
  source = new EventSource(`/live?topic=${encodeURIComponent(topic)}`);
  let first = true;
  source.addEventListener("open", () => {
    note.hidden = true;
    if (!first) soon();
    first = false;
  });
  source.addEventListener("changed", soon);
  source.addEventListener("gone", () => location.reload());
  source.addEventListener("error", () => {
    note.hidden = false;
    // A refused stream is never tried again by the browser itself; the page says why when it is reloaded.
    if (source.readyState === EventSource.CLOSED) soon();
  });
}

function leave() {
  source?.close();
  source = null;
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, GATHER_MS);
}

async function refresh() {
  if (loading) {
    again = true;
    return;
  }
  loading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
    else if (answer.status === 401 || answer.status === 404) location.reload();
  } catch {
    note.hidden = false;
  } finally {
    loading = false;
    if (again) {
      again = false;
      soon();
    }
  }
}

// A hidden tab holds no stream: browsers allow few connections per host.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
  else if (!source) {
    follow();
    soon();
  }
});

if (topic && !document.hidden) follow();
