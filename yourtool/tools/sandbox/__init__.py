"""The sandbox of commands: bubblewrap, else Landlock, else none."""
