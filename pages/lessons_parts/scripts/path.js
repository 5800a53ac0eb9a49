// A triangle on its way from one factorization to another, and the error along the path.

export default function (component) {
  fresh(component, (box, data) => {
    const area = frame(box, data, 0, 0, 720, 310, "A path between two factorizations, and its error");
    const [cx, cy, size] = [180, 156, 130];
    const at = ([x, y]) => [cx + size * x, cy - size * y];
    const shape = (corners, more) => svg("polygon", { points: points(corners.map(at)), ...more });
    const last = data.path.length - 1;
    const dashed = { fill: "none", stroke: HIGHLIGHT, "stroke-dasharray": "5 4", "stroke-width": 1.5 };
    const moving = svg("polygon", {
      fill: COLORS[0], "fill-opacity": 0.18, stroke: COLORS[0], "stroke-width": 2.5, class: "moving",
    });
    area.append(
      shape(data.room, { fill: "var(--st-secondary-background-color)", stroke: MUTED }),
      shape(data.path[0], dashed),
      shape(data.path[last], dashed),
      moving,
      ...data.points.map(point => {
        const [x, y] = at(point);
        return svg("circle", { cx: x, cy: y, r: 4, fill: "currentColor" });
      })
    );

    // The curve: the path to the right, the error upwards.
    const [x0, x1, y0, y1] = [430, 705, 262, 34];
    const across = k => x0 + ((x1 - x0) * k) / last;
    const up = error => y0 - ((y0 - y1) * error) / data.highest;
    area.append(svg("text", { x: x0 - 44, y: 18, "font-weight": 700 }, "Error along the path"));
    for (let percent = 0; percent <= 100 * data.highest + 1e-9; percent += 2) {
      const y = up(percent / 100);
      area.append(
        svg("line", { x1: x0, x2: x1, y1: y, y2: y, stroke: MUTED, "stroke-opacity": percent ? 0.3 : 1 }),
        svg("text", { x: x0 - 8, y: y + 4, "text-anchor": "end" }, `${percent}%`)
      );
    }
    area.append(
      svg("text", { x: x0, y: 284 }, "one fit"),
      svg("text", { x: x1, y: 284, "text-anchor": "end" }, "the other"),
      svg("polyline", {
        points: points(data.errors.map((error, k) => [across(k), up(error)])),
        fill: "none", stroke: COLORS[0], "stroke-width": 3,
      })
    );

    const words = place => `${(100 * data.errors[place]).toFixed(2)}%`;
    let now = data.place;
    const draw = place => {
      now = place;
      moving.setAttribute("points", points(data.path[place].map(at)));
      put(mark, across(place), up(data.errors[place]));
      mark.setAttribute("aria-valuetext", words(place));
    };
    const send = () => component.setStateValue("place", now);
    // The mark moves along the curve, also where a talk has no row.
    const mark = handle(area, "Place on the curve", 8, across(1) - x0, () => [across(now), 0], x => {
      draw(clamp(Math.round(((x - x0) / (x1 - x0)) * last), 0, last));
      along.set(now);
    }, send, svg("circle", { r: 8, fill: HIGHLIGHT }));
    const row = html("div", { className: "row" });
    const along = slider(row, "Place on the path", 0, last, 1, now, words, draw, send);
    box.append(row);
    draw(now);
  });
}
