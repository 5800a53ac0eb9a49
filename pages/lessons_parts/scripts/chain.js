// How several ways to look move through the triangles around the same points, side by side.

export default function (component) {
  fresh(component, (box, data) => {
    const area = frame(box, data, 0, 0, 720, 310, "Triangles that each way has found");
    // Up to three stand in one row, with what colours mean below; more in two, with it beside.
    const one = data.ways.length <= 3;
    const width = one ? 720 / data.ways.length : 240;
    const [height, size] = one ? [280, 104] : [155, 54];
    const panels = data.ways.map((way, k) => {
      const [left, top] = one ? [k * width, 0] : [(k % 3) * width, Math.floor(k / 3) * height];
      const at = ([x, y]) => [left + width / 2 + x * size, top + (one ? 165 : 90) - y * size];
      const shape = (corners, more) =>
        svg("polygon", { points: points(corners.map(at)), fill: "none", ...more });
      const past = svg("g"), caption = svg("text", { x: left + 8, y: top + 31 });
      area.append(
        svg("text", { x: left + 8, y: top + 14, "font-weight": 700 }, way.label),
        caption,
        ...data.answers.map(answer =>
          shape(answer, { stroke: HIGHLIGHT, "stroke-dasharray": "4 3", "stroke-width": 1 })
        ),
        past,
        ...data.points.map(point => {
          const [cx, cy] = at(point);
          return svg("circle", { cx, cy, r: 2.2, fill: "currentColor" });
        })
      );
      const now = svg("polygon", { "fill-opacity": 0.22, "stroke-width": 2 });
      area.append(now);
      return { way, at, shape, past, now, caption };
    });
    data.legend.forEach((line, i) => {
      const color = [HIGHLIGHT, COLORS[0], COLORS[1], MUTED][i];
      const [x, y] = one ? [8 + 180 * i, 302] : [2 * width + 8, height + 14 + 22 * i];
      area.append(
        svg("line", {
          x1: x, x2: x + 22, y1: y, y2: y, stroke: color,
          "stroke-width": 2.5, ...(i ? {} : { "stroke-dasharray": "4 3" }),
        }),
        svg("text", { x: x + 30, y: y + 4 }, line)
      );
    });

    const color = near => ({ 0: COLORS[0], 1: COLORS[1] })[near] ?? MUTED;
    const draw = count => {
      box.state.count = count;
      for (const { way, at, shape, past, now, caption } of panels) {
        const seen = Math.min(count, way.corners.length);
        const near = way.near.slice(0, seen);
        past.replaceChildren(
          ...way.corners.slice(0, seen).map((corners, i) =>
            shape(corners, { stroke: color(near[i]), "stroke-opacity": 0.16 })
          )
        );
        now.setAttribute("points", points(way.corners[seen - 1].map(at)));
        now.setAttribute("fill", color(near[seen - 1]));
        now.setAttribute("stroke", color(near[seen - 1]));
        const of = answer => near.filter(one => one === answer).length;
        caption.textContent = `first ${of(0)} · second ${of(1)}`;
      }
    };
    const row = html("div", { className: "row" });
    const play = html("button", { type: "button", textContent: "▶ Play" });
    row.append(play);
    const steps = slider(row, "Made so far", 1, data.count, 1, data.shown, x => String(x), value => {
      stop();
      draw(value);
    }, () => {});
    const stop = () => {
      clearInterval(box.timer);
      box.timer = null;
      play.textContent = "▶ Play";
    };
    const run = () => {
      let count = (box.state.count ?? data.count) >= data.count ? 1 : box.state.count;
      play.textContent = "❚❚ Stop";
      box.timer = setInterval(() => {
        if (!box.isConnected) return clearInterval(box.timer);
        draw(count);
        steps.set(count);
        if (count++ >= data.count) stop();
      }, 70);
    };
    stop();
    play.onclick = () => (box.timer ? stop() : run());
    box.append(row);
    draw(data.shown);
    // A talk has no buttons: there the chain moves by itself, unless motion is not wanted.
    if (data.presenting && !matchMedia("(prefers-reduced-motion: reduce)").matches) run();
  });
}
