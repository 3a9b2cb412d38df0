"""Sessions with scripted models."""

from tests.agent.conftest import bench

__all__ = ["bench"]
