// One stream for all tabs of a browser that show the same project: browsers allow few connections to a host, and a
// hidden tab holds none. Whoever has the lock holds the stream and passes on what it hears; when that tab is hidden or
// closed, the next one in the queue takes over. Where there are no locks, every tab has a stream of its own.

export function share(topic, heard) {
  const name = `live:${topic}`;
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(name) : null;
  let ended = null;
  let asking = null;

  function told(said) {
    heard(said);
    channel?.postMessage(said);
  }

  // Resolves when this tab need not hold the stream any more.
  function hold() {
    return new Promise((resolve) => {
      const source = new EventSource(`/live?topic=${encodeURIComponent(topic)}`);
      source.addEventListener("open", () => told({ kind: "open" }));
      source.addEventListener("changed", (event) => told({ kind: "changed", topic: JSON.parse(event.data).topic }));
      source.addEventListener("gone", () => told({ kind: "gone" }));
      source.addEventListener("error", () => {
        // A refused stream is never tried again by the browser itself; the page says why when it is fetched.
        told({ kind: source.readyState === EventSource.CLOSED ? "refused" : "broken" });
      });
      ended = () => {
        source.close();
        ended = null;
        resolve();
      };
    });
  }

  async function follow() {
    if (!navigator.locks || !channel) return hold();
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
    if (!document.hidden) heard(event.data);
  });
  return { follow, leave };
}
