// One stream for all tabs of a browser that show the same project: browsers allow few connections to a host, and a
// hidden tab holds none. Whoever has the lock holds the stream and passes on what it hears; when that tab is hidden or
// closed, the next one in the queue takes over. Where there are no locks, every tab has a stream of its own.

const PATIENCE_MS = 1000;
const PATIENCE_MAX_MS = 30000;

export function share(topic, heard, writing = "") {
  const name = `live:${topic}:${writing}`;
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(name) : null;
  let ended = null;
  let asking = null;
  let writes = null; // what is being written, for a tab that is opened in the middle of it
  let patience = PATIENCE_MS;

  function told(said) {
    heard(said);
    channel?.postMessage(said);
  }

  // Resolves when this tab need not hold the stream any more.
  function hold() {
    return new Promise((resolve) => {
      let source = null;
      let retry = null;
      const open = () => {
        source = new EventSource(`/live?${new URLSearchParams(writing ? { topic, writing } : { topic })}`);
        source.addEventListener("open", () => {
          patience = PATIENCE_MS;
          told({ kind: "open" });
        });
        source.addEventListener("changed", (event) => told({ kind: "changed", topic: JSON.parse(event.data).topic }));
        source.addEventListener("partial", (event) => {
          const partial = JSON.parse(event.data);
          writes = partial.state === "writing" ? partial : null;
          told({ kind: "partial", partial });
        });
        source.addEventListener("gone", () => told({ kind: "gone" }));
        source.addEventListener("error", () => {
          writes = null;
          if (source.readyState !== EventSource.CLOSED) {
            told({ kind: "broken" });
            return;
          }
          // A refused stream is never tried again by the browser itself: we do, less and less often. What is fetched
          // meanwhile says why, where the right to the page was lost.
          told({ kind: "refused" });
          retry = setTimeout(open, patience + Math.random() * PATIENCE_MS);
          patience = Math.min(patience * 2, PATIENCE_MAX_MS);
        });
      };
      ended = () => {
        clearTimeout(retry);
        source.close();
        ended = writes = null;
        resolve();
      };
      open();
    });
  }

  async function follow() {
    if (!navigator.locks || !channel) return hold();
    channel.postMessage({ kind: "asks" });
    asking = new AbortController();
    try {
      await navigator.locks.request(name, { signal: asking.signal }, hold);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
  }

  function leave() {
    asking?.abort();
    ended?.();
  }

  channel?.addEventListener("message", (event) => {
    if (event.data.kind === "asks") {
      if (writes) channel.postMessage({ kind: "partial", partial: writes });
    } else if (!document.hidden) heard(event.data);
  });
  return { follow, leave };
}
