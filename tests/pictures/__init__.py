"""The screenshots and the recording of README and docs: `python -m tests.pictures DIRECTORY`."""
