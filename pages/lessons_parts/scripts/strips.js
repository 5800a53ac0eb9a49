// Four chains, a strip each, on axes of their own or on the same; R̂ and ESS at every length.

export default function (component) {
  fresh(component, (box, data) => {
    const area = frame(box, data, 0, 0, 720, 310, "Four chains, their R̂ and their effective sample size");
    const [left, right, tall, gap] = [34, 440, 54, 18];
    const every = data.lengths.flatMap(one => one.draws.flat());
    const whole = [0, Math.max(...every)];
    const strips = data.lengths[0].draws.map((_, k) => {
      const top = 18 + k * (tall + gap);
      const caption = svg("text", { x: left, y: top - 5, "font-weight": 700 });
      const [most, least] = [12, tall].map(y => svg("text", { x: left - 5, y: top + y, "text-anchor": "end" }));
      const line = svg("polyline", { fill: "none", stroke: COLORS[k], "stroke-width": 1.5 });
      area.append(
        svg("rect", {
          x: left, y: top, width: right - left, height: tall, fill: "var(--st-secondary-background-color)",
        }),
        caption, most, least, line
      );
      return { top, caption, most, least, line };
    });
    area.append(svg("text", { x: (left + right) / 2, y: 306, "text-anchor": "middle" },
      "draws of each chain: angle to the first answer"));

    // A small curve over lengths, each twice the last, with the limit dashed.
    const [x0, x1] = [510, 705], last = data.lengths.length - 1;
    const across = k => x0 + ((x1 - x0) * k) / last;
    const curves = [
      ["R̂ of all four", "r_hat", data.limits.r_hat, 1, 2, [1, 1.5, 2], 24],
      ["Bulk ESS", "bulk", data.limits.ess, 0, 300, [0, 100, 200, 300], 172],
    ].map(([name, key, limit, low, high, ticks, top]) => {
      const up = value => top + 100 - (100 * (Math.min(value, high) - low)) / (high - low);
      area.append(
        svg("text", { x: x0 - 34, y: top - 8, "font-weight": 700 }, name),
        ...ticks.flatMap(tick => [
          svg("line", { x1: x0, x2: x1, y1: up(tick), y2: up(tick), stroke: MUTED, "stroke-opacity": tick === low ? 1 : 0.3 }),
          svg("text", { x: x0 - 6, y: up(tick) + 4, "text-anchor": "end" }, String(tick)),
        ]),
        svg("line", {
          x1: x0, x2: x1, y1: up(limit), y2: up(limit), stroke: HIGHLIGHT, "stroke-dasharray": "5 4", "stroke-width": 1.5,
        }),
        svg("polyline", {
          points: points(data.lengths.map((one, k) => [across(k), up(one[key])])),
          fill: "none", stroke: COLORS[0], "stroke-width": 2.5,
        })
      );
      const mark = svg("circle", { r: 6, fill: COLORS[0] });
      area.append(mark);
      return { mark, up, key };
    });
    area.append(svg("text", { x: (x0 + x1) / 2, y: 292, "text-anchor": "middle" }, "length of the chains"));

    const draw = length => {
      const one = data.lengths[length];
      strips.forEach(({ top, caption, most, least, line }, k) => {
        const chain = one.draws[k];
        const [low, high] = data.common ? whole : [Math.min(...chain), Math.max(...chain)];
        const at = (value, n) => [
          left + ((right - left) * n) / (chain.length - 1),
          top + tall - 3 - ((tall - 6) * (value - low)) / (high - low),
        ];
        line.setAttribute("points", points(chain.map(at)));
        caption.textContent = `Chain ${k + 1}: R̂ by itself ${one.alone[k].toFixed(2)}`;
        most.textContent = `${high}°`;
        least.textContent = `${low}°`;
      });
      for (const { mark, up, key } of curves) {
        mark.setAttribute("cx", across(length));
        mark.setAttribute("cy", up(one[key]));
      }
    };
    const row = html("div", { className: "row" });
    const words = length => `${data.lengths[length].sweeps.toLocaleString("en")} sweeps`;
    slider(row, "Length of the chains", 0, last, 1, data.length, words, draw, value =>
      component.setStateValue("length", value));
    box.append(row);
    draw(data.length);
  });
}
