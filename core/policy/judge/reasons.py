"""Format the reasons of a verdict as whole sentences; ``{rule}`` is the segment's own rule."""

from core.model.decision import Reason

WHY = {
    Reason.ALLOWLISTED: "Every command is on the allowlist ({rule}).",
    Reason.SAFE_BIN: "Every command only reads what is piped into it ({rule}).",
    Reason.SKILL: "Every command is a program of the agent's skills ({rule}).",
    Reason.RULE_ALLOWED: "A rule allows this: {rule}.",
    Reason.RULE_ASKED: "A rule requires a person to approve this: {rule}.",
    Reason.RULE_DENIED: "A rule forbids this: {rule}.",
    Reason.CAPABILITY: "The agent was not granted this: {rule}.",
    Reason.ACL: "The argument vector is on the access list ({rule}).",
    Reason.SECURITY_FULL: "The policy allows every command ({rule}).",
    Reason.SANDBOXED: "Every command may run in the sandbox ({rule}).",
    Reason.SECURITY_DENY: "The policy allows commands only in a configured sandbox ({rule}).",
    Reason.NOT_LISTED: "A program is not on the allowlist: {rule}.",
    Reason.UNREADABLE: "The line cannot be parsed with certainty ({rule}): a shell would run it.",
    Reason.WRAPPER: "What would really run is hidden in the arguments: {rule}.",
    Reason.CARRIER: "The program is listed, but these arguments may do harm: {rule}.",
    Reason.SAFE_BIN_ARGUMENTS: "The program may only filter what is piped into it: {rule}.",
    Reason.ARGV_NOT_ALLOWED: "The argument vector is not on the access list: {rule}.",
    Reason.ENVIRONMENT: "The request changes the environment: {rule}.",
    Reason.EXECUTABLE_NOT_FOUND: "A program cannot be run: {rule}.",
    Reason.ASK_ALWAYS: "The command would be allowed, but {rule}.",
    Reason.EXPOSED: "Code that it may read can be changed meanwhile: {rule}.",
    Reason.STEERED: "It would do more than the line says: {rule}.",
    Reason.REPLACES: "It would replace an existing file: {rule}.",
    Reason.TERMINAL: "A program may behave differently at a terminal: {rule}.",
    Reason.AGENT_PROMPT: "The agent is started as it is configured ({rule}).",
    Reason.OPENS_TERMINAL: "It opens a terminal, in which nobody is asked: {rule}.",
    Reason.AGENT_TOOL: "No list covers what an agent does itself: {rule}.",
    Reason.STDIN: "A program may execute its standard input: {rule}.",
}
