// Charts and tables are drawn for the width that they have on screen. Before they are printed, a
// chart is told its shape, so that the style of paper can make it as wide as the paper, and a table
// leaves a picture of itself, dark on white; afterwards both are as they were.
if (!window.printsCharts) {
  window.printsCharts = true;
  const TABLE = "[data-testid=stDataFrame]";
  const charts = () => document.querySelectorAll(".js-plotly-plot .svg-container");
  const dark = () =>
    getComputedStyle(document.querySelector("[data-testid=stApp]")).colorScheme === "dark";

  const tell = chart => {
    const [across, down] = [chart.style.width, chart.style.height].map(parseFloat);
    chart.style.setProperty("--drawn-width", `${across}px`);
    chart.style.setProperty("--drawn-shape", `${across} / ${down}`);
    for (const layer of chart.querySelectorAll(":scope > svg")) {
      layer.setAttribute("viewBox", `0 0 ${across} ${down}`);
    }
  };
  const picture = table => {
    const layers = [...table.querySelectorAll("canvas")].filter(layer => layer.width && layer.height);
    if (!layers.length) return;
    const sheet = document.createElement("canvas");
    Object.assign(sheet, { width: layers[0].width, height: layers[0].height });
    for (const layer of layers) sheet.getContext("2d").drawImage(layer, 0, 0);
    const drawn = Object.assign(new Image(), { className: "printed", src: sheet.toDataURL() });
    drawn.alt = table.getAttribute("aria-label") || "table";
    drawn.style.width = `${layers[0].getBoundingClientRect().width}px`;
    if (dark()) drawn.style.filter = "invert(1) hue-rotate(180deg) brightness(1.12)";
    table.append(drawn);
  };

  addEventListener("beforeprint", () => {
    charts().forEach(tell);
    document.querySelectorAll(TABLE).forEach(picture);
  });
  addEventListener("afterprint", () => {
    for (const chart of charts()) {
      for (const layer of chart.querySelectorAll(":scope > svg")) layer.removeAttribute("viewBox");
    }
    document.querySelectorAll(`${TABLE} .printed`).forEach(drawn => drawn.remove());
  });
}
