"""Every picture is a link to itself: pages show it smaller than it is."""

import posixpath

from docutils import nodes
from sphinx.application import Sphinx


def link_pictures(app: Sphinx, document: nodes.document, name: str) -> None:
    """Wrap the pictures of the page called ``name``."""
    here = posixpath.dirname(app.builder.get_target_uri(name)) or "."
    for picture in list(document.findall(nodes.image)):
        file = app.env.images.get(picture["uri"])
        if file is None or isinstance(picture.parent, nodes.reference):
            continue
        target = posixpath.relpath(posixpath.join(app.builder.imagedir, file[1]), here)
        link = nodes.reference("", "", refuri=target, internal=True)
        picture.replace_self(link)
        link += picture


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("doctree-resolved", link_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
