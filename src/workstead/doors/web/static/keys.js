// Keyboard on a list: "/" goes to the search field; the arrows go from card to card; Enter opens, as it always does.

const search = document.getElementById("search");

function links() {
  return [...document.querySelectorAll("[data-arrows] a:not(.turn)")];
}

function step(by) {
  const all = links();
  const here = all.indexOf(document.activeElement);
  const next = here < 0 ? all[by > 0 ? 0 : all.length - 1] : all[here + by];
  next?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writing = document.activeElement?.matches("input, textarea, select");
  if (event.key === "/" && search && !writing) {
    search.focus();
    search.select();
  } else if (event.key === "Escape" && document.activeElement === search) {
    search.blur();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (!writing || document.activeElement === search)) {
    step(event.key === "ArrowDown" ? 1 : -1);
  } else return;
  event.preventDefault();
});
