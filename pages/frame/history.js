// Streamlit makes an entry of the browser's history of each change of the address, so that Back
// would stay on the page for many clicks. With this, every page visited is one entry. On a slow
// line the address has changed before this arrives: then the entries made since are left behind,
// and the first one gets the newest address without a word to Streamlit, which has it already.
if (!window.oneEntryForEachPage) {
  window.oneEntryForEachPage = true;
  const isHere = address => new URL(address, location.href).pathname === location.pathname;
  const replace = history.replaceState.bind(history), push = history.pushState.bind(history);
  let newest = location.href;
  history.pushState = (state, unused, address) => {
    if (!isHere(address)) return push(state, unused, address);
    newest = address;
    return replace(state, unused, address);
  };
  const visited = window.navigation
    ? navigation.entries().slice(0, navigation.currentEntry.index + 1) : [];
  const early = visited.reverse().findIndex(entry => !entry.sameDocument || !isHere(entry.url));
  const extra = (early < 0 ? visited.length : early) - 1;
  if (extra > 0) {
    addEventListener("popstate", event => {
      event.stopImmediatePropagation();
      replace({}, "", newest);
    }, {once: true, capture: true});
    history.go(-extra);
  }
}
