// Next and back by key, for a talk: the page receives them and draws the step.

const WAYS = {
  ArrowRight: "next", PageDown: "next", " ": "next",
  ArrowLeft: "back", PageUp: "back",
  Escape: "leave",
};

export default function (component) {
  const box = component.parentElement.querySelector(".picture");
  if (!box.firstChild) {
    box.append(
      html("div", {
        className: "key-hint",
        textContent: "→ or space: next · ← back · Esc: leave\nTab: what the picture has to move",
      })
    );
  }
  const pressed = event => {
    const way = WAYS[event.key];
    const on = event.composedPath()[0];
    // A handle that is focused moves by arrows, a button is pressed by space; Escape always leaves.
    const busy = on.closest?.(".handle, input, button") && /^Arrow| /.test(event.key);
    if (!way || busy || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    component.setTriggerValue("pressed", way);
  };
  // Called again after every answer of the server: one listener is enough.
  document.removeEventListener("keydown", box.pressed);
  document.addEventListener("keydown", (box.pressed = pressed));
  return () => document.removeEventListener("keydown", pressed);
}
