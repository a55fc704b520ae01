"""SVG by matplotlib, changed for use in a page: no style attributes, unique ids, a title and a description."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET  # nosec B405 # reads only what matplotlib wrote in this process

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_FONT = re.compile(r"(?:(?P<weight>bold|\d00)\s+)?(?P<size>[\d.]+)px")


def tidied(drawn: str, key: str, title: str, alt: str) -> str:
    """Return an SVG document as text, with a text alternative; all its ids begin with ``key``.

    The content security policy of a page forbids style attributes, so each of their declarations becomes an attribute.

    Parameters
    ----------
    drawn : str
        SVG written by matplotlib.
    key : str
        Unique among the pictures of a page.
    title, alt : str
        The name of the picture, and its description in words.
    """
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(drawn)  # noqa: S314  # nosec B314 # matplotlib wrote it, and escapes text
    for parent in root.iter():
        for child in list(parent):
            if child.tag == f"{{{_SVG}}}metadata" or child.find(f"{{{_SVG}}}style") is not None:
                parent.remove(child)
    used = {found for node in root.iter() for value in node.attrib.values() for found in _targets(value)}
    in_order = (name for node in root.iter() if (name := node.get("id")) in used)
    names = {name: f"{key}-{place}" for place, name in enumerate(in_order)}
    for node in root.iter():
        _rewrite(node, names)
    for unit in ("width", "height"):
        root.set(unit, _rounded(root.get(unit, "")))
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{key}-title {key}-desc",
        "font-family": _FONTS,
        "stroke-linejoin": "round",
    }
    for place, (tag, text) in enumerate((("title", title), ("desc", alt))):
        node = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{key}-{tag}"})
        node.text = text
        root.insert(place, node)
    return ET.tostring(_flat(root), encoding="unicode") + "\n"


def inline(document: str) -> str:
    """Return an SVG document for use in an HTML page: without the parts that only XML needs.

    Examples
    --------
    >>> inline('<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9"></svg>')
    '<svg viewBox="0 0 9 9"></svg>'
    """
    head, bracket, rest = document.partition(">")
    head = re.sub(r' (?:xmlns(?::xlink)?|width|height|version)="[^"]*"', "", head)
    return (head + bracket + rest).replace(" xlink:href=", " href=").rstrip("\n")


def _targets(value: str) -> list[str]:
    return [value[1:]] if value.startswith("#") else re.findall(r"url\(#([^)]+)\)", value)


def _rewrite(node: ET.Element, names: dict[str, str]) -> None:
    for name, value in list(node.attrib.items()):
        if name == "id":
            if value in names:
                node.set(name, names[value])
            else:
                del node.attrib[name]
        elif name == "style":
            del node.attrib[name]
            for declaration in filter(None, map(str.strip, value.split(";"))):
                _declare(node, *map(str.strip, declaration.split(":", 1)))
        elif name == f"{{{_XLINK}}}href":
            node.set(name, "#" + names[value[1:]])
        elif name == "clip-path":
            node.set(name, f"url(#{names[_targets(value)[0]]})")
        elif name in ("d", "x", "y", "width", "height", "transform"):
            short = _rounded(" ".join(value.split()))
            if name == "transform" and re.fullmatch(r"rotate\(-?0 [^)]*\)", short):
                del node.attrib[name]
            else:
                node.set(name, short)


def _declare(node: ET.Element, name: str, value: str) -> None:
    """Turn one declaration of a style into an attribute."""
    if name == "font":  # a shorthand, which is not an attribute
        found = _FONT.search(value)
        if found is None:
            return
        node.set("font-size", found["size"])
        if found["weight"]:
            node.set("font-weight", "bold" if found["weight"] in ("bold", "700") else found["weight"])
    elif name == "font-size":
        node.set(name, value.removesuffix("px"))
    elif name != "font-family":  # it is set once for the whole picture
        node.set(name, _rounded(value))


def _rounded(text: str) -> str:
    return _NUMBER.sub(lambda found: f"{round(float(found[0]), 2):g}", text)


def _flat(root: ET.Element) -> ET.Element:
    """The tree without groups that have no attributes, and without spaces between elements."""
    for node in root.iter():
        if node.text is not None and not node.text.strip():
            node.text = None
        node.tail = None
    changed = True
    while changed:
        changed = False
        for parent in list(root.iter()):
            for place, child in reversed(list(enumerate(parent))):
                if child.tag == f"{{{_SVG}}}g" and not child.attrib:
                    parent.remove(child)
                    for offset, grandchild in enumerate(list(child)):
                        parent.insert(place + offset, grandchild)
                    changed = True
    return root
