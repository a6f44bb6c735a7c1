// What a model is writing right now, below the last row of its conversation. It is a preview: when the rows that take its
// place have come it goes, and without this file a reload shows those rows.

const LINGER_MS = 3000;
const place = document.getElementById("writing");
const text = place?.querySelector("[data-text]");
const tool = place?.querySelector("[data-tool]");
const before = place?.querySelector("[data-before]");
let ended = null;
let timer = null;

function show(partial) {
  if (partial.state === "dropped") return hide();
  if (partial.state === "done") {
    ended = partial.exchange;
    clearTimeout(timer);
    timer = setTimeout(hide, LINGER_MS);
    return;
  }
  clearTimeout(timer);
  ended = null;
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
  place.hidden = false;
  text.textContent = partial.text;
  before.hidden = !partial.cut;
  tool.hidden = !partial.tool;
  tool.querySelector("code").textContent = partial.tool ?? "";
  if (atEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

function hide() {
  clearTimeout(timer);
  ended = null;
  place.hidden = true;
}

if (place) {
  document.addEventListener("partial", (event) => show(event.detail));
  // Rows are swapped in one step before the browser paints: nobody sees the text twice, or not at all.
  const rows = document.getElementById("rows");
  new MutationObserver(() => ended && hide()).observe(rows, { childList: true });
}
