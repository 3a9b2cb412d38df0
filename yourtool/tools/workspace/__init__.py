"""Files of the workspace, opened without following a link."""
