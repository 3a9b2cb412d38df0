"""The script that confines a command with Landlock.

It runs in its own process, because Landlock and the filter for system calls apply to all threads of
a process that continue. The policy comes from `landlock.build_policy`.
"""

import os
import struct
import sys

import kernel

_FAILED = 126


def main() -> None:
    """Confine this process and replace it with the command."""
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        policy = file.read()
    (size,) = struct.unpack_from("=I", policy)
    program, rules = policy[4 : 4 + size], policy[4 + size :].split(b"\0")
    try:
        kernel.keep_rights(())
        kernel.restrict_files(_build_ruleset(rules))
        kernel.restrict_calls(program)
    except OSError as error:
        sys.stderr.write(f"the command was not run: {error.strerror}\n")
        sys.exit(_FAILED)
    os.execvp(sys.argv[2], sys.argv[2:])


def _build_ruleset(rules: list[bytes]) -> int:
    """Return a ruleset in which nothing is allowed but the rules, as far as the kernel has it."""
    abi = kernel.find_landlock_abi()
    handled = (1 << 13) - 1
    handled |= kernel.REFER if abi >= 2 else 0
    handled |= kernel.TRUNCATE if abi >= 3 else 0
    handled |= kernel.IOCTL_DEVICE if abi >= 5 else 0
    # Abstract sockets and signals stay inside.
    ruleset = kernel.create_ruleset(handled, scopes=3 if abi >= 6 else 0)
    rights = {
        ord("r"): kernel.EXECUTE | kernel.READ_FILE | kernel.READ_DIRECTORY,
        ord("l"): kernel.READ_DIRECTORY,
        ord("w"): handled & ~kernel.IOCTL_DEVICE,
        ord("d"): kernel.READ_FILE | kernel.WRITE_FILE | kernel.IOCTL_DEVICE,
    }
    for rule in rules:
        try:
            descriptor = os.open(rule[1:], os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue  # it was removed just now
        kernel.add_rule(ruleset, descriptor, rights[rule[0]] & handled)
    return ruleset


main()
