if (!window.panesLinked) {
  window.panesLinked = true;
  // What an address is asked for on one side, and under which name the other side is told it.
  const shared = SHARED;
  // What a pane itself puts into its address is its own; what somebody sets there is for both. It may
  // come long after the click: what tells it from an answer to the other pane is who acted last.
  const last = new WeakMap(), acted = new WeakMap();
  let acts = 0;
  // A chart answers a hand at once, in milliseconds.
  const SOON = 5000;
  const touched = new WeakMap();
  const frames = () => [...document.querySelectorAll(".st-key-panes iframe")];
  const told = frame => {
    const values = new URL(frame.contentWindow.location.href).searchParams;
    return shared.map(([name]) => values.get(name));
  };
  const tell = (frame, values, before) => {
    const view = frame.contentWindow, address = new URL(view.location.href);
    values.forEach((value, i) => {
      const [mine, theirs, none] = shared[i];
      if (mine !== theirs && value === before[i]) return;
      const text = value ?? none;
      text === null ? address.searchParams.delete(theirs) : address.searchParams.set(theirs, text);
    });
    view.history.replaceState({}, "", address);
    view.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
  const bySomebody = (frame, soon = SOON) => Date.now() - (touched.get(frame) ?? -soon) < soon;

  // Charts: those with the same title and the same axes show the same part of them.
  const charts = frame => [...frame.contentDocument.querySelectorAll(".js-plotly-plot")];
  const axes = chart => Object.keys(chart._fullLayout ?? {}).filter(name => /^[xy]axis[0-9]*$/.test(name));
  // Streamlit makes a title bold once more each time it draws the chart.
  const title = chart => chart.layout?.title?.text?.replace(/<[/]?b>/g, "");
  const kind = chart => JSON.stringify([title(chart), ...axes(chart).map(name => {
    const axis = chart._fullLayout[name];
    return [name, axis.type, axis.title?.text];
  })]);
  // The directions of a map are its own: the same place means something else on the other one.
  const placed = chart => axes(chart).every(name => !/^(first|second) direction/.test(chart._fullLayout[name].title?.text ?? ""));
  const twin = (chart, frame, other) => {
    if (!placed(chart)) return undefined;
    const alike = one => charts(one).filter(each => kind(each) === kind(chart));
    return alike(other)[alike(frame).indexOf(chart)];
  };
  const ranges = chart => Object.fromEntries(axes(chart).map(name => [name, [...chart._fullLayout[name].range]]));
  const near = (one, other) => one === other || Math.abs(one - other) <= 1e-9 * Math.abs(one);
  const same = (a, b) => Boolean(b) && Object.entries(a).every(([name, range]) => range.every((end, i) => near(end, b[name]?.[i])));
  // Plotly of a pane can only be asked through its button that resets the axes: so that goes, for
  // this once, to where the other chart is.
  const show = (chart, wanted) => {
    const reset = chart.querySelector(".modebar-btn[data-val=reset]");
    if (!reset || same(wanted, ranges(chart))) return;
    const kept = Object.keys(wanted).map(name => {
      const axis = chart._fullLayout[name], first = [axis._rangeInitial0, axis._rangeInitial1];
      [axis._rangeInitial0, axis._rangeInitial1] = wanted[name];
      return [name, first];
    });
    reset.click();
    for (const [name, first] of kept) {
      const axis = chart._fullLayout[name];
      [axis._rangeInitial0, axis._rangeInitial1] = first;
    }
  };
  // Both charts from the least to the largest of either: what looks alike is alike.
  const level = (one, two) => {
    if (!one.whole || !two.whole) return;
    const both = Object.entries(one.whole).map(([name, [from, to]]) => {
      const [start, end] = two.whole[name], up = from <= to;
      const [low, high] = up ? [Math.min, Math.max] : [Math.max, Math.min];
      return [name, typeof from === "number" ? [low(from, start), high(to, end)] : [from, to]];
    });
    for (const chart of [one, two]) {
      chart.meant = Object.fromEntries(both);
      show(chart, chart.meant);
    }
  };
  const zoomed = (chart, change, frame, other) => {
    if (!bySomebody(frame)) return;
    chart.meant = ranges(chart);
    const names = Object.keys(change).filter(name => /^[xy]axis[0-9]*[.](range|autorange)/.test(name));
    const there = names.length ? twin(chart, frame, other) : undefined;
    if (!there || same(ranges(chart), ranges(there))) return;
    if (chart.whole && same(ranges(chart), chart.whole)) return level(chart, there);
    there.meant = ranges(chart);
    show(there, there.meant);
  };
  // A chart that the app drew anew shows its own whole again; one whose twin has come since is shown
  // with it. One that cannot be where it is meant to be, as its axes depend on each other, is left
  // there after TRIES.
  const TRIES = 25, IN_HAND = 1000;
  const settle = (chart, frame, other) => {
    if (bySomebody(frame, IN_HAND) || bySomebody(other, IN_HAND)) return chart.tries = 0;
    const there = twin(chart, frame, other), found = there && there !== chart.twin;
    if (found) [chart.twin, chart.tries] = [there, 0];
    const drawn = !same(ranges(chart), chart.meant);
    if ((drawn || found) && chart.tries++ < TRIES) {
      if (drawn) chart.whole = ranges(chart);
      there ? level(chart, there) : (chart.meant = chart.whole);
    }
  };

  const scrolled = frame => frame.contentDocument?.querySelector("[data-testid=stMain]");
  const watch = (frame, other) => {
    const page = frame.contentDocument;
    if (!page.isWatched) {
      page.isWatched = true;
      for (const kind of ["pointerdown", "keydown"]) page.addEventListener(kind, () => acted.set(frame, ++acts), { capture: true, passive: true });
      for (const kind of ["pointerdown", "pointerup", "wheel", "keydown"]) page.addEventListener(kind, () => touched.set(frame, Date.now()), { capture: true, passive: true });
      page.addEventListener("pointermove", event => event.buttons && touched.set(frame, Date.now()), { capture: true, passive: true });
    }
    for (const chart of charts(frame)) {
      if (!chart.on || !chart._fullLayout) continue;
      if (!chart.isLinked) {
        [chart.isLinked, chart.tries] = [true, 0];
        chart.on("plotly_relayout", change => zoomed(chart, change, frame, other));
      }
      settle(chart, frame, other);
    }
    const place = scrolled(frame);
    if (place && !place.isLinked) {
      place.isLinked = true;
      place.addEventListener("scroll", () => {
        const there = scrolled(other);
        if (there && Math.abs(there.scrollTop - place.scrollTop) > 2) there.scrollTop = place.scrollTop;
      }, { passive: true });
    }
  };
  setInterval(() => {
    const both = frames();
    if (both.length !== 2) return;
    for (const [i, frame] of both.entries()) {
      const other = both[1 - i];
      try {
        if (frame.contentDocument?.readyState !== "complete" || frame.contentWindow.location.href === "about:blank") continue;
        const now = told(frame), before = last.get(frame);
        if (acted.has(frame) && before && JSON.stringify(before) !== JSON.stringify(now)) {
          tell(other, now, before);
          last.set(other, told(other));
          // What changes there now is its answer, unless somebody has acted there since.
          if (acted.get(other) < acted.get(frame)) acted.delete(other);
        }
        last.set(frame, now);
        watch(frame, other);
      } catch (error) { /* a pane that is being loaded cannot be read */ }
    }
  }, 400);
}
