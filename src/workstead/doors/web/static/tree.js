// A tree whose parts open and shut in place: the links do it without this script, with a new page each. Right opens or
// steps in, Left shuts or steps out, as trees do everywhere; up and down are keys.js.

import { swap } from "./regions.js";

async function turn(link) {
  const card = link.dataset.card;
  const answer = await fetch(link.href, { headers: { Accept: "text/html" }, cache: "no-store" });
  if (!answer.ok) return location.assign(link.href);
  // The address says what is open, so that a live refresh, a reload and a shared link show the same.
  history.replaceState(null, "", link.href);
  const focused = document.activeElement?.id;
  swap(new DOMParser().parseFromString(await answer.text(), "text/html"), (region) => region.id === "cards");
  document.getElementById(focused || `turn-${card}`)?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.turn");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  turn(link);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = document.activeElement?.closest?.(".tree a");
  if (!here || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
  const item = here.closest("li");
  const link = item.querySelector(":scope > .branch > a.turn");
  const open = link?.getAttribute("aria-expanded") === "true";
  const right = event.key === "ArrowRight";
  event.preventDefault();
  if (link && right !== open) turn(link);
  else if (right) item.querySelector(":scope > ul a.card")?.focus();
  else item.parentElement.closest("li")?.querySelector(":scope > .branch > a.card")?.focus();
});
