if (!window.panesLinked) {
  window.panesLinked = true;
  const shared = SHARED;
  // What a pane itself puts into its address is its own; what somebody sets there is for both.
  const SOON = 5000;
  const last = new WeakMap(), touched = new WeakMap();
  const frames = () => [...document.querySelectorAll(".st-key-panes iframe")];
  const told = frame => {
    const values = new URL(frame.contentWindow.location.href).searchParams;
    return JSON.stringify(shared.map(name => values.get(name)));
  };
  const tell = (frame, text) => {
    const view = frame.contentWindow, address = new URL(view.location.href);
    JSON.parse(text).forEach((value, i) => value === null ? address.searchParams.delete(shared[i]) : address.searchParams.set(shared[i], value));
    view.history.replaceState({}, "", address);
    view.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
  const scrolled = frame => frame.contentDocument?.querySelector("[data-testid=stMain]");
  setInterval(() => {
    const both = frames();
    if (both.length !== 2) return;
    for (const [i, frame] of both.entries()) {
      const other = both[1 - i];
      try {
        if (frame.contentDocument?.readyState !== "complete" || frame.contentWindow.location.href === "about:blank") continue;
        const now = told(frame);
        if (!frame.contentDocument.isWatched) {
          frame.contentDocument.isWatched = true;
          for (const kind of ["pointerdown", "keydown"]) frame.contentDocument.addEventListener(kind, () => touched.set(frame, Date.now()), { capture: true, passive: true });
        }
        const bySomebody = Date.now() - (touched.get(frame) ?? 0) < SOON;
        if (bySomebody && last.has(frame) && last.get(frame) !== now) {
          tell(other, now);
          last.set(other, now);
        }
        last.set(frame, now);
        const place = scrolled(frame);
        if (place && !place.isLinked) {
          place.isLinked = true;
          place.addEventListener("scroll", () => {
            const there = scrolled(other);
            if (there && Math.abs(there.scrollTop - place.scrollTop) > 2) there.scrollTop = place.scrollTop;
          }, { passive: true });
        }
      } catch (error) { /* a pane that is being loaded cannot be read */ }
    }
  }, 400);
}
