"""Define what the agents of the demo ask; each command is harmless in the temporary home."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One request of an agent, and what the viewer should know beforehand."""

    agent: str
    line: str
    about: str


STEPS = (
    DemoStep("coder", "ls -l notes.txt", "the coder's allowlist has /usr/bin/ls: it runs at once"),
    DemoStep("intern", "rm -rf notes.txt", "the intern may never ask (ask: off): it is refused"),
    DemoStep("coder", "sha256sum notes.txt", "no entry allows sha256sum: a person is asked"),
)
COUNT_SH = "#!/bin/sh\nfor step in 1 2 3 4 5 6 7 8; do echo step $step of 8; sleep 1; done\n"
"""A script in the temporary home that takes a while."""
MORE = (
    (
        DemoStep("coder", "./count.sh", "it takes 8 s; the page shows its output as it comes"),
        DemoStep("coder", "wc -c notes.txt", "allow it always, and it is asked about once only"),
        DemoStep(
            "coder", "sort notes.txt", "answer with /approve and its code in one of the chats"
        ),
    ),
    (
        DemoStep(
            "deployer", "cp notes.txt release.txt", "it writes a file, and no entry allows it"
        ),
        DemoStep("deployer", "rm release.txt", "it removes that file again"),
    ),
)
"""What agents ask in parallel while the screen is open, again and again."""
