// Swapping the regions of a page for the same regions of a fresh copy of it, without disturbing who reads.

export function swap(fresh, wanted = () => true) {
  for (const old of document.querySelectorAll("[data-region]")) {
    const now = fresh.getElementById(old.id);
    if (!wanted(old) || !now || alike(old, now) || old.contains(editing())) continue;
    if (old.dataset.keyed !== undefined) merge(old, now);
    else replace(old, now);
  }
}

function replace(old, now) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : null;
  keepOpen(old, now);
  old.replaceWith(document.adoptNode(now));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// A long list whose children have ids: only what differs is touched, so that reading is not disturbed. With data-tail,
// somebody who stands at its end stays there.
function merge(old, now) {
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
  const known = new Map([...old.children].map((child) => [child.id, child]));
  let next = old.firstElementChild;
  for (const child of [...now.children]) {
    const before = known.get(child.id);
    known.delete(child.id);
    if (before && before === next) next = next.nextElementSibling;
    if (!before) old.insertBefore(document.adoptNode(child), next);
    else if (!alike(before, child)) replace(before, child);
  }
  for (const gone of known.values()) gone.remove();
  if (atEnd && old.dataset.tail !== undefined) scrollTo({ top: document.documentElement.scrollHeight });
}

function alike(old, now) {
  const plain = (region) => {
    const copy = region.cloneNode(true);
    // A key is new in every rendering; it alone is no reason to swap.
    for (const key of copy.querySelectorAll('input[name="key"]')) key.remove();
    for (const kept of copy.querySelectorAll("details")) kept.removeAttribute("open");
    return copy;
  };
  return plain(old).isEqualNode(plain(now));
}

function keepOpen(old, now) {
  for (const kept of old.querySelectorAll("details[id]")) {
    now.querySelector(`#${CSS.escape(kept.id)}`)?.toggleAttribute("open", kept.open);
  }
}

function editing() {
  const active = document.activeElement;
  return active?.matches("input:not([type=hidden]), textarea, select") ? active : null;
}
