"""A decision on one card, to show to others: question, three sentences, remedy, funnel, link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import wrap

from apps.dashboard.decision_page.funnel import FunnelStep

#: Letters of a line of the picture that wide type faces have room for: title, first sentence, text.
_TITLE, _LEAD, _TEXT = 50, 74, 86
#: The picture's width, and the height of its lines, in pixels.
WIDTH = 800
MARGIN = 40
_LINE, _HEAD, _BAR = 24, 32, 26


@dataclass(frozen=True, slots=True)
class Card:
    title: str
    sentences: Sequence[str]
    #: changes of which each alone makes the pod schedulable
    remedies: Sequence[str]
    steps: Sequence[FunnelStep]
    cluster: str
    number: int
    at: datetime
    link: str
    is_scheduled: bool

    @property
    def source(self) -> str:
        return f"Decision {self.number} of cluster {self.cluster}, {self.at:%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text in the picture; `style` is one of the classes of card.svg."""

    y: int
    text: str
    style: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A step of the funnel in the picture, in pixels."""

    y: int
    step: FunnelStep
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Where everything of a card is drawn."""

    height: int
    lines: Sequence[Line]
    bars: Sequence[Bar]


#: The bars begin here; left of them are their names.
BARS = 330


def draw(card: Card) -> Picture:
    lines: list[Line] = []
    y = MARGIN

    def write(text: str, style: str, letters: int = _TEXT, height: int = _LINE) -> None:
        nonlocal y
        for part in wrap(text, letters):
            y += height
            lines.append(Line(y, part, style))

    write(card.title, "title", _TITLE, _HEAD)
    y += 8
    for at, sentence in enumerate(card.sentences):
        write(sentence, "text" if at else "lead", _TEXT if at else _LEAD)
    if card.remedies:
        y += 12
        write("What would unblock it", "head")
        for remedy in card.remedies:
            write(f"• {remedy}", "text")
    y += 24
    room = WIDTH - BARS - MARGIN
    bars = []
    for step in card.steps:
        bars.append(Bar(y, step, BARS + step.start * room / 100, step.width * room / 100))
        y += _BAR
    y += 8
    write(card.source, "note")
    write(card.link, "note", height=20)
    return Picture(y + MARGIN, lines, bars)


def to_markdown(card: Card) -> str:
    """The card for an issue or a chat."""
    parts = [f"### {card.title}", *card.sentences]
    if card.remedies:
        parts.append("**What would unblock it**")
        parts.append("\n".join(f"- {remedy}" for remedy in card.remedies))
    rows = [
        f"| {'−' if step.out else ''}{step.nodes:,} | {_cell(f'{step.name} {step.detail}')} |"
        for step in card.steps
    ]
    parts.append("\n".join(["| nodes | |", "|--:|---|", *rows]))
    parts.append(f"[{card.source}]({card.link})")
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """A text in a table, which a vertical bar would end."""
    return text.strip().replace("|", "\\|")
