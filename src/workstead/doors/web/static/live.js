// Live regions: <body data-topic="projects/x"> follows a project; <section id="tree" data-region data-topics="cards/*">
// is fetched again from this page's own address after a hint about one of its topics, and swapped by id (a star stands
// for one step). Without data-topics a region follows everything. Hints carry no content, and losing one costs nothing:
// whenever the stream opens, everything shown is fetched, because something may have changed since the page was made.

import { share } from "./stream.js";
import { swap } from "./regions.js";

const GATHER_MS = 80;
const note = document.getElementById("link-note");
let waiting = null;
let loading = false;
let again = false;
let hinted = new Set();
let everything = false;

function heard(said) {
  if (said.kind === "gone") location.reload();
  else if (said.kind === "partial") document.dispatchEvent(new CustomEvent("partial", { detail: said.partial }));
  else if (said.kind === "changed") {
    hinted.add(said.topic);
    soon();
  } else {
    note.hidden = said.kind === "open";
    // What a model was writing is not known without a stream; one that opens says it again.
    if (said.kind !== "open") document.dispatchEvent(new CustomEvent("partial", { detail: { state: "dropped" } }));
    if (said.kind !== "broken") all();
  }
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

const topic = document.body.dataset.topic;
if (topic) {
  const stream = share(topic, heard, document.body.dataset.writing);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stream.leave();
    else {
      stream.follow();
      all();
    }
  });
  if (!document.hidden) {
    stream.follow();
    all();
  }
}
