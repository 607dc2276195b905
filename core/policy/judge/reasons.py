"""Word the reasons of a verdict as whole sentences; ``{rule}`` is the segment's own rule."""

from core.model.decision import Reason

WHY = {
    Reason.ALLOWLISTED: "Every command is on the allowlist ({rule}).",
    Reason.SAFE_BIN: "Every command only reads what is piped into it ({rule}).",
    Reason.SKILL: "Every command is a program of the agent's skills ({rule}).",
    Reason.RULE_ALLOWED: "A rule allows this: {rule}.",
    Reason.RULE_ASKED: "A rule asks a person about this: {rule}.",
    Reason.RULE_DENIED: "A rule forbids this: {rule}.",
    Reason.CAPABILITY: "The agent was not granted this: {rule}.",
    Reason.ACL: "The vector is on the access list ({rule}).",
    Reason.SECURITY_FULL: "The policy lets every command run ({rule}).",
    Reason.SANDBOXED: "Every command may run in the sandbox ({rule}).",
    Reason.SECURITY_DENY: "The policy lets no command run but in a configured sandbox ({rule}).",
    Reason.NOT_LISTED: "The command was read, but a program is not listed: {rule}.",
    Reason.UNREADABLE: "The line cannot be parsed with certainty ({rule}): a shell would run it.",
    Reason.WRAPPER: "What would really run is hidden in the arguments: {rule}.",
    Reason.CARRIER: "The program is listed, but these arguments may do harm: {rule}.",
    Reason.SAFE_BIN_ARGUMENTS: "The program may only filter what is piped into it: {rule}.",
    Reason.ARGV_NOT_ALLOWED: "The vector is not on the access list: {rule}.",
    Reason.ENVIRONMENT: "The request changes the environment: {rule}.",
    Reason.EXECUTABLE_NOT_FOUND: "A program cannot be run: {rule}.",
    Reason.ASK_ALWAYS: "The command would be let through, but {rule}.",
    Reason.EXPOSED: "Code that it may read can be changed meanwhile: {rule}.",
    Reason.STEERED: "It would do more than the line says: {rule}.",
    Reason.TERMINAL: "A program may behave otherwise at a terminal: {rule}.",
    Reason.STDIN: "What a program reads may be code to it: {rule}.",
}
