// What a model is writing right now, below the last row of its conversation. It is a preview: when the rows that take its
// place have come it goes, and without this file a reload shows those rows.

const LINGER_MS = 3000;
const place = document.getElementById("writing");
const text = place?.querySelector("[data-text]");
const tool = place?.querySelector("[data-tool]");
const before = place?.querySelector("[data-before]");
let shown = null;
let ended = null;
let next = null;
let timer = null;

function show(partial) {
  if (partial.state !== "writing" && next && partial.exchange === next.exchange) {
    // It is over before it was shown; the one before still waits for its rows.
    next = null;
    return;
  }
  if (partial.state === "dropped") return hide();
  if (partial.state === "done") {
    // Of an answer that is not shown nothing waits for its rows; a text that was kept while the tab was hidden is over.
    if (partial.exchange !== shown) return hide();
    ended = partial.exchange;
    clearTimeout(timer);
    timer = setTimeout(settle, LINGER_MS);
    return;
  }
  if (ended && partial.exchange !== ended) {
    // The next answer has begun; what was written stays until its rows have come.
    next = partial;
    return;
  }
  clearTimeout(timer);
  ended = next = null;
  shown = partial.exchange;
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
  place.hidden = false;
  text.textContent = partial.text;
  before.hidden = !partial.cut;
  tool.hidden = !partial.tool;
  tool.querySelector("code").textContent = partial.tool ?? "";
  if (atEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

function settle() {
  const waiting = next;
  hide();
  if (waiting) show(waiting);
}

function hide() {
  clearTimeout(timer);
  shown = ended = next = null;
  place.hidden = true;
}

if (place) {
  document.addEventListener("partial", (event) => show(event.detail));
  // Rows are swapped in one step before the browser paints: nobody sees the text twice, or not at all.
  const rows = document.getElementById("rows");
  new MutationObserver(() => ended && settle()).observe(rows, { childList: true });
}
