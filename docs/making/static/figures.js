// Draws every figure of a page, as wide as its column.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".figure-to-touch")) {
    const figure = window.figures[place.dataset.figure];
    const layout = { ...figure.layout, autosize: true, paper_bgcolor: "white", plot_bgcolor: "white" };
    Plotly.newPlot(place, figure.data, layout, { responsive: true, displaylogo: false });
  }
});
