// Live regions: <body data-topic="projects/x"> follows a project; <section id="tree" data-region data-topics="cards/*">
// is fetched again from this page's own address after a hint about one of its topics, and swapped by id (a star stands
// for one step). Without data-topics a region follows everything. Hints carry no content, and losing one costs nothing:
// whenever the stream opens again, everything shown is fetched.

import { swap } from "./regions.js";

const GATHER_MS = 80;
const PATIENCE_MS = 1000;
const PATIENCE_MAX_MS = 30000;
const topic = document.body.dataset.topic;
const note = document.getElementById("link-note");
let source = null;
let waiting = null;
let loading = false;
let again = false;
let hinted = new Set();
let everything = false;
let patience = PATIENCE_MS;
let retry = null;

function follow() {
  clearTimeout(retry);
  source = new EventSource(`/live?topic=${encodeURIComponent(topic)}`);
  let first = true;
  source.addEventListener("open", () => {
    note.hidden = true;
    patience = PATIENCE_MS;
    if (!first || retry) all();
    first = false;
    retry = null;
  });
  source.addEventListener("changed", (event) => {
    hinted.add(JSON.parse(event.data).topic);
    soon();
  });
  source.addEventListener("gone", () => location.reload());
  source.addEventListener("error", () => {
    note.hidden = false;
    // A refused stream is never tried again by the browser itself: we do, less and less often. What is fetched
    // meanwhile says why, where the right to the page was lost.
    if (source.readyState !== EventSource.CLOSED) return;
    all();
    retry = setTimeout(follow, patience + Math.random() * PATIENCE_MS);
    patience = Math.min(patience * 2, PATIENCE_MAX_MS);
  });
}

function leave() {
  clearTimeout(retry);
  retry = null;
  source?.close();
  source = null;
}

function all() {
  everything = true;
  soon();
}

function soon() {
  waiting ??= setTimeout(refresh, GATHER_MS);
}

async function refresh() {
  waiting = null;
  if (loading) {
    again = true;
    return;
  }
  const wanted = everything ? () => true : about(hinted);
  hinted = new Set();
  everything = false;
  if (![...document.querySelectorAll("[data-region]")].some(wanted)) return;
  loading = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"), wanted);
    else if (answer.status === 401 || answer.status === 404) location.reload();
  } catch {
    // Whatever was missed is fetched when the stream opens again.
    note.hidden = false;
  } finally {
    loading = false;
    if (again) {
      again = false;
      soon();
    }
  }
}

// Whether a region follows one of the topics that were hinted at.
function about(topics) {
  return (region) => {
    if (region.dataset.topics === undefined) return true;
    return region.dataset.topics.split(" ").some((pattern) => {
      const steps = pattern.split("/");
      return [...topics].some((named) => {
        const found = named.split("/");
        return found.length === steps.length && steps.every((step, place) => step === "*" || step === found[place]);
      });
    });
  };
}

// A hidden tab holds no stream: browsers allow few connections per host.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
  else if (!source) {
    follow();
    all();
  }
});

if (topic && !document.hidden) follow();
