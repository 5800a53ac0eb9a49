// A triangle that is dragged around the columns of X: the error of its factorization, live.

// ‖x − A w‖² with the best w ≥ 0, by all choices of corners that take part.
function missed(x, A) {
  const dot = (u, v) => u.reduce((sum, value, i) => sum + value * v[i], 0);
  let least = dot(x, x);
  for (const chosen of choices(3)) {
    const columns = chosen.map(k => A[k]);
    const gram = columns.map(u => columns.map(v => dot(u, v)));
    const weights = solve(gram, columns.map(u => dot(u, x)));
    if (!weights || weights.some(w => w < -1e-12)) continue;
    const rest = x.map((value, i) => value - columns.reduce((s, c, k) => s + c[i] * weights[k], 0));
    least = Math.min(least, dot(rest, rest));
  }
  return least;
}

// The point of a convex shape that is nearest to another.
function nearest(shape, [x, y]) {
  let best = [x, y], distance = Infinity, inside = true;
  shape.forEach(([x1, y1], i) => {
    const [x2, y2] = shape[(i + 1) % shape.length];
    const [dx, dy] = [x2 - x1, y2 - y1];
    if (dx * (y - y1) - dy * (x - x1) < 0) inside = false;
    const t = clamp(((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy), 0, 1);
    const [px, py] = [x1 + t * dx, y1 + t * dy];
    const d = Math.hypot(x - px, y - py);
    if (d < distance) [best, distance] = [[px, py], d];
  });
  return inside ? [x, y] : best;
}

export default function (component) {
  fresh(component, (box, data) => {
    const { X, plane, room, answers } = data;
    const size = Math.sqrt(X.flat().reduce((sum, x) => sum + x * x, 0));
    const vector = ([x, y]) => plane.map(([u, v, w]) => u * x + v * y + w);
    const area = frame(box, data, -1.75, -1.25, 3.5, 2.45, "A triangle around six points");
    const flip = ([x, y]) => [x, -y];
    const thin = { "vector-effect": "non-scaling-stroke", "stroke-width": 1.5 };

    area.append(
      svg("polygon", {
        points: points(room.map(flip)),
        fill: "var(--st-secondary-background-color)",
        stroke: MUTED,
        ...thin,
      })
    );
    for (const answer of answers) {
      area.append(
        svg("polygon", {
          points: points(answer.map(flip)),
          fill: "none",
          stroke: HIGHLIGHT,
          "stroke-dasharray": "5 4",
          "stroke-opacity": answers.length > 2 ? 0.45 : 1,
          ...thin,
        })
      );
    }
    const shape = svg("polygon", {
      fill: COLORS[0], "fill-opacity": 0.18, stroke: COLORS[0],
      "vector-effect": "non-scaling-stroke", "stroke-width": 2.5, class: "turned",
    });
    area.append(shape);
    const dots = data.points.map(point => {
      const [x, y] = flip(point);
      const dot = svg("circle", { cx: x, cy: y, r: 0.035 });
      area.append(dot);
      return dot;
    });

    let corners = (box.state.corners ?? data.corners).map(corner => nearest(room, corner));
    const live = html("p", { className: "live" });
    live.setAttribute("aria-live", "polite");

    const draw = () => {
      const A = corners.map(vector);
      const misses = X[0].map((_, n) => missed(X.map(row => row[n]), A));
      const error = Math.sqrt(misses.reduce((sum, value) => sum + value, 0)) / size;
      const outside = misses.filter(value => value > 1e-12).length;
      shape.setAttribute("points", points(corners.map(flip)));
      dots.forEach((dot, n) => dot.setAttribute("fill", misses[n] > 1e-12 ? COLORS[1] : "currentColor"));
      handles.forEach((group, k) => put(group, ...flip(corners[k])));
      const text = `Error ${(100 * error).toFixed(2)}%`;
      handles.forEach(group => group.setAttribute("aria-valuetext", text));
      live.replaceChildren(
        html("strong", { textContent: text, className: "error" }),
        outside ? `, ${outside} of ${misses.length} points outside the triangle`
          : ", every point inside the triangle"
      );
      box.state.corners = corners;
    };
    const send = () => component.setStateValue("corners", corners);

    const handles = [0, 1, 2].map(k =>
      handle(
        area,
        `Corner ${k + 1} of the triangle`,
        0.055,
        0.02,
        () => flip(corners[k]),
        (x, y) => {
          corners = corners.map((corner, i) => (i === k ? nearest(room, [x, -y]) : corner));
          draw();
        },
        send,
        svg("circle", { r: 0.055, fill: COLORS[0] })
      )
    );

    // An equilateral triangle at this turn: just large enough, where there is room for it.
    const turned = degrees => {
      const ways = [90, 210, 330].map(angle => {
        const radians = ((angle + degrees) * Math.PI) / 180;
        return [Math.cos(radians), Math.sin(radians)];
      });
      let least = 0, most = Infinity;
      for (const [c, s] of ways) {
        for (const [x, y] of data.points) least = Math.max(least, -2 * (x * c + y * s));
        for (const [u, v, w] of plane) {
          const falls = -(u * c + v * s);
          if (falls > 1e-12) most = Math.min(most, w / falls);
        }
      }
      const radius = Math.min(least, most);
      return ways.map(([c, s]) => [radius * c, radius * s]);
    };
    const turn = degrees => {
      box.state.turn = degrees;
      corners = turned(degrees);
      draw();
    };
    const row = html("div", { className: "row" });
    const first = box.state.turn ?? data.turn;
    const turner = slider(row, "Turn the triangle", 0, 120, 1, first, x => `${x}°`, turn, send);
    // Inside, the triangle is turned by dragging it about its middle, also where a talk has no row.
    const angle = event => {
      const [x, y] = place(area, event);
      return (Math.atan2(-y, x) * 180) / Math.PI;
    };
    shape.addEventListener("pointerdown", event => {
      event.preventDefault();
      shape.setPointerCapture(event.pointerId);
      const from = angle(event) - (box.state.turn ?? data.turn);
      shape.onpointermove = next => {
        turn((((Math.round(angle(next) - from) % 120) + 120) % 120));
        turner.set(box.state.turn);
      };
    });
    const end = () => {
      if (!shape.onpointermove) return;
      shape.onpointermove = null;
      send();
    };
    shape.addEventListener("pointerup", end);
    shape.addEventListener("pointercancel", end);
    box.append(row, live);
    draw();
  });
}
