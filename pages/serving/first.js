// Every page lies beside the others in one folder, in which the server is. Streamlit would ask for
// it below the page first, as at /modes/_stcore/health, which answers 404.
window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href };
// Streamlit makes an entry of the browser's history of each change of the address, so that Back
// would stay on the page for many clicks. With this, every page visited is one entry. It comes with
// the page itself, before Streamlit: an entry that is made already can only be left by going back,
// which makes Streamlit draw all of the page a second time.
window.oneEntryForEachPage = true;
{
  const isHere = address => new URL(address, location.href).pathname === location.pathname;
  const replace = history.replaceState.bind(history), push = history.pushState.bind(history);
  history.pushState = (state, unused, address) =>
    (isHere(address) ? replace : push)(state, unused, address);
}
// A click on a page that is being left reaches a server that is already making the next one, and
// Streamlit then draws nothing at all. So a page takes no clicks from the click on a link to
// another page until that page comes, or for so many milliseconds if it never does.
{
  const AT_MOST = 15000;
  let left = null;
  addEventListener("click", event => {
    const here = location.pathname, link = event.target.closest?.("a[href]");
    const leaves = link && !link.target && !link.download && link.origin === location.origin
      && link.pathname !== here && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (leaves) left = { page: here, at: performance.now() };
    else if (left?.page === here && performance.now() - left.at < AT_MOST) {
      event.stopPropagation();
      event.preventDefault();
    }
  }, true);
}
