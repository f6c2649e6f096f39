"""The documentation in docs/ as pages: Markdown to HTML, with links between the pages.

Documents are named by their path below docs/ without the ending: "plugins/node-affinity". Links to
files that are not served become plain text. Comments are left out, other raw HTML is shown as text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils.html import escape, strip_tags
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.cluster.errors import NotFound

FOLDER: Final[Path] = settings.BASE_DIR / "docs"
#: In the order in which they are listed: what users read comes first.
_FOLDERS: Final = {
    "": "Guides",
    "api": "APIs",
    "plugins": "Plugins",
    "adr": "Architecture decisions",
}
#: Files besides documents that are served, by their ending.
MEDIA_TYPES: Final = {".svg": "image/svg+xml", ".png": "image/png"}
#: The table of plugins: `| [Name](file.md) | extension points | weight | summary |`.
_PLUGIN_TABLE: Final = "plugins/README"
_PLUGIN_ROW: Final = re.compile(r"^\| \[(\w+)\]\(([\w-]+)\.md\) \|(?:[^|]*\|){2} (.*?) \|$", re.M)
_TITLE: Final = re.compile(r"^# (.+)$", re.M)
#: Marks of generated parts: `<!-- table: core -->`.
_COMMENT: Final = re.compile(r"<!--.*?-->", re.S)
_HEADING_OR_TABLE: Final = re.compile(r"(<h[2-6][ >].*?</h[2-6]>|<table>)", re.S)

_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class Document:
    """The name and title of a document; `folder` is "" at the top."""

    name: str
    title: str
    folder: str

    @property
    def group(self) -> str:
        """The heading under which it is listed."""
        return _FOLDERS.get(self.folder, self.folder)

    @property
    def address(self) -> str:
        return document_address(self.name)


@dataclass(frozen=True, slots=True)
class PluginDocument:
    """The document of a plugin, and its row in the table of plugins."""

    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """A document without its title as HTML, and its sections as (anchor, title)."""

    title: str
    html: SafeString
    sections: Sequence[tuple[str, str]]


def list_documents() -> list[Document]:
    """Every document, by folder and name."""
    return [
        Document(name, _read_title(name), posixpath.dirname(name)) for name in _document_names()
    ]


def render_document(name: str) -> RenderedDocument:
    """A document as HTML; NotFound if there is none."""
    if name not in _document_names():
        raise NotFound("documents", name)
    path = FOLDER / f"{name}.md"
    return _render(name, path.stat().st_mtime_ns)


def find_file(name: str) -> tuple[Path, str]:
    """The path and media type of a picture in docs/; NotFound for anything else."""
    path = (FOLDER / name).resolve()
    kind = MEDIA_TYPES.get(path.suffix)
    if kind is None or not path.is_relative_to(FOLDER.resolve()) or not path.is_file():
        raise NotFound("documents", name)
    return path, kind


@lru_cache(maxsize=1)
def plugin_documents() -> Mapping[str, PluginDocument]:
    """Plugin -> its document, as the table of plugins lists them."""
    path = FOLDER / f"{_PLUGIN_TABLE}.md"
    if not path.is_file():
        return {}
    rows = _PLUGIN_ROW.findall(path.read_text())
    return {
        plugin: PluginDocument(f"plugins/{file}", text.replace("`", ""))
        for plugin, file, text in rows
    }


def document_address(name: str) -> str:
    """The page of a document; of a plugin's document, the page of the plugin."""
    plugins = {each.name: plugin for plugin, each in plugin_documents().items()}
    if name in plugins:
        return reverse("plugin", args=[plugins[name]])
    return reverse("document", args=[name])


@lru_cache(maxsize=1)
def _document_names() -> tuple[str, ...]:
    paths = (path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.md"))
    names = (path.as_posix() for path in paths)
    order = list(_FOLDERS)

    def key(name: str) -> tuple[int, str, str]:
        folder = posixpath.dirname(name)
        return order.index(folder) if folder in _FOLDERS else len(order), folder, name

    return tuple(sorted(names, key=key))


@lru_cache(maxsize=256)
def _read_title(name: str) -> str:
    title = _TITLE.search((FOLDER / f"{name}.md").read_text())
    return title[1].replace("`", "") if title else name


def _open_tables(html: str, title: str) -> str:
    """Let tables scroll, also with the keyboard, and name each by the heading above it."""
    heading: str = escape(title)
    parts = []
    for part in _HEADING_OR_TABLE.split(html):
        if part == "<table>":
            caption = f'<caption class="visually-hidden">{heading}</caption>'
            parts.append(f'<div class="scroll" tabindex="0"><table class="data">{caption}')
        else:
            parts.append(part)
            if _HEADING_OR_TABLE.fullmatch(part):
                heading = strip_tags(part)
    return "".join(parts)


@lru_cache(maxsize=256)
def _render(name: str, _modified: int) -> RenderedDocument:
    tokens = _markdown.parse(_COMMENT.sub("", (FOLDER / f"{name}.md").read_text()))
    if len(tokens) > 2 and tokens[0].tag == "h1":
        tokens = tokens[3:]
    sections = _add_anchors(tokens)
    for token in tokens:
        if token.children:
            token.children = _resolve(token.children, posixpath.dirname(name))
    html = _markdown.renderer.render(tokens, _markdown.options, {})
    html = _open_tables(html, _read_title(name)).replace("</table>", "</table></div>")
    html = html.replace("<pre>", '<pre tabindex="0">')
    return RenderedDocument(_read_title(name), mark_safe(html), sections)


def _add_anchors(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Give each heading an id; the (id, title) of those of the second level."""
    sections = []
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type == "heading_open":
            title = "".join(each.content for each in inline.children or ())
            anchor = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            token.attrSet("id", anchor)
            if token.tag == "h2":
                sections.append((anchor, title))
    return sections


def _resolve(tokens: Sequence[Token], folder: str) -> list[Token]:
    """The tokens with links and pictures that lead to pages of this site, or without the link."""
    resolved, dropped = [], 0
    for token in tokens:
        if token.type == "link_open":
            address = _resolve_link(str(token.attrGet("href") or ""), folder)
            if not address:
                dropped += 1
                continue
            token.attrSet("href", address)
        elif token.type == "link_close" and dropped:
            dropped -= 1
            continue
        elif token.type == "image":
            path = posixpath.normpath(posixpath.join(folder, str(token.attrGet("src"))))
            token.attrSet("src", reverse("document-file", args=[path]))
        resolved.append(token)
    return resolved


def _resolve_link(href: str, folder: str) -> str:
    """The address of a link on this site; as it is to another site; "" where nothing is served."""
    parts = urlsplit(href)
    if parts.scheme or not parts.path:
        return href
    path = posixpath.normpath(posixpath.join(folder, parts.path))
    name = path.removesuffix(".md")
    if name in (".", "plugins", "api", "adr"):
        return reverse("plugins") if name == "plugins" else reverse("documents")
    if not path.endswith(".md") or name not in _document_names():
        return ""
    return document_address(name) + (f"#{parts.fragment}" if parts.fragment else "")
