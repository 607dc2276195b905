"""Print what happens in the demo: text for people, or one JSON object per step."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bot.demo.steps import DemoStep
from bot.documentation import document
from bot.shell_path import first_export
from channels.cards.card import PromptCard
from channels.terminal.card import Page, prompt_lines
from core.model.approval import ApprovalReply
from core.text.render import redact

_WIDTH = 76


@dataclass(frozen=True, slots=True)
class Viewer:
    """Print what happens: text for people, or one JSON object per step."""

    home: Path
    json_lines: bool = False
    out: TextIO = sys.stdout

    def opening(self, *, by_itself: bool, screen: str = "") -> None:
        """Print what is about to happen, and where the screen is."""
        alone = (
            "This is not a terminal, so the demo answers the prompt itself.\n" if by_itself else ""
        )
        look = f"In a browser, with three fake chats and the control page: {screen}\n"
        self._say(
            {"step": "opening", "home": str(self.home), "answersItself": by_itself}
            | ({"screen": screen} if screen else {}),
            f"Sayso demo: a gateway in {self.home}, an agent that asks three times.\n"
            f"{alone}{look if screen else ''}",
        )

    def asks(self, number: int, step: DemoStep) -> None:
        """Show a request."""
        self._say(
            {"step": "ask", "agent": step.agent, "command": step.line},
            f"\n{number}  {step.agent} asks:  {step.line}\n   ({step.about})\n",
        )

    def goes_on(self) -> None:
        """Print that the agents keep asking while the screen is open."""
        self._say(
            {"step": "goes on"},
            "\nThe screen is open, so the agents keep asking. Ctrl-C ends the demo.\n",
        )

    def prompt(self, card: PromptCard, reply: ApprovalReply) -> None:
        """Show what the person sees, and what is answered for them."""
        lines = "\n".join(f"   {line}" for line in prompt_lines(card, Page(_WIDTH)))
        self._say(
            {"step": "prompt", "code": card.code, "answer": reply},
            f"{lines}\n   {reply} is answered for you\n",
        )

    def event(self, event: dict[str, object]) -> None:
        """Show a session event as the agent's session receives it."""
        lines = [redact(line).text for line in str(event["text"]).rstrip("\n").split("\n")]
        text = "\n          ".join(lines)
        self._say({"step": "event", **event}, f"   event  {text}\n")

    def ends(self, result: dict[str, object]) -> None:
        """Show what the agent got back."""
        if result["status"] == "finished":
            words = f"   ran, exit code {result['exitCode']}"
        else:
            words = f"   {result['status']}: {result.get('why', '')}"
        self._say({"step": "end", **result}, f"{redact(words).text}\n")

    def closing(self) -> None:
        """Print where to go next."""
        export = first_export()
        self._say(
            {"step": "closing"},
            "\nThat was a real gateway with real commands; its temporary home is now removed.\n"
            f"Next: {f'`{export}`, then ' if export else ''}`sayso init` sets up your own; a tour: "
            f"{document('docs/tutorial/first-approval.md')}\n",
        )

    def _say(self, step: dict[str, object], words: str) -> None:
        self.out.write(json.dumps(step, ensure_ascii=False) + "\n" if self.json_lines else words)
        self.out.flush()
