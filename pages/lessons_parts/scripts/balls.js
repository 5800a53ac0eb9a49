// Two sets of points, the fewest balls of radius ε that hold each, and both curves beside them.

export default function (component) {
  fresh(component, (box, data) => {
    const area = frame(box, data, 0, 0, 720, 310, "Balls around two sets of points, and their number");
    const [width, top, height] = [232, 24, 280];
    // The picture is seen from so far away that every ball is whole.
    const farthest = Math.max(...data.sets.flatMap(set => set.points.flat().map(Math.abs)));
    const scale = epsilon => width / (2 * Math.max(data.reach, farthest + epsilon));
    const panels = data.sets.map((set, k) => {
      const left = k * (width + 8);
      const title = svg("text", { x: left + 4, y: 14 });
      const balls = svg("g", { class: "balls" }), dots = svg("g");
      area.append(
        svg("rect", {
          x: left, y: top, width, height, rx: 6, fill: "var(--st-secondary-background-color)",
        }),
        balls,
        dots,
        title
      );
      const circle = ([x, y], epsilon, more) => {
        const [cx, cy] = [left + width / 2 + x * scale(epsilon), top + height / 2 - y * scale(epsilon)];
        return svg("circle", { cx, cy, ...more });
      };
      return { set, balls, dots, title, circle, color: COLORS[k] };
    });

    // The curve: radius to the right, number of balls upwards.
    const [x0, x1, y0, y1] = [530, 712, 270, 34];
    const across = epsilon => x0 + ((x1 - x0) * epsilon) / data.most;
    const up = count => y0 + ((y1 - y0) * (count - 1)) / (data.largest - 1);
    area.append(
      svg("path", { d: `M${x0} ${y1}V${y0}H${x1}`, fill: "none", stroke: MUTED }),
      svg("text", { x: (x0 + x1) / 2, y: 306, "text-anchor": "middle" }, "radius ε"),
      svg("text", { x: x0 - 26, y: 20 }, "number of balls")
    );
    for (const count of [1, 2, 3, 5, 10, data.largest]) {
      area.append(svg("text", { x: x0 - 6, y: up(count) + 4, "text-anchor": "end" }, String(count)));
    }
    for (let epsilon = 0; epsilon <= data.most; epsilon++) {
      area.append(svg("text", { x: across(epsilon), y: 287, "text-anchor": "middle" }, String(epsilon)));
    }
    for (const { set, color } of panels) {
      const steps = set.covers.map(([epsilon, centres], i) => {
        const next = set.covers[i + 1]?.[0] ?? data.most;
        return `${i ? "L" : "M"}${across(epsilon)} ${up(centres.length)}L${across(next)} ${up(centres.length)}`;
      });
      area.append(
        svg("path", { d: steps.join(""), fill: "none", stroke: color, "stroke-width": 2.5 })
      );
    }
    const line = svg("line", { y1, y2: y0, stroke: HIGHLIGHT, "stroke-width": 1.5 });
    area.append(line);

    const draw = epsilon => {
      box.state.epsilon = epsilon;
      line.setAttribute("x1", across(epsilon));
      line.setAttribute("x2", across(epsilon));
      for (const { set, balls, dots, title, circle, color } of panels) {
        // A cover stays one while the radius grows, so the last one that began is it.
        const centres = set.covers.filter(([from]) => from <= epsilon + 1e-9).at(-1)[1];
        title.replaceChildren(
          svg("tspan", { fill: color }, "● "),
          svg("tspan", { "font-weight": 700 }, `${set.name}: `),
          svg("tspan", { class: "count" }, `${centres.length} ball${centres.length > 1 ? "s" : ""}`)
        );
        balls.replaceChildren(
          ...centres.map(k =>
            circle(set.points[k], epsilon, {
              r: Math.max(epsilon * scale(epsilon), 4), fill: color, "fill-opacity": 0.16,
              stroke: color, "stroke-width": 1.5,
            })
          )
        );
        dots.replaceChildren(
          ...set.points.map(point => circle(point, epsilon, { r: 3.2, fill: "currentColor" }))
        );
      }
    };
    const row = html("div", { className: "row" });
    slider(row, "Radius ε of the balls", 0, data.most, 0.1, data.epsilon, x => x.toFixed(1), draw,
      value => component.setStateValue("epsilon", value));
    box.append(row);
    draw(data.epsilon);
  });
}
