"""Git in the repositories of tests, without the settings of this machine."""

import os
import subprocess


def git(directory, *arguments):
    """Run a git command in a directory.

    Raises:
        CalledProcessError: it failed.
    """
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", *names, *arguments)
    subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True)
